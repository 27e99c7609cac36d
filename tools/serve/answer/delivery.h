// How an answer reaches its client: each event as the protocol streams it, or all of them folded
// into one whole answer. The one place that knows whether the client still reads, and how long it
// may take.
//
// Owner of the reply and the writer. Threads: as EventSink.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "tools/serve/answer/event.h"
#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

// A protocol, of one answer.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  virtual Protocol protocol() const = 0;
  virtual std::string content_type() const { return "text/event-stream"; }  // of a stream
  // What stands in a stream where nothing else does for long (HttpResponse::heartbeat).
  virtual std::string heartbeat() const { return ": \n\n"; }
  // What a stream says of this event; "": nothing.
  virtual std::string stream(const Event& event) = 0;
  // The body of a whole answer.
  virtual std::string whole(const GatheredAnswers& answers) = 0;
};

class Delivery : public EventSink {
 public:
  using Clock = std::chrono::steady_clock;
  // A client that leaves more than this unread counts as gone: 16 MiB of text is more than any
  // answer.
  static constexpr std::size_t kMostQueued = std::size_t{16} << 20;

  Delivery(std::shared_ptr<Reply> reply, std::unique_ptr<AnswerWriter> writer, bool streams,
           std::uint32_t n_choices);

  // From this time on the answer is not wanted any more.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }
  // Called with each event before it goes on its way.
  void watch(std::function<void(const Event&)> watcher) { watcher_ = std::move(watcher); }

  void take(const Event& event) override;
  bool is_wanted() const override {
    return !*gone_ && !is_late() && reply_->queued_bytes() < kMostQueued;
  }
  bool is_late() const { return Clock::now() >= deadline_; }
  // To be called when the work on the answer has ended. Tells the client if the deadline cut it
  // off: then it gets an error, not a part of an answer.
  void tell_if_late();

 private:
  void begin_stream();
  void send_whole();
  void fail(const ApiError& error, const Event& event);

  const std::shared_ptr<Reply> reply_;
  const std::unique_ptr<AnswerWriter> writer_;
  const bool streams_;
  const std::shared_ptr<std::atomic<bool>> gone_;
  GatheredAnswers answers_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::function<void(const Event&)> watcher_;
  std::uint32_t n_open_;  // answers that are not over
  bool has_begun_ = false, is_over_ = false;
};

}  // namespace pc::serve
