#include "pml/layout/layout_builder.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "pml/layout/encode_cost.h"
#include "pml/layout/scaffold.h"
#include "pml/syntax/elements.h"  // kWhiteSpace
#include "pml/syntax/names.h"
#include "pml/turns/chat_template.h"
#include "pml/turns/turns.h"

namespace pc::pml {
namespace {

using Kind = SchemaNode::Kind;

// The most work that a schema may make for a chat format, which is asked for the turns of
// each module behind those that always stand before them. For one module a model's own
// template is run for the whole conversation a few times (kWholeReadings), and for each
// beginning that ends with a turn of the module. Shorter beginnings are known already,
// since the turns around a module are read before its own. So a module costs the turns of
// its conversation, times its own turns and kWholeReadings more. The limit allows a schema
// of 2000 turns, or 1400 modules of one turn each behind a thousand turns. A unit of it is
// one or two turns of a rendering, which take one or two microseconds each: half a minute
// at most.
constexpr std::uint64_t kMaxTurnWork = std::uint64_t{1} << 23;
constexpr std::uint64_t kWholeReadings = 4;

std::string_view without_leading_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
}

std::string_view without_trailing_space(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

bool holds_modules(const SchemaNode& role) {
  return std::any_of(role.children.begin(), role.children.end(), [](const SchemaNode& node) {
    return node.kind == Kind::kModule || (node.kind == Kind::kUnion && !node.children.empty());
  });
}

// Walks the schema once, in document order.
class Builder {
 public:
  Builder(const Schema& schema, const TextEncoder& encoder) : schema_(schema), encoder_(encoder) {}

  Result<Layout> build();

 private:
  // The piece that is being gathered.
  struct Pending {
    std::vector<TextSpan> spans;
    std::vector<Item> behind;  // items that stand in or behind it, and hold no tokens
    Place place;
    bool bos = false, opens = false, fresh = false;

    bool empty() const { return spans.empty() && !bos; }
  };
  // The turns of one owner, and how many of them have been opened.
  struct OwnTurns {
    std::vector<TurnText> texts;
    std::size_t next = 0;
  };

  Status add(const std::vector<SchemaNode>& nodes);
  Status add(const SchemaNode& node);
  void add_text(Place place, std::string_view text);
  Status add_param(const SchemaNode& node);
  Status add_module(const SchemaNode& node, std::uint32_t union_id);
  Status add_union(const SchemaNode& node);
  Status add_role(const SchemaNode& node);
  Result<std::string> add_content(const SchemaNode& role, bool trims_left, bool trims_right);
  Status close_turn(const SchemaNode& node, std::uint32_t turn);
  Result<OwnTurns> read_turns(const std::vector<SchemaNode>& children);
  void add_span(Place place, TextSpan span);
  void add_markup(Place place, const std::string& text);
  Status end_piece();
  Status take_room(Place place, std::uint64_t n_tokens);
  void add_item(ItemKind kind, std::size_t index) {
    const Item item{kind, static_cast<std::uint32_t>(index)};
    (pending_.empty() ? layout_.items : pending_.behind).push_back(item);
  }
  std::uint32_t last_item() const { return static_cast<std::uint32_t>(layout_.items.size() - 1); }

  const Schema& schema_;
  const TextEncoder& encoder_;
  Layout layout_;
  Pending pending_;
  std::deque<std::string> markup_;  // what pending spans of markup point to
  std::uint32_t owner_ = kRoot;
  std::vector<std::uint32_t> sections_ = {0};  // [modules] of each, so far
  bool in_role_ = false;
  std::vector<Role> always_;  // the turns that stand before this place in every prompt
  OwnTurns turns_;            // of owner_
  // Those that are read, by the roles up to the last and how many of them stand before the
  // owner: modules that are alike are read once.
  std::map<std::pair<std::vector<Role>, std::size_t>, std::vector<TurnText>> turns_read_;
  std::uint64_t turn_work_ = 0;
  Position position_ = 0;
  std::uint64_t n_tokens_ = 0;  // tokens and room so far; bounds position_
};

Result<Layout> Builder::build() {
  layout_.schema = schema_.name;
  layout_.positions = schema_.positions;
  layout_.attend = schema_.attend;
  layout_.bos = encoder_.bos;
  layout_.modules.emplace_back();
  layout_.modules[kRoot].repair = schema_.repair;
  layout_.modules[kRoot].cache = schema_.cache;
  pending_.bos = encoder_.bos.has_value();
  pending_.place = schema_.place;
  PC_TRY(turns_, read_turns(schema_.children));
  PC_CHECK_OK(add(schema_.children));
  PC_CHECK_OK(end_piece());
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
    case Kind::kText:
      if (node.markup)
        add_markup(node.place, node.text);
      else
        add_text(node.place, node.text);
      return ok();
    case Kind::kParam:
      return add_param(node);
    case Kind::kModule:
      return add_module(node, kNone);
    case Kind::kUnion:
      return add_union(node);
    case Kind::kRole:
      return add_role(node);
  }
  return error(Code::kInternal, "a schema node of no kind");
}

Status Builder::take_room(Place place, std::uint64_t n_tokens) {
  n_tokens_ += n_tokens;
  if (n_tokens_ <= kMaxLayoutTokens) return ok();
  return broken_rule(place, "schema " + quote(schema_.name) + " has more than " +
                                std::to_string(kMaxLayoutTokens) + " tokens; split it");
}

// Does nothing but BOS stand before a piece that begins here, in any prompt? A
// module in front may be imported, and a prompt's text goes before a module that
// is imported, so a module's own text is never the opening: its tokens are the
// same anywhere.
void Builder::add_span(Place place, TextSpan span) {
  if (pending_.spans.empty()) {
    pending_.place = place;
    const std::uint64_t n_bos = encoder_.bos && !pending_.bos ? 1 : 0;
    pending_.opens = owner_ == kRoot && layout_.modules.size() == 1 && n_tokens_ == n_bos;
  }
  pending_.spans.push_back(span);
}

// The next token of this owner starts a new piece.
Status Builder::end_piece() {
  Pending piece = std::exchange(pending_, {});
  if (piece.empty()) return ok();
  Tokens tokens;
  if (piece.bos) tokens.push_back(*encoder_.bos);
  auto encoded = encoder_.encode(piece.spans, piece.opens);
  if (!encoded.ok()) return at(piece.place, std::move(encoded).error());
  for (const Tokens& span : *encoded) tokens.insert(tokens.end(), span.begin(), span.end());
  markup_.clear();
  if (!tokens.empty()) {
    PC_CHECK_OK(take_room(piece.place, tokens.size()));
    Module& owner = layout_.modules[owner_];
    add_item(ItemKind::kPiece, layout_.pieces.size());
    owner.own.push_back(last_item());
    owner.n_tokens += static_cast<std::uint32_t>(tokens.size());
    if (!piece.fresh) owner.n_stored += static_cast<std::uint32_t>(tokens.size());
    const Position start = position_;
    position_ += static_cast<Position>(tokens.size());
    layout_.pieces.push_back({owner_, std::move(tokens), start, piece.fresh});
  }
  layout_.items.insert(layout_.items.end(), piece.behind.begin(), piece.behind.end());
  return ok();
}

void Builder::add_text(Place place, std::string_view text) {
  if (text.empty()) return;
  ++sections_[owner_];
  add_span(place, {text, false});
  if (!in_role_) add_item(ItemKind::kBareText, 0);
}

void Builder::add_markup(Place place, const std::string& text) {
  if (!text.empty()) add_span(place, {markup_.emplace_back(text), true});
}

Status Builder::add_param(const SchemaNode& node) {
  PC_CHECK_OK(end_piece());
  ++sections_[owner_];
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
  Module& owner = layout_.modules[owner_];
  owner.slots.push_back(static_cast<std::uint32_t>(layout_.slots.size()));
  add_item(ItemKind::kSlot, layout_.slots.size());
  owner.own.push_back(last_item());
  layout_.slots.push_back({owner_, node.name, node.len, std::move(filler), position_});
  position_ += static_cast<Position>(node.len);
  return ok();
}

Status Builder::add_module(const SchemaNode& node, std::uint32_t union_id) {
  PC_CHECK_OK(end_piece());
  const auto index = static_cast<std::uint32_t>(layout_.modules.size());
  const std::string& around = layout_.modules[owner_].path;
  Module module;
  module.name = node.name;
  module.path = around.empty() ? node.name : around + "/" + node.name;
  module.parent = owner_;
  module.union_id = union_id;
  module.section = sections_[owner_];
  module.cache = node.cache && schema_.cache;
  module.may_be_stored = node.cache;
  module.repair = node.repair.value_or(layout_.modules[owner_].repair);
  module.own_repair = node.repair || layout_.modules[owner_].own_repair;
  module.position = position_;
  add_item(ItemKind::kOpenModule, index);
  module.open_item = last_item();
  layout_.by_path.emplace(module.path, index);
  layout_.modules.push_back(std::move(module));
  sections_.push_back(0);

  const std::size_t n_always = always_.size();
  OwnTurns around_turns = std::exchange(turns_, {});
  PC_TRY(turns_, read_turns(node.children));
  owner_ = index;
  PC_CHECK_OK(add(node.children));
  PC_CHECK_OK(end_piece());
  owner_ = layout_.modules[index].parent;
  turns_ = std::move(around_turns);
  always_.resize(n_always);  // a prompt need not import this module
  add_item(ItemKind::kCloseModule, index);
  layout_.modules[index].close_item = last_item();
  layout_.modules[index].extent =
      static_cast<std::uint32_t>(position_ - layout_.modules[index].position);
  return ok();
}

Status Builder::add_union(const SchemaNode& node) {
  PC_CHECK_OK(end_piece());
  const auto index = static_cast<std::uint32_t>(layout_.unions.size());
  const Position start = position_;
  Position end = start;
  Union entry;
  entry.parent = owner_;
  entry.position = start;
  layout_.unions.push_back(entry);
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

// What the format writes around the turns that stand directly in an owner,
// given those that are always before them.
Result<Builder::OwnTurns> Builder::read_turns(const std::vector<SchemaNode>& children) {
  std::vector<Role> roles = always_;
  const SchemaNode* first = nullptr;
  for (const SchemaNode& node : children) {
    if (node.kind != Kind::kRole) continue;
    if (!first) first = &node;
    roles.push_back(node.role);
  }
  if (!first) return OwnTurns{};
  if (!encoder_.chat) return missing_chat_template(first->place, first->role);
  const std::size_t n_before = always_.size(), n_own = roles.size() - n_before;
  std::vector<TurnText>& own = turns_read_[{roles, n_before}];
  if (!own.empty()) return OwnTurns{own};
  turn_work_ += roles.size() * (n_own + kWholeReadings);
  if (turn_work_ > kMaxTurnWork)
    return broken_rule(first->place, "schema " + quote(schema_.name) +
                                         " has too many modules whose turns differ behind too "
                                         "many turns; put fewer turns before its modules");
  auto texts = turns_to_continue(*encoder_.chat, roles);
  if (!texts.ok()) return broken_rule(first->place, texts.error().message);
  own.assign(texts->begin() + static_cast<std::ptrdiff_t>(n_before), texts->end());
  return OwnTurns{own};
}

Status Builder::add_role(const SchemaNode& node) {
  const auto index = static_cast<std::uint32_t>(layout_.turns.size());
  SchemaTurn turn;
  turn.role = node.role;
  turn.text = turns_.texts[turns_.next++];
  turn.last = owner_ == kRoot && &node == &schema_.children.back();
  turn.open_ended = holds_modules(node) || (turn.last && node.role == Role::kUser);
  ++sections_[owner_];
  add_item(ItemKind::kOpenTurn, index);
  add_markup(node.place, turn.text.open);
  layout_.turns.push_back(std::move(turn));
  always_.push_back(node.role);
  in_role_ = true;
  const TurnText& text = layout_.turns[index].text;
  PC_TRY(layout_.turns[index].tail, add_content(node, text.trims_left, text.trims_right));
  in_role_ = false;
  ++sections_[owner_];
  return close_turn(node, index);
}

// A turn's content, without the white space that the format strips at its ends.
// Gives what it stripped at the end of text.
Result<std::string> Builder::add_content(const SchemaNode& role, bool trims_left,
                                         bool trims_right) {
  const std::vector<SchemaNode>& nodes = role.children;
  std::size_t n = nodes.size();  // less blank text at the end
  const auto blank = [](std::string_view text) { return without_leading_space(text).empty(); };
  std::string tail;
  while (trims_right && n > 0 && nodes[n - 1].kind == Kind::kText && blank(nodes[n - 1].text))
    tail.insert(0, nodes[--n].text);
  for (std::size_t i = 0; i < n; ++i) {
    if (nodes[i].kind != Kind::kText) {
      PC_CHECK_OK(add(nodes[i]));
      trims_left = false;
      continue;
    }
    std::string_view text = nodes[i].text;
    if (trims_left) text = without_leading_space(text);
    if (trims_right && i + 1 == n) {
      const std::string_view kept = without_trailing_space(text);
      tail.insert(0, text.substr(kept.size()));
      text = kept;
    }
    trims_left = trims_left && text.empty();
    add_text(nodes[i].place, text);
  }
  return n > 0 && nodes[n - 1].kind == Kind::kText ? tail : "";
}

Status Builder::close_turn(const SchemaNode& node, std::uint32_t index) {
  const std::string close = layout_.turns[index].text.close;
  if (!layout_.turns[index].open_ended) {
    add_markup(node.place, close);
    add_item(ItemKind::kCloseTurn, index);
    return ok();
  }
  PC_CHECK_OK(end_piece());
  add_item(ItemKind::kCloseTurn, index);
  add_markup(node.place, close);
  pending_.fresh = true;
  const std::size_t n_pieces = layout_.pieces.size();
  PC_CHECK_OK(end_piece());
  if (layout_.pieces.size() > n_pieces) layout_.turns[index].closing = last_item();
  return ok();
}

// A schema that declares none has its own first modules.
void add_own_stand_ins(Layout& layout) {
  for (std::uint32_t i = 1; i < layout.modules.size() && layout.stand_ins.size() <= kOwnStandIns;
       ++i) {
    const Module& module = layout.modules[i];
    if (module.parent != kRoot || !module.stored()) continue;
    StandIn stand_in{{}, i};
    for (const std::uint32_t item : module.own) {
      const Item it = layout.items[item];
      const Tokens& tokens = it.kind == ItemKind::kPiece ? layout.pieces[it.index].tokens
                                                         : layout.slots[it.index].filler;
      stand_in.tokens.insert(stand_in.tokens.end(), tokens.begin(), tokens.end());
    }
    layout.stand_ins.push_back(std::move(stand_in));
  }
}

Status add_stand_ins(const Schema& schema, const TextEncoder& encoder, Layout& layout) {
  if (schema.attend != Attend::kSlots) return ok();
  std::uint64_t n_tokens = 0;
  for (const SchemaStandIn& written : schema.stand_ins) {
    auto tokens = encoder.text(written.text);
    if (!tokens.ok()) return at(written.place, std::move(tokens).error());
    n_tokens += tokens->size();
    if (n_tokens > kMaxLayoutTokens)
      return broken_rule(written.place, "the stand-ins have more than " +
                                            std::to_string(kMaxLayoutTokens) + " tokens");
    if (!tokens->empty()) layout.stand_ins.push_back({std::move(*tokens), kNone});
  }
  if (layout.stand_ins.empty()) add_own_stand_ins(layout);
  return ok();
}

}  // namespace

Result<Layout> lay_out(const Schema& schema, const TextEncoder& encoder) {
  PC_TRY(Layout layout, Builder(schema, encoder).build());
  for (const SchemaScaffold& written : schema.scaffolds) {
    PC_TRY(Scaffold scaffold, lay_out_scaffold(written, layout));
    layout.scaffolds.push_back(std::move(scaffold));
  }
  PC_CHECK_OK(add_stand_ins(schema, encoder, layout));
  if (encoding_cost(layout) > kMaxEncodingCost)
    return broken_rule(
        schema.place,
        "encoding schema " + quote(schema.name) + " would read more than " +
            std::to_string(kMaxEncodingCost) +
            " tokens over all modules; put less text before them, or use attend=\"self\"");
  return layout;
}

std::optional<Layout> in_slots(const Layout& layout) {
  if (layout.attend == Attend::kSlots || layout.attend == Attend::kSchema ||
      layout.positions == Positions::kSchema)
    return std::nullopt;
  Layout slots = layout;
  slots.attend = Attend::kSlots;
  add_own_stand_ins(slots);
  if (slots.stand_ins.size() < 2 || encoding_cost(slots) > kMaxEncodingCost) return std::nullopt;
  return slots;
}

}  // namespace pc::pml
