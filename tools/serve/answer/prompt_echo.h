// What an answer that echoes its prompt begins with: the text and, where they were asked for, the
// chances of the prompt's tokens. Throws promptcache::Error.
#pragma once

#include <string>

#include "tools/serve/answer/event.h"
#include "tools/serve/models/served_model.h"

namespace pc::serve {

struct PromptEcho {
  std::string text;
  std::vector<DrawnToken> tokens;
};

// A token as clients are shown it; a control token is spelled.
TokenChance shown(const promptcache::Engine& engine, const pc_token_logprob& token);

// session: that computed the prompt, with prompt_logprobs; null: without tokens. n: of the
// likeliest tokens beside each.
PromptEcho echo_of(const ServedModel& model, const RawPrompt& prompt,
                   const promptcache::Session* session, std::size_t n);

// The token that ended the session's answer, and n of those that it was chosen among.
DrawnToken end_of(const promptcache::Engine& engine, const promptcache::Session& session,
                  std::size_t n);

}  // namespace pc::serve
