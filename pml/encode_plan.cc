#include "pml/encode_plan.h"

#include <algorithm>
#include <utility>

namespace pc::pml {
namespace {

// One causal pass under construction.
class Pass {
 public:
  explicit Pass(const Layout& layout) : layout_(layout) {}

  // Takes the piece or slot behind an item; other items hold no tokens.
  void take(std::uint32_t item_index, bool keep) {
    const Item item = layout_.items[item_index];
    if (item.kind == ItemKind::kPiece) {
      const Piece& piece = layout_.pieces[item.index];
      add(piece.tokens, piece.position, keep, item.index);
    } else if (item.kind == ItemKind::kSlot) {
      const Slot& slot = layout_.slots[item.index];
      add(slot.filler, slot.position, false, 0);
    }
  }

  // The runs, less those that no kept run sees.
  std::vector<JobRun> finish() {
    while (!runs_.empty() && !runs_.back().keep) runs_.pop_back();
    return std::move(runs_);
  }

 private:
  void add(const Tokens& tokens, Position schema_position, bool keep, std::uint32_t piece) {
    const Position position = layout_.positions == Positions::kSchema ? schema_position : end_;
    end_ = position + static_cast<Position>(tokens.size());
    if (!keep && !runs_.empty()) {
      JobRun& last = runs_.back();
      if (!last.keep && last.position + static_cast<Position>(last.tokens.size()) == position) {
        last.tokens.insert(last.tokens.end(), tokens.begin(), tokens.end());
        return;
      }
    }
    runs_.push_back({tokens, position, keep, piece});
  }

  const Layout& layout_;
  std::vector<JobRun> runs_;
  Position end_ = 0;
};

class Planner {
 public:
  explicit Planner(const Layout& layout) : layout_(layout) {
    for (const Union& u : layout.unions) chosen_.push_back(u.default_member);
  }

  std::vector<EncodeJob> plan();

 private:
  void add_module(std::uint32_t index);
  void add_scaffold(std::uint32_t index);
  void take_text_before(std::uint32_t index, Pass& pass) const;
  void take_schema(std::uint32_t index, Pass& pass);

  const Layout& layout_;
  std::vector<std::uint32_t> chosen_;  // member of each union that a pass over the schema sees
  std::vector<EncodeJob> jobs_;
};

std::vector<EncodeJob> Planner::plan() {
  for (std::uint32_t i = 0; i < layout_.modules.size(); ++i) add_module(i);
  for (std::uint32_t i = 0; i < layout_.scaffolds.size(); ++i) add_scaffold(i);
  return std::move(jobs_);
}

void Planner::add_module(std::uint32_t index) {
  const Module& module = layout_.modules[index];
  if (!module.cache || module.n_tokens == 0) return;
  Pass pass(layout_);
  if (layout_.attend == Attend::kSchema) {
    take_schema(index, pass);
  } else {
    if (layout_.attend == Attend::kPrefix) take_text_before(index, pass);
    for (const std::uint32_t item : module.own) pass.take(item, true);
  }
  jobs_.push_back({module.path, layout_.attend, false, index, pass.finish()});
}

// What is always present before a module: the own text of those around it.
void Planner::take_text_before(std::uint32_t index, Pass& pass) const {
  const Module& module = layout_.modules[index];
  if (module.parent == kNone) return;
  take_text_before(module.parent, pass);
  for (const std::uint32_t item : layout_.modules[module.parent].own)
    if (item < module.open_item) pass.take(item, false);
}

// The schema up to the module's end; of each union the member around the
// module, else the default one.
void Planner::take_schema(std::uint32_t index, Pass& pass) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> replaced;
  for (std::uint32_t i = index; i != kNone; i = layout_.modules[i].parent) {
    const std::uint32_t u = layout_.modules[i].union_id;
    if (u != kNone) replaced.emplace_back(u, std::exchange(chosen_[u], i));
  }
  const Module& module = layout_.modules[index];
  for (std::uint32_t i = 0; i <= module.own.back(); ++i) {
    const Item item = layout_.items[i];
    if (item.kind == ItemKind::kOpenUnion) {
      const std::uint32_t member = chosen_[item.index];
      i = member == kNone ? layout_.unions[item.index].close_item
                          : layout_.modules[member].open_item;
    } else if (item.kind == ItemKind::kCloseModule &&
               layout_.modules[item.index].union_id != kNone) {
      i = layout_.unions[layout_.modules[item.index].union_id].close_item;
    } else {
      const bool own = item.kind == ItemKind::kPiece && layout_.pieces[item.index].module == index;
      pass.take(i, own);
    }
  }
  for (const auto& [u, member] : replaced) chosen_[u] = member;
}

// All text that is always present, and the listed modules, in document order;
// kept from the first listed module's first piece on.
void Planner::add_scaffold(std::uint32_t index) {
  const Scaffold& scaffold = layout_.scaffolds[index];
  std::vector<std::uint32_t> items = layout_.modules[kRoot].own;
  std::uint32_t first_kept = kNone;
  for (const std::uint32_t m : scaffold.modules) {
    const std::vector<std::uint32_t>& own = layout_.modules[m].own;
    items.insert(items.end(), own.begin(), own.end());
    for (const std::uint32_t item : own)
      if (layout_.items[item].kind == ItemKind::kPiece) first_kept = std::min(first_kept, item);
  }
  if (first_kept == kNone) return;  // no listed module has text of its own
  std::sort(items.begin(), items.end());
  Pass pass(layout_);
  for (const std::uint32_t item : items) pass.take(item, item >= first_kept);
  jobs_.push_back({"scaffold " + scaffold.name, layout_.attend, true, index, pass.finish()});
}

}  // namespace

std::vector<EncodeJob> plan_encoding(const Layout& layout) {
  return Planner(layout).plan();
}

}  // namespace pc::pml
