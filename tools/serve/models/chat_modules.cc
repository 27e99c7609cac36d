#include "tools/serve/models/chat_modules.h"

#include <utility>
#include <vector>

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
  static Json module(Json json) { return json.set("module", true); }

  const Mode mode_;
  const IsDocument& is_document_;
};

// A message up to its first module.
ModulesFront front_in(const Json& message) {
  ModulesFront front;
  const Json content = message["content"];
  front.said = content.string();
  for (const Json& part : content.items()) {
    if (part["module"].truth()) {
      front.first = part["text"].string();
      break;
    }
    front.said += part["text"].string();
  }
  return front;
}

bool is_system(const Json& message) {
  return message["role"] == Json("system") || message["role"] == Json("developer");
}

}  // namespace

Json with_modules(const Json& chat, Mode mode, const IsDocument& is_document) {
  return Marking(mode, is_document).chat(chat);
}

std::optional<ModulesFront> front_of(const Json& chat) {
  std::string system;
  bool is_first = true;  // is it the system's message, or the one behind that?
  for (const Json& message : chat["messages"].items()) {
    const ModulesFront front = front_in(message);
    if (!front.first.empty())
      return ModulesFront{is_first ? system + front.said : system, front.first};
    if (is_system(message)) system += front.said;
    is_first = is_first && is_system(message);
  }
  for (const Json& tool : chat["tools"].items())
    if (tool["module"].truth()) return ModulesFront{system, tool.dump()};
  return std::nullopt;
}

}  // namespace pc::serve
