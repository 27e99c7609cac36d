#include "pml/resolve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "pml/binding.h"
#include "pml/chat_template.h"
#include "pml/placement.h"
#include "pml/sources.h"

namespace pc::pml {
namespace {

// Walks the layout with the prompt's text in its places.
class Flattener {
 public:
  // `may_open`: the prompt's markup may be what opens the text.
  Flattener(const Layout& layout, const Binding& binding, const Sources& sources,
            const TextEncoder& encoder, bool may_open)
      : layout_(layout),
        binding_(binding),
        sources_(sources),
        encoder_(encoder),
        may_open_(may_open) {}

  Result<std::vector<Step>> flatten();

 private:
  Status take(Item item);
  Status take_piece(std::uint32_t index);
  void take_argument(std::uint32_t slot);
  Status write(const std::vector<Written>& all);
  Status open_role(const PromptNode& node);
  Status add_markup(Place place, const std::string& text);
  bool opening() const;
  Status add_fresh(RunKind kind, Place place, Tokens tokens);

  const Layout& layout_;
  const Binding& binding_;
  const Sources& sources_;
  const TextEncoder& encoder_;
  const bool may_open_;
  std::vector<Step> steps_;
  std::uint64_t n_fresh_ = 0;
  std::optional<Role> last_role_;
  bool in_role_ = false;
  bool ended_ = false;                       // does the text so far end with last_role_'s turn?
  const PromptNode* prompt_role_ = nullptr;  // the open role element of the prompt
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
        return broken_rule(prompt_role_->place, std::string("this <") +
                                                    role_name(prompt_role_->role) +
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
        if (!tokens->empty()) ended_ = false;
        PC_CHECK_OK(add_fresh(RunKind::kText, node.place, std::move(*tokens)));
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
    return broken_rule(node.place, std::string("this <") + role_name(node.role) +
                                       "> would stand inside the schema's <" +
                                       role_name(*last_role_) +
                                       ">; move it after the imports that are in it");
  PC_CHECK_OK(add_markup(node.place, role_prefix(*encoder_.chat, node.role, last_role_)));
  last_role_ = node.role;
  in_role_ = true;
  ended_ = false;
  prompt_role_ = &node;
  return ok();
}

// Does nothing but BOS stand before this place?
bool Flattener::opening() const {
  if (!may_open_) return false;
  if (!encoder_.bos) return steps_.empty();
  return steps_.size() == 1 && steps_[0].run.tokens == Tokens{*encoder_.bos};
}

Status Flattener::add_markup(Place place, const std::string& text) {
  if (text.empty()) return ok();
  const bool opens = opening();
  auto tokens = opens ? encoder_.opening_markup(text) : encoder_.markup(text);
  if (!tokens.ok()) return at(place, std::move(tokens).error());
  PC_CHECK_OK(add_fresh(RunKind::kRole, place, std::move(*tokens)));
  if (opens && !steps_.empty()) steps_.back().opening = true;
  return ok();
}

Status Flattener::add_fresh(RunKind kind, Place place, Tokens tokens) {
  if (tokens.empty()) return ok();
  n_fresh_ += tokens.size();
  if (n_fresh_ > kMaxLayoutTokens)
    return broken_rule(place, "the prompt's own text has more than " +
                                  std::to_string(kMaxLayoutTokens) + " tokens");
  PlanRun run;
  run.kind = kind;
  run.tokens = std::move(tokens);
  steps_.push_back({std::move(run), std::nullopt});
  return ok();
}

}  // namespace

Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const std::vector<EncodeJob>& jobs,
                     const TextEncoder& encoder) {
  PC_TRY(const Binding binding, bind(prompt, layout, encoder));
  PC_TRY(const Sources sources, choose_sources(layout, jobs, binding));
  const auto place = layout.positions == Positions::kCompact ? place_compact : place_at_schema;
  Plan plan;
  plan.schema = layout.schema;
  PC_TRY(std::vector<Step> steps, Flattener(layout, binding, sources, encoder, true).flatten());
  plan.end = place(steps);
  // What did not fit where it stands no longer opens the text.
  const auto lost_opening = [](const Step& step) { return step.opening && step.run.moved; };
  if (std::any_of(steps.begin(), steps.end(), lost_opening)) {
    PC_TRY(steps, Flattener(layout, binding, sources, encoder, false).flatten());
    plan.end = place(steps);
  }
  for (Step& step : steps) plan.runs.push_back(std::move(step.run));
  return plan;
}

}  // namespace pc::pml
