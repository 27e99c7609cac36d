#include "pml/turns/messages.h"

#include <utility>

namespace pc::pml {
namespace {

PromptNode text_node(std::string_view text) {
  PromptNode node;
  node.kind = PromptNode::Kind::kText;
  node.text = text;
  return node;
}

// Adds an import of the module behind `nodes`, or into their last import as far as that is of
// the same modules.
Status add_import(const MessagePart& part, std::vector<PromptNode>* nodes) {
  std::string_view rest = part.module;
  PromptNode* node = nullptr;
  bool is_new = false;
  while (!rest.empty() || !node) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name.empty() || slash == rest.size() - 1)
      return error(Code::kInvalidArgument,
                   "\"" + part.module + "\" is no module's path: a name in it is empty");
    std::vector<PromptNode>& children = node ? node->children : *nodes;
    const bool is_last = slash == rest.npos;
    const bool open = !is_new && !is_last && !children.empty() &&
                      children.back().kind == PromptNode::Kind::kImport &&
                      children.back().name == name;
    if (!open) {
      children.emplace_back();
      children.back().kind = PromptNode::Kind::kImport;
      children.back().name = name;
      is_new = true;
    }
    node = &children.back();
    rest = is_last ? std::string_view() : rest.substr(slash + 1);
  }
  node->arguments = part.arguments;
  return ok();
}

}  // namespace

Result<Prompt> prompt_of(std::string_view schema, std::span<const Message> messages) {
  Prompt prompt;
  prompt.schema = schema;
  for (const Message& message : messages) {
    PromptNode turn;
    turn.kind = PromptNode::Kind::kRole;
    turn.role = message.role;
    for (const MessagePart& part : message.parts) {
      if (part.module.empty())
        turn.children.push_back(text_node(part.text));
      else
        PC_CHECK_OK(add_import(part, &turn.children));
    }
    prompt.children.push_back(std::move(turn));
  }
  return prompt;
}

Prompt prompt_of(std::string_view schema, std::string_view text) {
  Prompt prompt;
  prompt.schema = schema;
  prompt.children.push_back(text_node(text));
  return prompt;
}

}  // namespace pc::pml
