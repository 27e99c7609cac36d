#include "tools/serve/answer/prompt_echo.h"

#include <algorithm>
#include <cmath>

namespace pc::serve {
namespace {

float logprob_in(const std::vector<float>& logits, std::int32_t token) {
  const float most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  const double of_token = logits[static_cast<std::size_t>(token)];
  return static_cast<float>(of_token - most - std::log(sum));
}

// Amid a text the first word of some vocabularies begins with a space, which its text does not.
void drop_first_space(PromptEcho* echo) {
  std::string spelled;
  for (const DrawnToken& token : echo->tokens)
    if (!token.is_apart) spelled += token.token.bytes;
  if (spelled != " " + echo->text) return;
  const auto first =
      std::ranges::find_if(echo->tokens, [](const DrawnToken& token) { return !token.is_apart; });
  first->token.bytes.erase(0, 1);
}

}  // namespace

TokenChance shown(const promptcache::Engine& engine, const pc_token_logprob& token) {
  const pc_token_facts facts = engine.token(token.token);
  const std::string bytes = facts.is_control ? std::string(facts.spelling, facts.n_spelling)
                                             : std::string(facts.bytes, facts.n_bytes);
  return {bytes, token.logprob, token.token};
}

PromptEcho echo_of(const ServedModel& model, const RawPrompt& prompt,
                   const promptcache::Session* session, std::size_t n) {
  PromptEcho echo{model.text_of(prompt), {}};
  if (!session) return echo;
  const auto [tokens, has_bos_apart] = model.tokens_of(prompt);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0) {
      echo.tokens.push_back({.token = shown(model.engine(), {tokens[0], 0}),
                             .has_chance = false,
                             .is_apart = has_bos_apart});
      continue;
    }
    const std::vector<pc_token_logprob> all = session->prompt_logprobs(i, n);
    DrawnToken token{.token = shown(model.engine(), all.front())};
    for (std::size_t k = 1; k < all.size(); ++k) token.top.push_back(shown(model.engine(), all[k]));
    echo.tokens.push_back(std::move(token));
  }
  drop_first_space(&echo);
  return echo;
}

DrawnToken end_of(const promptcache::Engine& engine, const promptcache::Session& session,
                  std::size_t n) {
  const std::int32_t end = session.stats().end_token;
  DrawnToken drawn{.token = {}, .is_apart = true};
  pc_token_logprob chance{end, logprob_in(session.logits(), end)};
  for (const pc_token_logprob& top : session.top_logprobs(n)) {
    if (top.token == end) chance = top;
    drawn.top.push_back(shown(engine, top));
  }
  drawn.token = shown(engine, chance);
  return drawn;
}

}  // namespace pc::serve
