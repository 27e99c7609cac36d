// Keeps what a client would have been sent.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/json.h"
#include "tools/serve/http/http.h"

namespace pc::serve::test {

class RecordedReply : public Reply {
 public:
  void send(HttpResponse response) override {
    whole = std::move(response);
    ++n_sent;
  }
  void begin(HttpResponse) override { has_begun = true; }
  void write(std::string bytes) override { stream += bytes; }
  void end() override { is_over = true; }
  std::size_t queued_bytes() const override { return n_queued; }
  void on_gone(std::function<void()> callback) override { gone = std::move(callback); }

  // What stands behind "data: " of each event of the stream; "[DONE]" is none.
  std::vector<cli::Json> events() const {
    std::vector<cli::Json> events;
    std::size_t at = 0;
    for (std::size_t data; (data = stream.find("data: ", at)) != std::string::npos;) {
      at = stream.find("\n\n", data);
      const std::string text = stream.substr(data + 6, at - data - 6);
      if (text != "[DONE]") events.push_back(cli::Json::read(text));
    }
    return events;
  }

  HttpResponse whole;
  std::string stream;
  std::size_t n_queued = 0;
  int n_sent = 0;
  bool has_begun = false, is_over = false;
  std::function<void()> gone;
};

}  // namespace pc::serve::test
