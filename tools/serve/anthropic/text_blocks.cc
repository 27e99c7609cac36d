#include "tools/serve/anthropic/text_blocks.h"

#include "tools/serve/request/provider_text.h"

namespace pc::serve {
namespace {

void add_line(const std::optional<std::string>& line, std::string* text) {
  if (line && !line->empty()) *text += *line + "\n";
}

// {"type": "text", "data"}, or {"type": "content", "content": a string or blocks of text}.
std::string source_text(Fields& block) {
  auto source = block.nested("source");
  if (!source) block.refuse("source", "is missing: an object");
  const std::string type = source->required_string("type");
  if (type == "content") return text_blocks(*source, "content").text();
  if (type != "text")
    source->refuse("type",
                   "is \"" + type +
                       "\", but this server reads documents as text alone: send "
                       "{\"type\": \"text\", \"media_type\": \"text/plain\", \"data\": ...}");
  source->only("media_type", {"text/plain"}, "must be \"text/plain\"");
  return source->required_string("data");
}

// A file of Anthropic's, a picture and the like are other types of sources, or of blocks.
std::string text_in(Fields& block) {
  const std::string type = block.required_string("type");
  if (type == "text") return block.required_string("text");
  std::string text;
  add_line(block.string("title"), &text);
  if (type == "document") {
    add_line(block.string("context"), &text);
    return text + source_text(block) + "\n\n";
  }
  if (type == "search_result") {
    add_line(block.required_string("source"), &text);
    return text + text_blocks(block, "content").text() + "\n\n";
  }
  block.refuse("type", "is \"" + type + "\", but this model reads text alone");
}

}  // namespace

void add_text_block(Fields& block, ContentParts* parts) {
  std::string text = text_in(block);
  parts->add(std::move(text), is_marked(block));
}

ContentParts text_blocks(Fields& around, const char* name, bool is_system) {
  const Json content = around.any(name).value_or(Json());
  const std::string path = around.path_of(name);
  ContentParts parts;
  if (content.is_string())
    parts.add(is_system ? for_model(content.string(), path, &around) : content.string(), false);
  else if (!content.is_array())
    around.refuse(name, "must be a string or a list of blocks");
  for_each_item(content, path, [&](const Json& json, const std::string& at) {
    Fields block = around.inside(json, at);
    std::string text = text_in(block);
    if (is_system) text = for_model(std::move(text), at, &around);
    parts.add(std::move(text), is_marked(block));
  });
  return parts;
}

}  // namespace pc::serve
