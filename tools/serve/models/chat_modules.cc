#include "tools/serve/models/chat_modules.h"

namespace pc::serve {
namespace {

class Marking {
 public:
  Marking(Mode mode, const IsDocument& is_document) : mode_(mode), is_document_(is_document) {}

  Json chat(const Json& chat) {
    Json out = chat, messages = Json::array();
    for (const Json& item : chat["messages"].items()) messages.push(message(item));
    out.set("messages", messages);
    if (chat["tools"].is_null()) return out;
    Json tools = Json::array();
    for (const Json& item : chat["tools"].items()) tools.push(tool(item));
    return out.set("tools", tools);
  }
  bool found() const { return found_; }

 private:
  Json message(const Json& message) {
    const Json content = message["content"];
    Json out = message;
    if (content.is_string()) return out.set("content", text(content));
    if (!content.is_array()) return out;
    Json parts = Json::array();
    for (const Json& item : content.items()) parts.push(part(item));
    return out.set("content", parts);
  }
  // A content that is one text.
  Json text(const Json& content) {
    if (mode_ != Mode::kDocuments || !is_document_(content.string())) return content;
    return Json::array().push(module(Json::object().set("type", "text").set("text", content)));
  }
  Json part(const Json& part) {
    const Json out = Json::object().set("type", "text").set("text", part["text"]);
    const bool wanted = mode_ == Mode::kDocuments
                            ? is_document_(part["text"].string())
                            : mode_ == Mode::kMarked && part["marked"].truth();
    return wanted ? module(out) : out;
  }
  Json tool(const Json& tool) {
    Json out = Json::object();
    for (const std::string& key : tool.keys())
      if (key != "marked" && key != "module") out.set(key, tool[key]);
    const bool wanted = mode_ == Mode::kTools || (mode_ == Mode::kMarked && tool["marked"].truth());
    return wanted ? module(out) : out;
  }
  Json module(Json json) {
    found_ = true;
    return json.set("module", true);
  }

  const Mode mode_;
  const IsDocument& is_document_;
  bool found_ = false;
};

}  // namespace

Json with_modules(const Json& chat, Mode mode, const IsDocument& is_document, bool* has_modules) {
  Marking marking(mode, is_document);
  Json out = marking.chat(chat);
  if (has_modules) *has_modules = marking.found();
  return out;
}

}  // namespace pc::serve
