#include "runtime/conversation/turn_plan.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "pml/syntax/elements.h"  // kWhiteSpace

namespace pc {
namespace {

using pml::PlanRun;
using pml::RunKind;

// How many of the runs are read before what closes this turn: its text is the last of them, or its
// opening where it has none.
std::size_t n_until_closing(const pml::Plan& plan, std::uint32_t turn) {
  const auto of_turn = [turn](const PlanRun& run) { return run.turn == turn; };
  const auto text = std::find_if(plan.runs.rbegin(), plan.runs.rend(), [&](const PlanRun& run) {
    return of_turn(run) && run.kind == RunKind::kText;
  });
  if (text != plan.runs.rend()) return static_cast<std::size_t>(plan.runs.rend() - text);
  const auto first = std::ranges::find_if(
      plan.runs, [&](const PlanRun& run) { return run.turn != pml::kNone && run.turn >= turn; });
  const bool is_opening =
      first != plan.runs.end() && of_turn(*first) && !plan.chat->texts.turns[turn].open.empty();
  return static_cast<std::size_t>(first - plan.runs.begin()) + (is_opening ? 1 : 0);
}

// Does what was read stand where it stood? The answer's opening, the prompt's last run, is the
// opening of a turn now.
bool begins_alike(const pml::Plan& before, std::span<const PlanRun> runs) {
  const std::size_t n = before.runs.size() - (before.chat->texts.answer.empty() ? 0 : 1);
  if (runs.size() < n) return false;
  return std::equal(before.runs.begin(), before.runs.begin() + static_cast<std::ptrdiff_t>(n),
                    runs.begin(), [](const PlanRun& a, const PlanRun& b) {
                      return a.position == b.position && a.tokens == b.tokens;
                    });
}

// Is the answer's text, or its opening, all that this run spells at its end? A token of it may
// reach into what closes the turn.
bool ends_with_answer(const Tokenizer& tokenizer, const PlanRun& run, const pml::TurnText& turn,
                      std::string_view said) {
  std::string text;
  for (const TokenId token : run.tokens)
    tokenizer.append_bytes(token, &text, Tokenizer::Controls::kSpell);
  if (turn.trims_right) said = said.substr(0, said.find_last_not_of(pml::kWhiteSpace) + 1);
  if (turn.trims_left)
    said.remove_prefix(std::min(said.find_first_not_of(pml::kWhiteSpace), said.size()));
  return text.ends_with(said.empty() ? turn.open : said);
}

}  // namespace

std::size_t schema_runs(std::span<const PlanRun> runs) {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [](const PlanRun& run) {
    return run.kind != RunKind::kText && run.kind != RunKind::kRole;
  }));
}

Result<TurnPlan> plan_turns(const LoadedPrompt& prompt, const std::vector<pml::PromptNode>& said,
                            const std::vector<pml::PromptNode>& turns, std::size_t n_schema_runs) {
  LoadedSchema& schema = *prompt.schema;
  if (schema.layout().positions != pml::Positions::kCompact)
    return error(Code::kUnsupported,
                 "modules cannot be appended in a schema with positions=\"schema\"; open a "
                 "session with all of the conversation");
  pml::Prompt all = prompt.written;
  all.children.insert(all.children.end(), said.begin(), said.end());
  all.children.insert(all.children.end(), turns.begin(), turns.end());
  PC_TRY(pml::Plan plan, schema.plan(all, LoadedSchema::Together::kNever));
  const auto answer = static_cast<std::uint32_t>(prompt.plan.chat->roles.size() + said.size() - 1);
  const auto refuse = [](const char* why) {
    return error(Code::kUnsupported,
                 std::string(why) + "; open a session with all of the conversation");
  };
  constexpr const char* kMoves =
      "a module of these turns would stand before the answer, where the schema has it";
  if (!plan.chat) return refuse(kMoves);
  const std::size_t n = n_until_closing(plan, answer);
  const std::span<PlanRun> runs(plan.runs);
  if (!begins_alike(prompt.plan, runs) || schema_runs(runs.first(n)) != n_schema_runs)
    return refuse(kMoves);
  const std::string& text = said.back().children.front().text;
  const pml::TurnText& turn = plan.chat->texts.turns[answer];
  if (n > 0 && !ends_with_answer(schema.engine().tokenizer(), runs[n - 1], turn, text))
    return refuse("a token of the answer's text reaches into what closes its turn");
  TurnPlan behind;
  behind.runs.assign(std::make_move_iterator(runs.begin() + static_cast<std::ptrdiff_t>(n)),
                     std::make_move_iterator(runs.end()));
  behind.modules = schema.modules_of(plan);
  return behind;
}

}  // namespace pc
