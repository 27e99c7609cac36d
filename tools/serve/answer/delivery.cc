#include "tools/serve/answer/delivery.h"

#include <utility>

namespace pc::serve {

Delivery::Delivery(std::shared_ptr<Reply> reply, std::unique_ptr<AnswerWriter> writer, bool streams,
                   std::uint32_t n_choices)
    : reply_(std::move(reply)),
      writer_(std::move(writer)),
      streams_(streams),
      gone_(std::make_shared<std::atomic<bool>>()),
      answers_(n_choices),
      n_open_(n_choices) {
  reply_->on_gone([gone = gone_] { *gone = true; });
}

void Delivery::take(const Event& event) {
  if (is_over_) return;
  if (watcher_) watcher_(event);
  if (const auto* const failed = std::get_if<Failed>(&event)) return fail(failed->error, event);
  if (std::holds_alternative<ChoiceEnded>(event)) --n_open_;
  if (std::holds_alternative<Ended>(event) && n_open_ > 0 && is_late()) return tell_if_late();
  is_over_ = std::holds_alternative<Ended>(event);
  if (!streams_) {
    answers_.add(event);
    return is_over_ ? send_whole() : void();
  }
  begin_stream();
  reply_->write(writer_->stream(event));
  if (is_over_) reply_->end();
}

void Delivery::begin_stream() {
  if (std::exchange(has_begun_, true)) return;
  HttpResponse head;
  head.content_type = writer_->content_type();
  head.headers.push_back({"cache-control", "no-cache"});
  head.heartbeat = writer_->heartbeat();
  reply_->begin(std::move(head));
}

void Delivery::send_whole() {
  HttpResponse response;
  response.body = writer_->whole(answers_);
  reply_->send(std::move(response));
}

// An error that comes before anything else is a status; behind that it is an event.
void Delivery::fail(const ApiError& error, const Event& event) {
  is_over_ = true;
  if (!has_begun_) return reply_->send(to_response(error, writer_->protocol()));
  reply_->write(writer_->stream(event));
  reply_->end();
}

void Delivery::tell_if_late() {
  if (!is_over_ && is_late()) take(Failed{ApiError::too_late()});
}

}  // namespace pc::serve
