// What the protocols' sinks share: whether anybody still reads, and an error in the place of an
// answer.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

class ReplySink : public AnswerSink {
 public:
  // More than this, and a client that does not read is as good as gone: 16 MiB of text is more
  // than any answer.
  static constexpr std::size_t kMostQueued = std::size_t{16} << 20;

  ReplySink(std::shared_ptr<Reply> reply, Protocol protocol)
      : reply_(std::move(reply)),
        protocol_(protocol),
        gone_(std::make_shared<std::atomic<bool>>()) {
    reply_->on_gone([gone = gone_] { *gone = true; });
  }

  void fail(const ApiError& error) override {
    if (!streaming_) return reply_->send(to_response(error, protocol_));
    reply_->write(error_event(error));
    reply_->end();
  }
  bool is_wanted() const override { return !*gone_ && reply_->queued_bytes() < kMostQueued; }

 protected:
  // As the protocol tells a client that streams of an error.
  virtual std::string error_event(const ApiError& error) const = 0;

  void begin_stream() {
    if (std::exchange(streaming_, true)) return;
    HttpResponse head;
    head.content_type = "text/event-stream";
    head.headers.push_back({"cache-control", "no-cache"});
    reply_->begin(std::move(head));
  }
  void send(const Json& body) {
    HttpResponse response;
    response.body = body.dump();
    reply_->send(std::move(response));
  }
  Reply& reply() { return *reply_; }

 private:
  const std::shared_ptr<Reply> reply_;
  const Protocol protocol_;
  const std::shared_ptr<std::atomic<bool>> gone_;
  bool streaming_ = false;
};

}  // namespace pc::serve
