#include "pml/plan/resolve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "pml/layout/binding.h"
#include "pml/layout/encode_cost.h"
#include "pml/layout/flat_prompt.h"
#include "pml/plan/placement.h"
#include "pml/plan/prompt_text.h"
#include "pml/plan/sources.h"
#include "pml/syntax/names.h"
#include "pml/turns/chat_template.h"

namespace pc::pml {
namespace {

// The tokens of the prompt's turns as the modules in them see them.
Result<std::vector<TurnTokens>> turn_tokens(const FlatPrompt& flat, const TurnTexts& texts,
                                            const TextEncoder& encoder) {
  std::vector<TurnTokens> turns(flat.turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (!flat.turns[i].node) continue;
    const TextSpan open{texts.turns[i].open, true}, close{texts.turns[i].close, true};
    PC_TRY(turns[i].open, encoder.one(open, false));
    PC_TRY(turns[i].opening, encoder.one(open, true));
    PC_TRY(turns[i].close, encoder.one(close, false));
  }
  return turns;
}

// Before any job is made.
Status check_cost(const Prompt& prompt, const Layout& layout, const FlatPrompt& flat,
                  const std::vector<TurnTokens>& turns) {
  if (encoding_cost(layout, flat, turns) <= kMaxEncodingCost) return ok();
  return broken_rule(
      prompt.place, "with what opens this prompt's turns, encoding schema " + quote(layout.schema) +
                        " would read more than " + std::to_string(kMaxEncodingCost) +
                        " tokens over all modules; import fewer modules inside turns");
}

// The plan's runs in the prompt's order.
class RunWriter {
 public:
  RunWriter(const Layout& layout, const Binding& binding, const Sources& sources, PromptText& text)
      : layout_(layout), binding_(binding), sources_(sources), text_(text) {}

  Result<std::vector<Step>> write(const FlatPrompt& flat) {
    for (const FlatStep& step : flat.steps) PC_CHECK_OK(add(step));
    if (flat.opens_answer) text_.open_answer();
    PC_CHECK_OK(text_.flush(steps_));
    return std::move(steps_);
  }

 private:
  // A view, so no conditional that would make a string of its own.
  std::string_view tail_behind(const FlatStep& step) const {
    if (step.behind == kNone) return {};
    return layout_.turns[step.behind].tail;
  }

  Status add(const FlatStep& step) {
    switch (step.what) {
      case FlatStep::What::kPiece:
        return add_piece(step.index);
      case FlatStep::What::kSlot:
        return add_argument(step.index);
      case FlatStep::What::kText:
        text_.add(*step.node, tail_behind(step));
        break;
      case FlatStep::What::kOpenTurn:
        text_.open_turn(step.index);
        break;
      case FlatStep::What::kCloseTurn:
        text_.close_turn(step.index, step.item);
        break;
      case FlatStep::What::kOpenModule:
      case FlatStep::What::kCloseModule:
        break;
    }
    return ok();
  }

  Status add_piece(std::uint32_t index) {
    PC_CHECK_OK(text_.flush(steps_));
    const Piece& piece = layout_.pieces[index];
    const Module& module = layout_.modules[piece.module];
    const Source source = sources_.of_piece[index];
    PlanRun run;
    run.kind = module.cache ? RunKind::kCached : RunKind::kUncached;
    run.tokens = piece.tokens;
    run.label = module.path;
    run.piece = index;
    run.cache = module.may_be_stored;
    if (module.cache) run.job = source.job, run.job_run = source.run;
    steps_.push_back({std::move(run), piece.position});
    return ok();
  }

  Status add_argument(std::uint32_t index) {
    const Slot& slot = layout_.slots[index];
    if (binding_.arguments[index].empty()) return ok();
    PC_CHECK_OK(text_.flush(steps_));
    PlanRun run;
    run.kind = RunKind::kArgument;
    run.tokens = binding_.arguments[index];
    run.label = layout_.modules[slot.module].path + "." + slot.name;
    run.cache = layout_.modules[slot.module].may_be_stored;
    steps_.push_back({std::move(run), slot.position});
    return ok();
  }

  const Layout& layout_;
  const Binding& binding_;
  const Sources& sources_;
  PromptText& text_;
  std::vector<Step> steps_;
};

// In the schema layout a user's turn that had no room may have become the last.
Status open_moved_answer(const TurnTexts& texts, const TextEncoder& encoder, FlatPrompt& flat,
                         std::vector<Step>& steps, Placement& placement) {
  if (flat.opens_answer || steps.empty() || !steps.back().ends_user) return ok();
  flat.ends_bare = false;
  flat.opens_answer = true;
  Step step;
  step.run.kind = RunKind::kRole;
  PC_TRY(step.run.tokens, encoder.one({texts.answer, true}, false));
  if (step.run.tokens.empty()) return ok();
  step.run.position = placement.end;
  placement.end += static_cast<Position>(step.run.tokens.size());
  steps.push_back(std::move(step));
  return ok();
}

OpenChat open_chat(const FlatPrompt& flat, const TurnTexts& texts) {
  OpenChat chat;
  for (const FlatTurn& turn : flat.turns) chat.roles.push_back(turn.role);
  chat.texts = texts;
  return chat;
}

void remark_placement(const Plan& plan, std::vector<std::string>& remarks) {
  const auto moved = [](const PlanRun& run) { return run.moved; };
  if (std::any_of(plan.runs.begin(), plan.runs.end(), moved))
    remarks.push_back(
        "text of the prompt does not fit in the gap where it is written and stands behind "
        "everything; positions=\"compact\" leaves it in its place");
  if (plan.shift > 0)
    remarks.push_back(
        "a turn begins or ends where the schema leaves no room for that: what follows "
        "stands up to " +
        std::to_string(plan.shift) + " positions later than in the schema");
}

}  // namespace

Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder,
                     const StoredStates& stored) {
  PC_TRY(const Binding binding, bind(prompt, layout, encoder));
  PC_TRY(FlatPrompt flat, flatten(layout, binding));
  PC_TRY(const TurnTexts texts, read_turns(prompt, layout, encoder, flat));
  PC_TRY(const std::vector<TurnTokens> turns, turn_tokens(flat, texts, encoder));
  PC_CHECK_OK(check_cost(prompt, layout, flat, turns));
  Sources sources = choose_sources(layout, binding, flat, turns, stored);

  const auto place = layout.positions == Positions::kCompact ? place_compact : place_at_schema;
  const auto write = [&](bool may_open) -> Result<std::vector<Step>> {
    PromptText text(layout, flat, texts, encoder, may_open);
    return RunWriter(layout, binding, sources, text).write(flat);
  };
  PC_TRY(std::vector<Step> steps, write(true));
  Placement placement = place(steps);
  // What did not fit where it stands no longer opens the text.
  const auto lost_opening = [](const Step& step) { return step.opening && step.run.moved; };
  if (std::any_of(steps.begin(), steps.end(), lost_opening)) {
    PC_TRY(steps, write(false));
    placement = place(steps);
  }
  PC_CHECK_OK(open_moved_answer(texts, encoder, flat, steps, placement));
  if (flat.ends_bare)
    flat.remarks.push_back(
        "text stands outside of all turns behind the last <user>, so no <assistant> turn is opened "
        "for the answer");
  Plan plan;
  plan.schema = layout.schema;
  plan.jobs = std::move(sources.jobs);
  plan.end = placement.end;
  plan.shift = placement.shift;
  plan.remarks = std::move(flat.remarks);
  for (Step& step : steps) plan.runs.push_back(std::move(step.run));
  if (flat.opens_answer) plan.chat = open_chat(flat, texts);
  remark_placement(plan, plan.remarks);
  return plan;
}

}  // namespace pc::pml
