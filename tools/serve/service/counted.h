// Replies that are counted on their way.
//
// Owners of what they forward to; borrow the metrics. Threads: those of what they forward to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/serve/http/http.h"
#include "tools/serve/service/metrics.h"

namespace pc::serve {

class CountedReply : public Reply {
 public:
  CountedReply(std::shared_ptr<Reply> reply, std::string route, Metrics* metrics)
      : reply_(std::move(reply)), route_(std::move(route)), metrics_(metrics) {}

  void send(HttpResponse response) override {
    metrics_->count_response(route_, response.status);
    reply_->send(std::move(response));
  }
  void begin(HttpResponse head) override {
    metrics_->count_response(route_, head.status);
    reply_->begin(std::move(head));
  }
  void write(std::string bytes) override { reply_->write(std::move(bytes)); }
  void end() override { reply_->end(); }
  std::size_t queued_bytes() const override { return reply_->queued_bytes(); }
  void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }

 private:
  const std::shared_ptr<Reply> reply_;
  const std::string route_;
  Metrics* const metrics_;
};

}  // namespace pc::serve
