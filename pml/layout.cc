#include "pml/layout.h"

#include <algorithm>
#include <utility>

#include "pml/chat_template.h"
#include "pml/encode_cost.h"
#include "pml/names.h"
#include "pml/scaffold.h"

namespace pc::pml {
namespace {

using Kind = SchemaNode::Kind;

// Walks the schema once, in document order.
class Builder {
 public:
  Builder(const Schema& schema, const TextEncoder& encoder) : schema_(schema), encoder_(encoder) {}

  Result<Layout> build();

 private:
  Status add(const std::vector<SchemaNode>& nodes);
  Status add(const SchemaNode& node);
  Status add_text(const SchemaNode& node);
  Status add_param(const SchemaNode& node);
  Status add_module(const SchemaNode& node, std::uint32_t union_id);
  Status add_union(const SchemaNode& node);
  Status add_role(const SchemaNode& node);
  Status add_markup(Place place, const std::string& text);
  bool opening() const;
  Status add_tokens(Place place, const Tokens& tokens);
  Status take_room(Place place, std::uint64_t n_tokens);
  void add_item(ItemKind kind, std::size_t index) {
    layout_.items.push_back({kind, static_cast<std::uint32_t>(index)});
  }
  // The next token of this owner starts a new piece.
  void end_piece() { in_piece_ = false; }
  std::uint32_t last_item() const { return static_cast<std::uint32_t>(layout_.items.size() - 1); }

  const Schema& schema_;
  const TextEncoder& encoder_;
  Layout layout_;
  std::uint32_t owner_ = kRoot;
  bool in_piece_ = false;
  bool in_role_ = false;
  std::optional<Role> last_role_;  // of those that are present wherever this place is
  Position position_ = 0;
  std::uint64_t n_tokens_ = 0;  // tokens and room so far; bounds position_
};

Result<Layout> Builder::build() {
  layout_.schema = schema_.name;
  layout_.positions = schema_.positions;
  layout_.attend = schema_.attend;
  layout_.modules.emplace_back();
  if (encoder_.bos) PC_CHECK_OK(add_tokens(schema_.place, {*encoder_.bos}));
  PC_CHECK_OK(add(schema_.children));
  layout_.extent = layout_.modules[kRoot].extent = static_cast<std::uint32_t>(position_);
  layout_.modules[kRoot].close_item = static_cast<std::uint32_t>(layout_.items.size());
  return std::move(layout_);
}

Status Builder::add(const std::vector<SchemaNode>& nodes) {
  for (const SchemaNode& node : nodes) PC_CHECK_OK(add(node));
  return ok();
}

Status Builder::add(const SchemaNode& node) {
  switch (node.kind) {
    case Kind::kText: return add_text(node);
    case Kind::kParam: return add_param(node);
    case Kind::kModule: return add_module(node, kNone);
    case Kind::kUnion: return add_union(node);
    case Kind::kRole: return add_role(node);
  }
  return error(Code::kInternal, "a schema node of no kind");
}

Status Builder::take_room(Place place, std::uint64_t n_tokens) {
  n_tokens_ += n_tokens;
  if (n_tokens_ <= kMaxLayoutTokens) return ok();
  return broken_rule(place, "schema " + quote(schema_.name) + " has more than " +
                                std::to_string(kMaxLayoutTokens) + " tokens; split it");
}

Status Builder::add_tokens(Place place, const Tokens& tokens) {
  if (tokens.empty()) return ok();
  PC_CHECK_OK(take_room(place, tokens.size()));
  Module& owner = layout_.modules[owner_];
  if (!in_piece_) {
    add_item(ItemKind::kPiece, layout_.pieces.size());
    owner.own.push_back(last_item());
    layout_.pieces.push_back({owner_, {}, position_});
    in_piece_ = true;
  }
  Tokens& piece = layout_.pieces.back().tokens;
  piece.insert(piece.end(), tokens.begin(), tokens.end());
  owner.n_tokens += static_cast<std::uint32_t>(tokens.size());
  position_ += static_cast<Position>(tokens.size());
  return ok();
}

Status Builder::add_text(const SchemaNode& node) {
  auto tokens = encoder_.text(node.text);
  if (!tokens.ok()) return at(node.place, std::move(tokens).error());
  PC_CHECK_OK(add_tokens(node.place, *tokens));
  if (!in_role_ && !tokens->empty()) add_item(ItemKind::kBareText, 0);
  return ok();
}

// Does nothing but BOS stand before this place, in any prompt? A module in front
// may be imported, and a prompt's text goes before a module that is imported, so
// the strings of a module are never the opening: its tokens are the same anywhere.
bool Builder::opening() const {
  if (owner_ != kRoot || layout_.modules.size() > 1) return false;
  return n_tokens_ == (encoder_.bos ? 1 : 0);
}

Status Builder::add_markup(Place place, const std::string& text) {
  if (text.empty()) return ok();
  auto tokens = opening() ? encoder_.opening_markup(text) : encoder_.markup(text);
  if (!tokens.ok()) return at(place, std::move(tokens).error());
  return add_tokens(place, *tokens);
}

Status Builder::add_param(const SchemaNode& node) {
  PC_CHECK_OK(take_room(node.place, node.len));
  Tokens filler;
  if (!node.text.empty()) {
    auto tokens = encoder_.text(node.text);
    if (!tokens.ok()) return at(node.place, std::move(tokens).error());
    filler = std::move(*tokens);
  }
  if (filler.size() > node.len)
    return broken_rule(node.place, "the scaffold text of parameter " + quote(node.name) + " has " +
                                       std::to_string(filler.size()) + " tokens; its length is " +
                                       std::to_string(node.len));
  filler.resize(node.len, encoder_.placeholder);
  end_piece();
  Module& owner = layout_.modules[owner_];
  owner.slots.push_back(static_cast<std::uint32_t>(layout_.slots.size()));
  add_item(ItemKind::kSlot, layout_.slots.size());
  owner.own.push_back(last_item());
  layout_.slots.push_back({owner_, node.name, node.len, std::move(filler), position_});
  position_ += static_cast<Position>(node.len);
  return ok();
}

Status Builder::add_module(const SchemaNode& node, std::uint32_t union_id) {
  const auto index = static_cast<std::uint32_t>(layout_.modules.size());
  const std::string& around = layout_.modules[owner_].path;
  Module module;
  module.name = node.name;
  module.path = around.empty() ? node.name : around + "/" + node.name;
  module.parent = owner_;
  module.union_id = union_id;
  module.cache = node.cache;
  module.position = position_;
  end_piece();
  add_item(ItemKind::kOpenModule, index);
  module.open_item = last_item();
  layout_.by_path.emplace(module.path, index);
  layout_.modules.push_back(std::move(module));

  const auto role_before = last_role_;
  owner_ = index;
  PC_CHECK_OK(add(node.children));
  owner_ = layout_.modules[index].parent;
  last_role_ = role_before;  // a prompt need not import this module
  end_piece();
  add_item(ItemKind::kCloseModule, index);
  layout_.modules[index].close_item = last_item();
  layout_.modules[index].extent =
      static_cast<std::uint32_t>(position_ - layout_.modules[index].position);
  return ok();
}

Status Builder::add_union(const SchemaNode& node) {
  const auto index = static_cast<std::uint32_t>(layout_.unions.size());
  const Position start = position_;
  Position end = start;
  Union entry;
  entry.parent = owner_;
  entry.position = start;
  layout_.unions.push_back(entry);
  end_piece();
  add_item(ItemKind::kOpenUnion, index);
  for (const SchemaNode& member : node.children) {
    position_ = start;
    if (member.name == node.name)
      layout_.unions[index].default_member = static_cast<std::uint32_t>(layout_.modules.size());
    PC_CHECK_OK(add_module(member, index));
    end = std::max(end, position_);
  }
  position_ = end;
  add_item(ItemKind::kCloseUnion, index);
  layout_.unions[index].close_item = last_item();
  layout_.unions[index].extent = static_cast<std::uint32_t>(end - start);
  return ok();
}

Status Builder::add_role(const SchemaNode& node) {
  if (!encoder_.chat) return missing_chat_template(node.place, node.role);
  add_item(ItemKind::kOpenRole, static_cast<std::size_t>(node.role));
  PC_CHECK_OK(add_markup(node.place, role_prefix(*encoder_.chat, node.role, last_role_)));
  last_role_ = node.role;
  in_role_ = true;
  PC_CHECK_OK(add(node.children));
  in_role_ = false;
  PC_CHECK_OK(add_markup(node.place, role_suffix(*encoder_.chat, node.role)));
  add_item(ItemKind::kCloseRole, static_cast<std::size_t>(node.role));
  return ok();
}

}  // namespace

Result<Layout> lay_out(const Schema& schema, const TextEncoder& encoder) {
  PC_TRY(Layout layout, Builder(schema, encoder).build());
  for (const SchemaScaffold& written : schema.scaffolds) {
    PC_TRY(Scaffold scaffold, lay_out_scaffold(written, layout));
    layout.scaffolds.push_back(std::move(scaffold));
  }
  if (encoding_cost(layout) > kMaxEncodingCost)
    return broken_rule(
        schema.place,
        "encoding schema " + quote(schema.name) + " would read more than " +
            std::to_string(kMaxEncodingCost) +
            " tokens over all modules; put less text before them, or use attend=\"self\"");
  return layout;
}

}  // namespace pc::pml
