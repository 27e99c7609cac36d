#include "tools/serve/http/http_answer.h"

#include <cstdio>
#include <utility>

#include "tools/serve/http/http_head.h"

namespace pc::serve {
namespace {

std::string chunk(const std::string& bytes) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

}  // namespace

HttpResponse AnswerQueue::with_headers(HttpResponse response) const {
  response.headers.insert(response.headers.end(), request_.headers.begin(), request_.headers.end());
  return response;
}

// Precondition: the lock is held.
void AnswerQueue::push(std::string bytes) {
  if (!has_left_) queue_ += bytes;
}

// Precondition: the lock is held.
void AnswerQueue::push_body(const std::string& bytes) {
  push(is_chunked_ ? chunk(bytes) : bytes);
}

void AnswerQueue::send(HttpResponse response) {
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kWaiting) return;
    state_ = State::kEnded;
    keeps_alive_ = request_.keeps_alive;
    said_ = {response.status, response.status >= 400 ? response.body : std::string()};
    const std::size_t size = response.body.size();
    std::string body = request_.is_head ? std::string() : std::exchange(response.body, {});
    push(response_head(with_headers(std::move(response)), Framing::kLength, size, keeps_alive_) +
         body);
  }
  wake_();
}

void AnswerQueue::begin(HttpResponse head) {
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kWaiting) return;
    state_ = State::kStreaming;
    said_.status = head.status;
    is_chunked_ = !request_.is_http10;
    keeps_alive_ = request_.keeps_alive && is_chunked_;
    heartbeat_ = std::exchange(head.heartbeat, {});
    push(response_head(with_headers(std::move(head)),
                       is_chunked_ ? Framing::kChunks : Framing::kClose, 0, keeps_alive_));
  }
  wake_();
}

void AnswerQueue::write(std::string bytes) {
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kStreaming || bytes.empty() || request_.is_head) return;
    push_body(bytes);
  }
  wake_();
}

void AnswerQueue::end() {
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kStreaming) return;
    state_ = State::kEnded;
    if (is_chunked_ && !request_.is_head) push("0\r\n\r\n");
  }
  wake_();
}

void AnswerQueue::abandon() {
  send(refusal(500, "the server gave this request up without an answer"));
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kStreaming) return;
    state_ = State::kEnded;  // without the last chunk: the client sees that something is missing
    keeps_alive_ = false;
  }
  wake_();
}

std::size_t AnswerQueue::queued_bytes() const {
  const MutexLock lock(mutex_);
  return queue_.size() + n_under_way_;
}

void AnswerQueue::on_gone(std::function<void()> gone) {
  {
    const MutexLock lock(mutex_);
    if (!has_left_) {
      gone_ = std::move(gone);
      return;
    }
  }
  gone();
}

std::string AnswerQueue::take() {
  const MutexLock lock(mutex_);
  n_under_way_ = queue_.size();
  return std::exchange(queue_, {});
}

void AnswerQueue::taken() {
  const MutexLock lock(mutex_);
  n_under_way_ = 0;
}

bool AnswerQueue::is_over() const {
  const MutexLock lock(mutex_);
  return state_ == State::kEnded && queue_.empty();
}

void AnswerQueue::beat() {
  const MutexLock lock(mutex_);
  if (state_ == State::kStreaming && !heartbeat_.empty() && !request_.is_head)
    push_body(heartbeat_);
}

bool AnswerQueue::may_be_told_to_wait() const {
  const MutexLock lock(mutex_);
  return state_ == State::kWaiting && !request_.is_http10;
}

AnswerQueue::Said AnswerQueue::said() const {
  const MutexLock lock(mutex_);
  return said_;
}

bool AnswerQueue::keeps_alive() const {
  const MutexLock lock(mutex_);
  return keeps_alive_ && !has_left_;
}

void AnswerQueue::leave() {
  std::function<void()> gone;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(has_left_, true)) return;
    queue_.clear();
    gone = std::exchange(gone_, nullptr);
    if (state_ == State::kEnded) return;
  }
  if (gone) gone();
}

}  // namespace pc::serve
