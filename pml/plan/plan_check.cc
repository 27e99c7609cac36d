#include "pml/plan/plan_check.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pc::pml {
namespace {

Error broken(const std::string& what) {
  return error(Code::kInternal, "broken invariant: " + what);
}

Position end_of(Position position, const Tokens& tokens) {
  return position + static_cast<Position>(tokens.size());
}

// Follows the items of a layout as if it were being laid out again.
class LayoutChecker {
 public:
  explicit LayoutChecker(const Layout& layout) : layout_(layout) {}

  Status check() {
    if (layout_.modules.empty() || layout_.modules[kRoot].parent != kNone)
      return broken("modules[0] is not the root");
    n_own_.resize(layout_.modules.size());
    n_tokens_.resize(layout_.modules.size());
    for (std::uint32_t i = 0; i < layout_.items.size(); ++i) PC_CHECK_OK(step(i));
    for (std::size_t m = 0; m < layout_.modules.size(); ++m)
      if (n_own_[m] != layout_.modules[m].own.size() || n_tokens_[m] != layout_.modules[m].n_tokens)
        return broken("a module's own items or tokens are miscounted");
    if (inside_ != kRoot || !open_.empty()) return broken("modules or unions are not balanced");
    if (n_pieces_ != layout_.pieces.size() || n_slots_ != layout_.slots.size() ||
        n_modules_ != layout_.modules.size() || n_unions_ != layout_.unions.size())
      return broken("items do not hold every piece, slot, module and union once");
    if (position_ != static_cast<Position>(layout_.extent))
      return broken("the layout's extent is wrong");
    return ok();
  }

 private:
  struct OpenUnion {
    std::uint32_t index;
    Position start, end;
  };

  Status step(std::uint32_t i) {
    const Item item = layout_.items[i];
    switch (item.kind) {
      case ItemKind::kPiece:
        return piece(i, item.index);
      case ItemKind::kSlot:
        return slot(i, item.index);
      case ItemKind::kOpenModule:
        return open_module(i, item.index);
      case ItemKind::kCloseModule:
        return close_module(i, item.index);
      case ItemKind::kOpenUnion:
        if (item.index != n_unions_++ || item.index >= layout_.unions.size())
          return broken("unions are out of order");
        open_.push_back({item.index, position_, position_});
        return ok();
      case ItemKind::kCloseUnion:
        if (open_.empty() || open_.back().index != item.index ||
            layout_.unions[item.index].close_item != i)
          return broken("a union is not balanced");
        position_ = open_.back().end;
        open_.pop_back();
        return ok();
      default:
        return ok();
    }
  }

  // A piece or slot must be the next of its owner's own items.
  Status own_item(std::uint32_t i) {
    const std::vector<std::uint32_t>& own = layout_.modules[inside_].own;
    if (n_own_[inside_] >= own.size() || own[n_own_[inside_]++] != i)
      return broken("a module's own items are not those it holds");
    return ok();
  }

  Status piece(std::uint32_t i, std::uint32_t index) {
    PC_CHECK_OK(own_item(i));
    if (index != n_pieces_++ || index >= layout_.pieces.size())
      return broken("pieces are out of order");
    const Piece& piece = layout_.pieces[index];
    if (piece.tokens.empty()) return broken("a piece is empty");
    if (piece.module != inside_ || piece.position != position_)
      return broken("a piece has the wrong owner or position");
    n_tokens_[inside_] += piece.tokens.size();
    position_ = end_of(position_, piece.tokens);
    return ok();
  }

  Status slot(std::uint32_t i, std::uint32_t index) {
    PC_CHECK_OK(own_item(i));
    if (index != n_slots_++ || index >= layout_.slots.size())
      return broken("slots are out of order");
    const Slot& slot = layout_.slots[index];
    if (slot.len == 0 || slot.filler.size() != slot.len)
      return broken("a slot's filler is not as long as its room");
    if (slot.module != inside_ || slot.position != position_ || inside_ == kRoot)
      return broken("a slot has the wrong owner or position");
    position_ = end_of(position_, slot.filler);
    return ok();
  }

  Status open_module(std::uint32_t i, std::uint32_t index) {
    if (index != n_modules_++ || index >= layout_.modules.size())
      return broken("modules are out of order");
    const Module& module = layout_.modules[index];
    if (module.union_id != kNone) {
      if (open_.empty() || open_.back().index != module.union_id)
        return broken("a member is outside of its union");
      position_ = open_.back().start;
    }
    if (module.open_item != i || module.parent != inside_ || module.position != position_)
      return broken("a module has the wrong parent or position");
    inside_ = index;
    return ok();
  }

  Status close_module(std::uint32_t i, std::uint32_t index) {
    const Module& module = layout_.modules[inside_];
    if (inside_ != index || index == kRoot || module.close_item != i)
      return broken("a module is not balanced");
    if (module.union_id != kNone && (open_.empty() || open_.back().index != module.union_id))
      return broken("a union ends before its members");
    if (position_ != module.position + static_cast<Position>(module.extent))
      return broken("a module's extent is wrong");
    if (module.union_id != kNone) open_.back().end = std::max(open_.back().end, position_);
    inside_ = module.parent;
    return ok();
  }

  const Layout& layout_;
  std::uint32_t inside_ = kRoot;
  std::vector<std::size_t> n_own_, n_tokens_;  // of each module, so far
  std::size_t n_pieces_ = 0, n_slots_ = 0, n_modules_ = 1, n_unions_ = 0;
  Position position_ = 0;
  std::vector<OpenUnion> open_;
};

using PiecesOf = std::vector<std::vector<std::uint32_t>>;  // stored ones of each module, in order

PiecesOf pieces_by_module(const Layout& layout) {
  PiecesOf pieces(layout.modules.size());
  for (std::uint32_t i = 0; i < layout.pieces.size(); ++i)
    if (!layout.pieces[i].fresh) pieces[layout.pieces[i].module].push_back(i);
  return pieces;
}

bool is_about_something(const Layout& layout, bool scaffold, std::uint32_t subject) {
  if (!scaffold) return subject < layout.modules.size();
  return subject == kNone || subject < layout.scaffolds.size();
}

// The modules of a scaffold's job; of one of a prompt's modules together, those of which it keeps
// anything.
std::vector<std::uint32_t> joint_modules(const Layout& layout, std::uint32_t subject,
                                         const std::vector<std::uint32_t>& kept) {
  if (subject != kNone) return layout.scaffolds[subject].modules;
  std::vector<std::uint32_t> modules;
  for (const std::uint32_t piece : kept)
    if (piece < layout.pieces.size() && layout.pieces[piece].module != kRoot)
      modules.push_back(layout.pieces[piece].module);
  std::sort(modules.begin(), modules.end());
  modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
  return modules;
}

// Which pieces must a job keep? Of a scaffold those that it lists, and the
// root's behind the first of them, whose place among its modules is the prompt's.
bool keeps_its_pieces(const Layout& layout, const PiecesOf& pieces, bool scaffold,
                      std::uint32_t subject, std::vector<std::uint32_t> kept) {
  std::sort(kept.begin(), kept.end());
  if (!is_about_something(layout, scaffold, subject)) return false;
  if (!scaffold) return kept == pieces[subject];
  std::vector<std::uint32_t> listed;
  for (const std::uint32_t m : joint_modules(layout, subject, kept))
    listed.insert(listed.end(), pieces[m].begin(), pieces[m].end());
  if (listed.empty()) return false;
  std::uint32_t first = UINT32_MAX;
  for (const std::uint32_t i : listed) first = std::min(first, i);
  for (const std::uint32_t i : pieces[kRoot])
    if (i > first) listed.push_back(i);
  std::sort(listed.begin(), listed.end());
  return kept == listed;
}

Status check_job(const Layout& layout, const PiecesOf& pieces, const EncodeJob& job) {
  const std::string name = "job '" + job.name + "' ";
  if (!is_about_something(layout, job.scaffold, job.subject))
    return broken(name + "is about nothing");
  Position end = 0;
  std::vector<std::uint32_t> kept;
  for (const JobRun& run : job.runs) {
    if (run.tokens.empty()) return broken(name + "has an empty run");
    if (run.position < end) return broken(name + "has runs that overlap");
    if (layout.positions == Positions::kCompact && run.position != end)
      return broken(name + "has a gap");
    end = end_of(run.position, run.tokens);
    if (!run.keep) continue;
    if (run.piece >= layout.pieces.size() || run.tokens != layout.pieces[run.piece].tokens)
      return broken(name + "keeps tokens that are not its piece's");
    if (layout.positions == Positions::kSchema && run.position < layout.pieces[run.piece].position)
      return broken(name + "keeps a piece before its schema position");
    kept.push_back(run.piece);
  }
  if (job.runs.empty() || !job.runs.back().keep)
    return broken(name + "ends with tokens that nothing kept sees");
  if (!keeps_its_pieces(layout, pieces, job.scaffold, job.subject, kept))
    return broken(name + "does not keep the pieces it is for");
  return ok();
}

// The kept pieces of a job, in its order.
std::vector<std::uint32_t> kept_pieces(const Layout& layout, const JobSpec& job) {
  std::vector<std::uint32_t> kept;
  for (const JobStep& step : job.steps)
    if (step.keep)
      kept.push_back(step.item < layout.items.size() ? layout.items[step.item].index : kNone);
  return kept;
}

Status check_run(const Layout& layout, const std::vector<std::vector<std::uint32_t>>& kept,
                 const Plan& plan, const PlanRun& run) {
  if (run.kind != RunKind::kCached && run.kind != RunKind::kUncached) return ok();
  if (run.piece >= layout.pieces.size()) return broken("a run is of no piece");
  const Piece& piece = layout.pieces[run.piece];
  if (run.tokens != piece.tokens) return broken("a run's tokens are not its piece's");
  if (layout.positions == Positions::kSchema &&
      (run.position < piece.position || run.position > piece.position + plan.shift))
    return broken("a run stands away from its schema position");
  if (layout.modules[piece.module].cache != (run.kind == RunKind::kCached))
    return broken("a module's cache attribute is not obeyed");
  if (run.kind == RunKind::kUncached) return ok();
  if (run.job >= kept.size()) return broken("a cached run is of no job");
  if (run.job_run >= kept[run.job].size()) return broken("a cached run's job keeps no such run");
  if (kept[run.job][run.job_run] != run.piece)
    return broken("a cached run's job keeps another piece there");
  return ok();
}

// The pieces of a plan's modules: all of a module's or none, with its
// parent's, of one member a union, and always the root's.
Status check_presence(const Layout& layout, const Plan& plan) {
  std::vector<std::uint32_t> seen(layout.pieces.size()), present(layout.modules.size());
  for (const PlanRun& run : plan.runs)
    if (run.kind == RunKind::kCached || run.kind == RunKind::kUncached) ++seen[run.piece];
  present[kRoot] = 1;
  for (std::size_t i = layout.pieces.size(); i-- > 0;)
    for (std::uint32_t m = layout.pieces[i].module; seen[i] > 0 && m != kNone;
         m = layout.modules[m].parent)
      present[m] = 1;
  for (std::size_t i = 0; i < layout.pieces.size(); ++i)
    if (!layout.pieces[i].fresh && seen[i] != present[layout.pieces[i].module])
      return broken("a piece is missing or stands twice");
  std::vector<std::uint32_t> members(layout.unions.size());
  for (std::size_t m = 0; m < layout.modules.size(); ++m)
    if (present[m] && layout.modules[m].union_id != kNone &&
        ++members[layout.modules[m].union_id] > 1)
      return broken("two members of one union are present");
  return ok();
}

}  // namespace

Status check_layout(const Layout& layout) {
  return LayoutChecker(layout).check();
}

Status check_jobs(const Layout& layout, const std::vector<EncodeJob>& jobs) {
  std::vector<std::uint32_t> n_jobs(layout.modules.size());
  const PiecesOf pieces = pieces_by_module(layout);
  for (const EncodeJob& job : jobs) {
    PC_CHECK_OK(check_job(layout, pieces, job));
    if (!job.scaffold) ++n_jobs[job.subject];
  }
  for (std::size_t m = 0; m < layout.modules.size(); ++m)
    if (n_jobs[m] != (layout.modules[m].stored() ? 1 : 0))
      return broken("module '" + layout.modules[m].path + "' has not the one job it needs");
  return ok();
}

Status check_job(const Layout& layout, const EncodeJob& job) {
  return check_job(layout, pieces_by_module(layout), job);
}

Status check_plan(const Layout& layout, const Plan& plan) {
  const PiecesOf pieces = pieces_by_module(layout);
  std::vector<std::vector<std::uint32_t>> kept;  // [plan.jobs]
  for (const JobSpec& job : plan.jobs) {
    for (const JobStep& step : job.steps)
      if (step.stand_in != kNone && (step.keep || step.stand_in >= layout.stand_ins.size()))
        return broken("a job sees a stand-in that there is not, or keeps one");
    kept.push_back(kept_pieces(layout, job));
    if (!keeps_its_pieces(layout, pieces, job.scaffold, job.subject, kept.back()))
      return broken("a job does not keep the pieces it is for");
  }
  Position end = 0;
  for (const PlanRun& run : plan.runs) {
    if (run.tokens.empty()) return broken("a run is empty");
    if (run.position < end) return broken("runs overlap or are out of order");
    if (layout.positions == Positions::kCompact && (run.position != end || run.moved))
      return broken("a compact plan has a gap or moved text");
    end = end_of(run.position, run.tokens);
    PC_CHECK_OK(check_run(layout, kept, plan, run));
  }
  if (plan.end != end) return broken("the plan does not end after its last run");
  return check_presence(layout, plan);
}

}  // namespace pc::pml
