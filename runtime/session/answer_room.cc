// Memory of an answer that is about to begin, and what it keeps of one that was drawn before.

#include <algorithm>
#include <string>

#include "pml/syntax/names.h"  // quote
#include "runtime/session/answer.h"

namespace pc {
namespace {

Error does_not_fit(const std::string& why) {
  return error(Code::kInvalidArgument,
               why + ": go back farther, or have the answer drawn otherwise (set_answer)");
}

std::string kept_words(std::size_t n) {
  return std::to_string(n) + (n == 1 ? " token" : " tokens");
}

}  // namespace

Answer::Room Answer::room(std::uint32_t max_tokens, pml::Begins begins,
                          const AnswerOptions* otherwise) const {
  const AnswerOptions& options = otherwise ? *otherwise : options_;
  Room room{max_tokens,
            {},
            begins,
            TextStream(engine_->tokenizer(), options.stop, begins, options.controls),
            AnswerConstraint(options.constraint),
            {},
            {}};
  const std::uint32_t vocab_size = engine_->model().desc.vocab_size;
  if (otherwise) room.otherwise = {options, Sampler(options.sampler, vocab_size)};
  if (options.mask || options.constraint) room.allowed.reserve((vocab_size + 31) / 32);
  // An answer that is longer than the window is one whose window slides.
  room.tokens.reserve(std::min(max_tokens, engine_->context_tokens()));
  return room;
}

// Those that are kept may have been drawn under other options: what a stop string or the constraint
// makes of them is found by reading them again.
Result<Answer::Room> Answer::room_behind(std::span<const TokenId> kept, std::uint32_t max_tokens,
                                         pml::Begins begins, const AnswerOptions* otherwise) const {
  if (kept.size() > max_tokens)
    return does_not_fit("the answer keeps " + kept_words(kept.size()) + ", and max_tokens is " +
                        std::to_string(max_tokens));
  Room behind = room(max_tokens, begins, otherwise);
  for (const TokenId token : kept) {
    const std::string number = std::to_string(behind.tokens.size() + 1);
    if (!behind.constraint.accept(token))
      return does_not_fit("token " + number + " of the " + kept_words(kept.size()) +
                          " that the answer keeps (id " + std::to_string(token) +
                          ") is none that the constraint allows there");
    behind.tokens.push_back(token);
    if (behind.text.push(token)) {
      const AnswerOptions& options = otherwise ? *otherwise : options_;
      const std::string& stop = options.stop[static_cast<std::size_t>(behind.text.stop())];
      return does_not_fit("the stop string " + pml::quote(stop) + " is complete with token " +
                          number + " of the " + kept_words(kept.size()) + " that the answer keeps");
    }
  }
  return behind;
}

}  // namespace pc
