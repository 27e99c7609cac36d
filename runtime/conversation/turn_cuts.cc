#include "runtime/conversation/turn_cuts.h"

#include <optional>

namespace pc {

// A turn that begins with a module begins to say something there, and one whose opening shares its
// last token with the text behind it, with that token.
std::vector<Cut> cuts_of(const LoadedPrompt& prompt) {
  std::vector<Cut> cuts;
  if (!prompt.plan.chat) return cuts;
  const pml::OpenChat& chat = *prompt.plan.chat;
  const Tokenizer& tokenizer = prompt.schema->engine().tokenizer();
  const pml::PlanRun* opening = nullptr;
  std::optional<Position> begin;  // of what a turn says
  for (const pml::PlanRun& run : prompt.plan.runs) {
    if (run.kind == pml::RunKind::kRole) {
      begin.reset();
      opening = &run;
      continue;
    }
    if (!begin) begin = run.position;
    if (run.kind != pml::RunKind::kText || run.turn == pml::kNone) continue;
    if (begin == run.position && opening &&
        reaches_beyond(tokenizer, opening->tokens, chat.texts.turns[run.turn].open))
      begin = run.position - 1;
    const bool is_users = chat.roles[run.turn] == pml::Role::kUser;
    if (is_users && (cuts.empty() || cuts.back().turn != run.turn))
      cuts.push_back({*begin, run.turn});
  }
  return cuts;
}

}  // namespace pc
