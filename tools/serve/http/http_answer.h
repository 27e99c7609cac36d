// The answer to one request on its way from whoever makes it to the socket.
//
// AnswerQueue is what both sides share; QueuedReply is the maker's side. The socket's side takes
// bytes and is woken when there are more. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

class AnswerQueue {
 public:
  struct Request {
    bool is_http10 = false, is_head = false, keeps_alive = false;
    std::vector<Header> headers;  // of every response, beside its own
  };

  // wake: called, on any thread, when there is something to take.
  AnswerQueue(Request request, std::function<void()> wake)
      : request_(std::move(request)), wake_(std::move(wake)) {}

  // ---- The maker's side
  void send(HttpResponse response);
  void begin(HttpResponse head);
  void write(std::string bytes);
  void end();
  // The maker is gone: a client without an answer yet is told that it failed; one that is in the
  // middle of an answer is cut off.
  void abandon();
  std::size_t queued_bytes() const;
  void on_gone(std::function<void()> gone);

  // ---- The socket's side
  // The next bytes to send; "" where there are none yet. They count as queued until taken().
  std::string take();
  void taken();
  bool is_over() const;  // the answer has ended, and all of it was taken
  // A stream's heartbeat becomes its next bytes; nothing where it has none, or is over.
  void beat();
  // Does the client know HTTP/1.1, and was nothing of its answer made yet?
  bool may_be_told_to_wait() const;
  // The status of the answer, 0 before there is one, and the body of one that is an error.
  struct Said {
    int status = 0;
    std::string error;
  };
  Said said() const;
  // May the connection be used again, once it is over?
  bool keeps_alive() const;
  void leave();  // the client has left

 private:
  enum class State { kWaiting, kStreaming, kEnded };

  void push(std::string bytes) PC_REQUIRES(mutex_);
  void push_body(const std::string& bytes) PC_REQUIRES(mutex_);
  HttpResponse with_headers(HttpResponse response) const;

  const Request request_;
  const std::function<void()> wake_;
  mutable Mutex mutex_;
  State state_ PC_GUARDED_BY(mutex_) = State::kWaiting;
  Said said_ PC_GUARDED_BY(mutex_);
  bool is_chunked_ PC_GUARDED_BY(mutex_) = false;
  bool keeps_alive_ PC_GUARDED_BY(mutex_) = false;
  std::string heartbeat_ PC_GUARDED_BY(mutex_);
  bool has_left_ PC_GUARDED_BY(mutex_) = false;
  std::string queue_ PC_GUARDED_BY(mutex_);
  std::size_t n_under_way_ PC_GUARDED_BY(mutex_) = 0;  // bytes that were taken and are being sent
  std::function<void()> gone_ PC_GUARDED_BY(mutex_);
};

class QueuedReply : public Reply {
 public:
  explicit QueuedReply(std::shared_ptr<AnswerQueue> queue) : queue_(std::move(queue)) {}
  ~QueuedReply() override { queue_->abandon(); }
  QueuedReply(const QueuedReply&) = delete;
  QueuedReply& operator=(const QueuedReply&) = delete;

  void send(HttpResponse response) override { queue_->send(std::move(response)); }
  void begin(HttpResponse head) override { queue_->begin(std::move(head)); }
  void write(std::string bytes) override { queue_->write(std::move(bytes)); }
  void end() override { queue_->end(); }
  std::size_t queued_bytes() const override { return queue_->queued_bytes(); }
  void on_gone(std::function<void()> gone) override { queue_->on_gone(std::move(gone)); }

 private:
  const std::shared_ptr<AnswerQueue> queue_;
};

}  // namespace pc::serve
