#include "pml/resolve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "pml/binding.h"
#include "pml/chat_template.h"
#include "pml/names.h"

namespace pc::pml {
namespace {

// Where a piece's states come from: kept run `run` of jobs[job].
struct Source {
  std::uint32_t job = kNone;
  std::uint32_t run = 0;
};
using Sources = std::vector<Source>;  // one for each of Layout::pieces

// A run in the prompt's order; its position comes last.
struct Step {
  PlanRun run;
  std::optional<Position> anchor;  // schema position; none for the prompt's own text
};

Error foreign_jobs(const Layout& layout) {
  return error(Code::kInvalidArgument, "the encode jobs are not those of schema " + quote(layout.schema));
}

// Points the pieces that a job keeps at the job; those already in `claimed` stay.
Status claim(const Layout& layout, const std::vector<EncodeJob>& jobs, std::uint32_t job,
             std::vector<bool>& claimed, Sources& sources) {
  std::uint32_t kept = 0;
  for (const JobRun& run : jobs[job].runs) {
    if (!run.keep) continue;
    if (run.piece >= layout.pieces.size()) return foreign_jobs(layout);
    if (!claimed[run.piece]) sources[run.piece] = {job, kept};
    claimed[run.piece] = true;
    ++kept;
  }
  return ok();
}

// A scaffold serves when all its modules are imported and no larger one has
// taken any of them. Returns the jobs of those that serve, in that order.
std::vector<std::uint32_t> serving_scaffolds(const Layout& layout, const std::vector<EncodeJob>& jobs,
                                             const Binding& binding) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t j = 0; j < jobs.size(); ++j)
    if (jobs[j].scaffold && jobs[j].subject < layout.scaffolds.size()) order.push_back(j);
  const auto modules = [&](std::uint32_t j) -> auto& { return layout.scaffolds[jobs[j].subject].modules; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return modules(a).size() > modules(b).size(); });
  std::vector<bool> taken(layout.modules.size());
  std::erase_if(order, [&](std::uint32_t j) {
    const auto free = [&](std::uint32_t m) { return binding.imported(m) && !taken[m]; };
    if (!std::all_of(modules(j).begin(), modules(j).end(), free)) return true;
    for (const std::uint32_t m : modules(j)) taken[m] = true;
    return false;
  });
  return order;
}

Result<Sources> choose_sources(const Layout& layout, const std::vector<EncodeJob>& jobs, const Binding& binding) {
  Sources sources(layout.pieces.size());
  std::vector<bool> claimed(layout.pieces.size());
  for (const std::uint32_t j : serving_scaffolds(layout, jobs, binding))
    PC_CHECK_OK(claim(layout, jobs, j, claimed, sources));
  for (std::uint32_t j = 0; j < jobs.size(); ++j)
    if (!jobs[j].scaffold) PC_CHECK_OK(claim(layout, jobs, j, claimed, sources));
  return sources;
}

// Walks the layout with the prompt's text in its places.
class Flattener {
 public:
  Flattener(const Layout& layout, const Binding& binding, const Sources& sources, const TextEncoder& encoder)
      : layout_(layout), binding_(binding), sources_(sources), encoder_(encoder) {}

  Result<std::vector<Step>> flatten();

 private:
  Status take(Item item);
  Status take_piece(std::uint32_t index);
  void take_argument(std::uint32_t slot);
  Status write(const std::vector<Written>& all);
  Status open_role(const PromptNode& node);
  Status add_markup(Place place, const std::string& text);
  Status add_fresh(RunKind kind, Place place, Tokens tokens);

  const Layout& layout_;
  const Binding& binding_;
  const Sources& sources_;
  const TextEncoder& encoder_;
  std::vector<Step> steps_;
  std::uint64_t n_fresh_ = 0;
  std::optional<Role> last_role_;
  bool in_role_ = false;
  bool ended_ = false;                        // does the text so far end with last_role_'s turn?
  const PromptNode* prompt_role_ = nullptr;   // the open role element of the prompt
};

Result<std::vector<Step>> Flattener::flatten() {
  for (std::uint32_t i = 0; i < layout_.items.size(); ++i) {
    const Item item = layout_.items[i];
    if (item.kind == ItemKind::kOpenModule && !binding_.imported(item.index))
      i = layout_.modules[item.index].close_item;
    else
      PC_CHECK_OK(take(item));
  }
  PC_CHECK_OK(write(binding_.modules[kRoot].at_end));
  if (ended_ && last_role_ == Role::kUser)
    PC_CHECK_OK(add_markup({}, encoder_.chat->generation_prefix));
  return std::move(steps_);
}

Status Flattener::take(Item item) {
  switch (item.kind) {
    case ItemKind::kPiece: return take_piece(item.index);
    case ItemKind::kSlot: take_argument(item.index); break;
    case ItemKind::kOpenModule: return write(binding_.modules[item.index].before);
    case ItemKind::kCloseModule: return write(binding_.modules[item.index].at_end);
    case ItemKind::kOpenRole:
      if (prompt_role_)
        return broken_rule(prompt_role_->place, std::string("this <") + role_name(prompt_role_->role) +
                                                    "> would enclose the schema's <" +
                                                    role_name(static_cast<Role>(item.index)) +
                                                    ">; close it before the import that follows");
      last_role_ = static_cast<Role>(item.index);
      in_role_ = true;
      ended_ = false;
      break;
    case ItemKind::kCloseRole:
      in_role_ = false;
      ended_ = true;
      break;
    case ItemKind::kBareText: ended_ = false; break;
    case ItemKind::kOpenUnion:
    case ItemKind::kCloseUnion: break;
  }
  return ok();
}

Status Flattener::take_piece(std::uint32_t index) {
  const Piece& piece = layout_.pieces[index];
  const Module& module = layout_.modules[piece.module];
  const Source source = sources_[index];
  if (module.cache == (source.job == kNone)) return foreign_jobs(layout_);
  PlanRun run;
  run.kind = module.cache ? RunKind::kCached : RunKind::kUncached;
  run.tokens = piece.tokens;
  run.label = module.path;
  run.piece = index;
  if (module.cache) run.job = source.job, run.job_run = source.run;
  steps_.push_back({std::move(run), piece.position});
  return ok();
}

void Flattener::take_argument(std::uint32_t index) {
  const Slot& slot = layout_.slots[index];
  const Tokens& tokens = binding_.arguments[index];
  if (tokens.empty()) return;
  PlanRun run;
  run.kind = RunKind::kArgument;
  run.tokens = tokens;
  run.label = layout_.modules[slot.module].path + "." + slot.name;
  steps_.push_back({std::move(run), slot.position});
  ended_ = false;
}

Status Flattener::write(const std::vector<Written>& all) {
  for (const Written& written : all) {
    const PromptNode& node = *written.node;
    switch (written.what) {
      case Written::What::kText: {
        auto tokens = encoder_.text(node.text);
        if (!tokens.ok()) return at(node.place, std::move(tokens).error());
        PC_CHECK_OK(add_fresh(RunKind::kText, node.place, std::move(*tokens)));
        ended_ = false;
        break;
      }
      case Written::What::kOpenRole: PC_CHECK_OK(open_role(node)); break;
      case Written::What::kCloseRole:
        PC_CHECK_OK(add_markup(node.place, role_suffix(*encoder_.chat, node.role)));
        prompt_role_ = nullptr;
        in_role_ = false;
        ended_ = true;
        break;
    }
  }
  return ok();
}

Status Flattener::open_role(const PromptNode& node) {
  if (!encoder_.chat) return missing_chat_template(node.place, node.role);
  if (in_role_)
    return broken_rule(node.place, std::string("this <") + role_name(node.role) + "> would stand inside the schema's <" +
                                       role_name(*last_role_) + ">; move it after the imports that are in it");
  PC_CHECK_OK(add_markup(node.place, role_prefix(*encoder_.chat, node.role, last_role_)));
  last_role_ = node.role;
  in_role_ = true;
  ended_ = false;
  prompt_role_ = &node;
  return ok();
}

Status Flattener::add_markup(Place place, const std::string& text) {
  if (text.empty()) return ok();
  auto tokens = encoder_.markup(text);
  if (!tokens.ok()) return at(place, std::move(tokens).error());
  return add_fresh(RunKind::kRole, place, std::move(*tokens));
}

Status Flattener::add_fresh(RunKind kind, Place place, Tokens tokens) {
  if (tokens.empty()) return ok();
  n_fresh_ += tokens.size();
  if (n_fresh_ > kMaxLayoutTokens)
    return broken_rule(place, "the prompt's own text has more than " + std::to_string(kMaxLayoutTokens) + " tokens");
  PlanRun run;
  run.kind = kind;
  run.tokens = std::move(tokens);
  steps_.push_back({std::move(run), std::nullopt});
  return ok();
}

Position length(const Step& step) { return static_cast<Position>(step.run.tokens.size()); }

// No gaps: everything follows what is before it.
Position place_compact(std::vector<Step>& steps) {
  Position end = 0;
  for (Step& step : steps) {
    step.run.position = end;
    end += length(step);
  }
  return end;
}

// Pieces and arguments at their schema positions. What the prompt writes
// between two of them stays there if all of it fits, else it moves behind
// everything; what it writes last follows.
Position place_at_schema(std::vector<Step>& steps) {
  const auto place = [](auto first, auto last, Position position, bool moved) {
    for (; first != last; position += length(*first), ++first) {
      first->run.position = position;
      first->run.moved = moved;
    }
    return position;
  };
  const auto anchored = [](const Step& step) { return step.anchor.has_value(); };
  std::vector<std::pair<std::size_t, std::size_t>> behind;  // [first, last) of steps
  Position end = 0;
  for (auto step = steps.begin(); step != steps.end();) {
    if (step->anchor) {
      end = place(step, step + 1, *step->anchor, false);
      ++step;
      continue;
    }
    const auto next = std::find_if(step, steps.end(), anchored);
    Position size = 0;
    for (auto s = step; s != next; ++s) size += length(*s);
    if (next != steps.end() && size <= *next->anchor - end)
      end = place(step, next, end, false);
    else
      behind.emplace_back(step - steps.begin(), next - steps.begin());
    step = next;
  }
  for (const auto& [first, last] : behind)
    end = place(steps.begin() + first, steps.begin() + last, end, last != steps.size());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.run.position < b.run.position; });
  return end;
}

}  // namespace

Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const std::vector<EncodeJob>& jobs,
                     const TextEncoder& encoder) {
  PC_TRY(const Binding binding, bind(prompt, layout, encoder));
  PC_TRY(const Sources sources, choose_sources(layout, jobs, binding));
  PC_TRY(std::vector<Step> steps, Flattener(layout, binding, sources, encoder).flatten());
  Plan plan;
  plan.schema = layout.schema;
  plan.end = layout.positions == Positions::kCompact ? place_compact(steps) : place_at_schema(steps);
  for (Step& step : steps) plan.runs.push_back(std::move(step.run));
  return plan;
}

}  // namespace pc::pml
