#include "pml/layout/encode_cost.h"

#include <algorithm>
#include <vector>

namespace pc::pml {
namespace {

std::uint64_t item_tokens(const Layout& layout, Item item) {
  if (item.kind == ItemKind::kPiece) return layout.pieces[item.index].tokens.size();
  if (item.kind == ItemKind::kSlot) return layout.slots[item.index].len;
  return 0;
}

std::uint64_t own_cost(const Layout& layout, const Module& module) {
  std::uint64_t cost = 0;
  for (const std::uint32_t item : module.own)
    cost += kItemCost + item_tokens(layout, layout.items[item]);
  return cost;
}

// prefix: a module's pass is its ancestors' own text before it, then its own.
std::uint64_t prefix_cost(const Layout& layout) {
  std::vector<std::uint64_t> before(layout.modules.size());  // of each module, at this item
  std::uint64_t total = own_cost(layout, layout.modules[kRoot]);
  std::uint32_t inside = kRoot;
  for (const Item item : layout.items) {
    if (item.kind == ItemKind::kOpenModule) {
      before[item.index] = before[inside] + kItemCost;
      inside = item.index;
    } else if (item.kind == ItemKind::kCloseModule) {
      if (layout.modules[inside].stored()) total += before[inside];
      inside = layout.modules[inside].parent;
    } else if (item.kind == ItemKind::kPiece || item.kind == ItemKind::kSlot) {
      before[inside] += kItemCost + item_tokens(layout, item);
    }
  }
  return total;
}

// schema: a module's pass is everything before its end, one member a union.
std::uint64_t schema_cost(const Layout& layout) {
  struct Alternatives {
    std::uint64_t start;
    std::uint64_t end;  // after the default member; start if there is none
  };
  std::vector<Alternatives> open;
  std::uint64_t total = 0, before = 0;
  for (const Item item : layout.items) {
    before += kItemCost + item_tokens(layout, item);
    switch (item.kind) {
      case ItemKind::kOpenUnion:
        open.push_back({before, before});
        break;
      case ItemKind::kCloseUnion:
        before = open.back().end + kItemCost;
        open.pop_back();
        break;
      case ItemKind::kOpenModule:
        if (layout.modules[item.index].union_id != kNone) before = open.back().start + kItemCost;
        break;
      case ItemKind::kCloseModule: {
        const Module& module = layout.modules[item.index];
        if (module.stored()) total += before;
        if (module.union_id != kNone && layout.unions[module.union_id].default_member == item.index)
          open.back().end = before;
        break;
      }
      default:
        break;
    }
  }
  return total + before;
}

// A scaffold's pass is at most the root's text and that of the listed modules.
std::uint64_t scaffold_cost(const Layout& layout) {
  std::vector<std::uint64_t> own;
  for (const Module& module : layout.modules) own.push_back(own_cost(layout, module));
  std::uint64_t total = 0;
  for (const Scaffold& scaffold : layout.scaffolds) {
    total += own[kRoot];
    for (const std::uint32_t module : scaffold.modules) total += own[module];
  }
  return total;
}

std::uint64_t opening_cost(const TurnTokens& turn) {
  return kItemCost + std::max(turn.open.size(), turn.opening.size());
}

// A job sees each turn that holds text of its own module, and a scaffold may see all.
std::uint64_t whole_turns_cost(const Layout& layout, const std::vector<TurnTokens>& turns) {
  std::uint64_t once = 0;
  for (const TurnTokens& turn : turns) once += opening_cost(turn) + kItemCost + turn.close.size();
  return once * (1 + layout.scaffolds.size());
}

// At most all stand-ins before each module, and before each that it stands in.
std::uint64_t slots_cost(const Layout& layout, const FlatPrompt& flat) {
  std::uint64_t once = 0, depth = 0, total = 0;
  for (const StandIn& stand_in : layout.stand_ins) once += kItemCost + stand_in.tokens.size();
  for (const FlatStep& step : flat.steps) {
    if (step.what == FlatStep::What::kOpenModule) total += ++depth * once;
    if (step.what == FlatStep::What::kCloseModule) --depth;
  }
  return total;
}

// A module sees the opening of the turn around it.
std::uint64_t openings_cost(const FlatPrompt& flat, const std::vector<TurnTokens>& turns) {
  std::uint64_t total = 0, around = 0;
  for (const FlatStep& step : flat.steps) {
    if (step.what == FlatStep::What::kOpenTurn) around = opening_cost(turns[step.index]);
    if (step.what == FlatStep::What::kCloseTurn) around = 0;
    if (step.what == FlatStep::What::kOpenModule) total += around;
  }
  return total;
}

}  // namespace

std::uint64_t encoding_cost(const Layout& layout, const FlatPrompt& flat,
                            const std::vector<TurnTokens>& turns) {
  return encoding_cost(layout) + whole_turns_cost(layout, turns) +
         (sees_prefix(layout.attend) ? openings_cost(flat, turns) : 0) + slots_cost(layout, flat);
}

std::uint64_t encoding_cost(const Layout& layout) {
  const std::uint64_t scaffolds = scaffold_cost(layout);
  switch (layout.attend) {
    case Attend::kPrefix:
    case Attend::kSlots:
      return scaffolds + prefix_cost(layout);
    case Attend::kSchema:
      return scaffolds + schema_cost(layout);
    case Attend::kSelf:
      break;  // every token once: kMaxLayoutTokens bounds it
  }
  return scaffolds;
}

}  // namespace pc::pml
