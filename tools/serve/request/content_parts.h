// The text of a message in the parts that a client wrote it in, some of which it has marked as
// worth keeping apart.
//
// Value. Threads: one at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/serve/request/fields.h"

namespace pc::serve {

// Has a client marked this part or tool: cache_control, as Anthropic's protocol has it, or
// prompt_cache_breakpoint?
inline bool is_marked(Fields& fields) {
  auto anthropic = fields.nested("cache_control");
  if (anthropic) anthropic->string("type");
  const auto openai = fields.any("prompt_cache_breakpoint");
  if (openai && !openai->is_object() && !openai->is_boolean())
    fields.refuse("prompt_cache_breakpoint", "must be an object, true or false");
  return anthropic.has_value() || (openai && *openai != Json(false));
}

class ContentParts {
 public:
  void add(std::string text, bool marked) {
    if (!text.empty()) parts_.emplace_back(std::move(text), marked);
  }
  bool empty() const { return parts_.empty(); }

  // One string or, where there are several or one is marked, a list of {"type": "text", "text",
  // "marked"}.
  Json json() const {
    if (parts_.empty() || (parts_.size() == 1 && !parts_[0].second)) return text();
    Json list = Json::array();
    for (const auto& [text, is_marked] : parts_)
      list.push(Json::object().set("type", "text").set("text", text).set("marked", is_marked));
    return list;
  }
  std::string text() const {
    std::string all;
    for (const auto& [text, marked] : parts_) all += text;
    return all;
  }

 private:
  std::vector<std::pair<std::string, bool>> parts_;
};

}  // namespace pc::serve
