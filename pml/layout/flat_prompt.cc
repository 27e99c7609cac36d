#include "pml/layout/flat_prompt.h"

#include <algorithm>
#include <span>
#include <utility>

#include "pml/syntax/names.h"

namespace pc::pml {
namespace {

using What = FlatStep::What;

// The sections (compact), or the modules themselves (schema), keep the schema's order.
std::uint32_t rank(const Layout& layout, std::uint32_t module) {
  return layout.positions == Positions::kCompact ? layout.modules[module].section : module;
}

// What stands first between two modules of one level, in different sections of it. Text in a
// turn has no item of its own, and may have no tokens.
std::string divider(const Layout& layout, std::uint32_t before, std::uint32_t behind) {
  for (std::uint32_t i = layout.modules[before].close_item + 1;
       i < layout.modules[behind].open_item; ++i) {
    const Item item = layout.items[i];
    if (item.kind == ItemKind::kOpenModule) i = layout.modules[item.index].close_item;
    if (item.kind == ItemKind::kSlot) return "parameter " + quote(layout.slots[item.index].name);
    if (item.kind == ItemKind::kOpenTurn) return "a turn's beginning";
    if (item.kind == ItemKind::kCloseTurn) return "a turn's end";
    if (item.kind == ItemKind::kBareText) break;
  }
  return "text";
}

class Flattener {
 public:
  Flattener(const Layout& layout, const Binding& binding) : layout_(layout), binding_(binding) {}

  Result<FlatPrompt> flatten();

 private:
  Status check_order(std::uint32_t module);
  Status add_level(std::uint32_t module, std::uint32_t first_item, std::uint32_t end_item);
  Status add_item(std::uint32_t index);
  Status add_import(std::uint32_t module);
  Status write(std::span<const Written> all);
  void write_text(const PromptNode& node, std::uint32_t behind = kNone);
  void open_turn(const PromptNode& node);
  Status open_schema_turn(std::uint32_t turn);
  Status close_schema_turn(std::uint32_t turn);
  Status defer(std::span<const Written> turns);
  Error turn_in_turn(const PromptNode& node) const;
  Status write_deferred();
  void push(const FlatStep& step) { flat_.steps.push_back(step); }
  bool writes_into(const SchemaTurn& turn) const;

  const Layout& layout_;
  const Binding& binding_;
  FlatPrompt flat_;
  std::uint32_t depth_ = 0;                  // of imports around this place
  std::uint32_t schema_turn_ = kNone;        // open now, of Layout::turns
  std::uint32_t schema_turn_depth_ = 0;      // where it opened
  const PromptNode* prompt_turn_ = nullptr;  // open now
  std::span<const Written> inside_;          // of the root, where nothing is imported into it
  std::vector<Written> deferred_;            // turns that wait for the schema's to close
  std::size_t deferred_at_ = 0;              // number of steps then
  bool ended_ = false;                       // does the text so far end with the last turn?
};

Result<FlatPrompt> Flattener::flatten() {
  inside_ = binding_.modules[kRoot].inside;
  const auto n_items = static_cast<std::uint32_t>(layout_.items.size());
  PC_CHECK_OK(add_level(kRoot, 0, n_items));
  PC_CHECK_OK(write(inside_));
  const bool users = !flat_.turns.empty() && flat_.turns.back().role == Role::kUser;
  flat_.opens_answer = ended_ && users;
  flat_.ends_bare = !ended_ && users;
  return std::move(flat_);
}

// Imports whose order is not the schema's are moved, unless a turn encloses
// some of them: its ends would then enclose other modules.
Status Flattener::check_order(std::uint32_t module) {
  const Import& level = binding_.modules[module];
  const auto out_of_order = [&](std::uint32_t a, std::uint32_t b) {
    return rank(layout_, b) < rank(layout_, a);
  };
  const auto late = std::adjacent_find(level.imports.begin(), level.imports.end(), out_of_order);
  if (late == level.imports.end()) return ok();
  const std::string what = "module " + quote(layout_.modules[late[1]].path) + " stands before " +
                           quote(layout_.modules[late[0]].path) + " in the schema" +
                           (layout_.positions == Positions::kCompact
                                ? ", with " + divider(layout_, late[1], late[0]) + " between them"
                                : "");
  if (!level.wrapped) {
    flat_.remarks.push_back(what + ", and so it does in the prompt");
    return ok();
  }
  return broken_rule(binding_.modules[late[1]].node->place,
                     what + "; where a role element encloses imports they keep that order");
}

// The imports of a section stand, in the prompt's order, where the schema holds
// the section's first module.
Status Flattener::add_level(std::uint32_t module, std::uint32_t first_item,
                            std::uint32_t end_item) {
  PC_CHECK_OK(check_order(module));
  std::vector<std::uint32_t> imports = binding_.modules[module].imports;
  std::stable_sort(imports.begin(), imports.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank(layout_, a) < rank(layout_, b);
  });
  auto next = imports.begin();
  for (std::uint32_t i = first_item; i < end_item; ++i) {
    const Item item = layout_.items[i];
    if (item.kind != ItemKind::kOpenModule) {
      PC_CHECK_OK(add_item(i));
      continue;
    }
    for (; next != imports.end() && rank(layout_, *next) == rank(layout_, item.index); ++next)
      PC_CHECK_OK(add_import(*next));
    i = layout_.modules[item.index].close_item;
  }
  return write_deferred();
}

Status Flattener::add_import(std::uint32_t index) {
  const Module& module = layout_.modules[index];
  const Import& import = binding_.modules[index];
  PC_CHECK_OK(write_deferred());
  PC_CHECK_OK(write(import.before));
  push({What::kOpenModule, index});
  ++depth_;
  PC_CHECK_OK(add_level(index, module.open_item + 1, module.close_item));
  PC_CHECK_OK(write(import.inside));
  --depth_;
  push({What::kCloseModule, index});
  return write(import.after);
}

Status Flattener::add_item(std::uint32_t i) {
  const Item item = layout_.items[i];
  switch (item.kind) {
    case ItemKind::kPiece:
      if (layout_.pieces[item.index].fresh) return ok();  // its turn closes with it
      push({What::kPiece, item.index, i});
      return ok();
    case ItemKind::kSlot:
      if (!binding_.arguments[item.index].empty()) ended_ = false;
      push({What::kSlot, item.index, i});
      return ok();
    case ItemKind::kOpenTurn:
      return open_schema_turn(item.index);
    case ItemKind::kCloseTurn:
      return close_schema_turn(item.index);
    case ItemKind::kBareText:
      ended_ = false;
      return ok();
    default:
      return ok();
  }
}

Status Flattener::open_schema_turn(std::uint32_t index) {
  const Role role = layout_.turns[index].role;
  if (prompt_turn_)
    return broken_rule(prompt_turn_->place, std::string("this <") + role_name(prompt_turn_->role) +
                                                "> would enclose the schema's <" + role_name(role) +
                                                ">; close it before the import that follows");
  schema_turn_ = index;
  schema_turn_depth_ = depth_;
  ended_ = false;
  flat_.turns.push_back({role, nullptr, index});
  return ok();
}

// Text that is behind no import belongs to the user's turn that ends the schema.
bool Flattener::writes_into(const SchemaTurn& turn) const {
  return turn.last && turn.role == Role::kUser && !inside_.empty() &&
         inside_[0].what == Written::What::kText;
}

Status Flattener::close_schema_turn(std::uint32_t index) {
  const SchemaTurn& turn = layout_.turns[index];
  if (writes_into(turn)) {
    write_text(*inside_[0].node, index);
    inside_ = inside_.subspan(1);
  }
  schema_turn_ = kNone;
  ended_ = true;
  if (turn.open_ended)
    push({What::kCloseTurn, static_cast<std::uint32_t>(flat_.turns.size() - 1), turn.closing});
  return ok();
}

Status Flattener::write(std::span<const Written> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PromptNode& node = *all[i].node;
    switch (all[i].what) {
      case Written::What::kText:
        write_text(node);
        break;
      case Written::What::kOpenTurn:
        if (schema_turn_ != kNone) return defer(all.subspan(i));
        open_turn(node);
        break;
      case Written::What::kCloseTurn:
        prompt_turn_ = nullptr;
        ended_ = true;
        push({What::kCloseTurn, static_cast<std::uint32_t>(flat_.turns.size() - 1)});
        break;
    }
  }
  return ok();
}

// A turn behind an import that stands in a turn of the schema comes behind what
// the schema goes on with there, up to the next import: that turn's end, and the
// turns that answer it.
Status Flattener::defer(std::span<const Written> turns) {
  if (depth_ != schema_turn_depth_ || !deferred_.empty()) return turn_in_turn(*turns[0].node);
  deferred_.assign(turns.begin(), turns.end());
  deferred_at_ = flat_.steps.size();
  return ok();
}

Status Flattener::write_deferred() {
  if (deferred_.empty()) return ok();
  const PromptNode& node = *deferred_[0].node;
  if (schema_turn_ != kNone) return turn_in_turn(node);
  const auto is_text = [&](const FlatStep& step) {
    return step.what == What::kPiece ||
           (step.what == What::kSlot && !binding_.arguments[step.index].empty());
  };
  if (std::any_of(flat_.steps.begin() + static_cast<std::ptrdiff_t>(deferred_at_),
                  flat_.steps.end(), is_text))
    flat_.remarks.push_back(std::string("the prompt's <") + role_name(node.role) + "> at " +
                            to_string(node.place) +
                            " stands behind the schema's text that follows, because its import "
                            "stands in a turn of the schema");
  const std::vector<Written> turns = std::exchange(deferred_, {});
  return write(turns);
}

Error Flattener::turn_in_turn(const PromptNode& node) const {
  return broken_rule(node.place, std::string("this <") + role_name(node.role) +
                                     "> would stand inside the schema's <" +
                                     role_name(layout_.turns[schema_turn_].role) +
                                     ">; move it after the imports that are in it");
}

void Flattener::write_text(const PromptNode& node, std::uint32_t behind) {
  ended_ = false;
  FlatStep step{What::kText};
  step.node = &node;
  step.behind = behind;
  if (schema_turn_ != kNone && layout_.turns[schema_turn_].role == Role::kSystem)
    flat_.remarks.push_back("the prompt's text at " + to_string(node.place) +
                            " stands in the schema's <system> turn");
  push(step);
}

void Flattener::open_turn(const PromptNode& node) {
  prompt_turn_ = &node;
  ended_ = false;
  flat_.turns.push_back({node.role, &node, kNone});
  push({What::kOpenTurn, static_cast<std::uint32_t>(flat_.turns.size() - 1)});
}

}  // namespace

Result<FlatPrompt> flatten(const Layout& layout, const Binding& binding) {
  return Flattener(layout, binding).flatten();
}

FlatPrompt flatten_schema(const Layout& layout) {
  FlatPrompt flat;
  flat.is_schema = true;
  for (std::uint32_t i = 0; i < layout.items.size(); ++i) {
    const Item item = layout.items[i];
    switch (item.kind) {
      case ItemKind::kPiece:
        flat.steps.push_back({What::kPiece, item.index, i});
        break;
      case ItemKind::kSlot:
        flat.steps.push_back({What::kSlot, item.index, i});
        break;
      case ItemKind::kOpenModule:
        flat.steps.push_back({What::kOpenModule, item.index});
        break;
      case ItemKind::kCloseModule:
        flat.steps.push_back({What::kCloseModule, item.index});
        break;
      default:
        break;
    }
  }
  return flat;
}

}  // namespace pc::pml
