#include "pml/turns/chat_pieces.h"

namespace pc::pml {
namespace {

constexpr std::uint32_t kNoModule = UINT32_MAX;

template <class Node>
Node text_node(const ChatPiece& piece) {
  Node node;
  node.kind = Node::Kind::kText;
  node.text = piece.text;
  node.markup = piece.markup;
  return node;
}

}  // namespace

std::pair<Schema, Prompt> chat_of_pieces(std::span<const ChatPiece> pieces, std::size_t n_head) {
  Schema schema;
  Prompt prompt;
  schema.name = prompt.schema = kChatSchema;
  for (const ChatPiece& piece : pieces.first(n_head))
    schema.children.push_back(text_node<SchemaNode>(piece));
  std::uint32_t last = kNoModule;
  for (const ChatPiece& piece : pieces.subspan(n_head)) {
    if (piece.module == kNoModule) {
      prompt.children.push_back(text_node<PromptNode>(piece));
    } else {
      if (piece.module != last) {
        const std::string name = std::to_string(piece.module + 1);
        schema.children.emplace_back();
        schema.children.back().kind = SchemaNode::Kind::kModule;
        schema.children.back().name = name;
        prompt.children.emplace_back();
        prompt.children.back().kind = PromptNode::Kind::kImport;
        prompt.children.back().name = name;
      }
      schema.children.back().children.push_back(text_node<SchemaNode>(piece));
    }
    last = piece.module;
  }
  return {std::move(schema), std::move(prompt)};
}

}  // namespace pc::pml
