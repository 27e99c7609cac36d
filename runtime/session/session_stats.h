// What is counted of a session: of what stands before its answer, of the answer, of its window.
//
// Values. Threads: any.
#pragma once

#include <cstdint>

#include "pml/turns/text_encoder.h"      // TokenId
#include "runtime/conversation/parts.h"  // Dropped

namespace pc {

enum class Finish : std::uint32_t { kNone, kEos, kStop, kLength, kCancelled };

// Of the prompt, or of what was appended last or gone back to.
struct ReadStats {
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, computed_tokens = 0;
  std::uint64_t chained_tokens = 0;   // of cached_tokens: from a chain, exact
  std::uint64_t moved_tokens = 0;     // of these: at a new place, approximate
  std::uint64_t encoded_tokens = 0;   // of cached_tokens: of modules that were encoded for it
  std::uint64_t repaired_tokens = 0;  // of computed_tokens: of modules
  std::uint32_t modules_found = 0, modules_encoded = 0;
  std::uint64_t cached_bytes = 0;  // K/V of modules and links, used where it lies
  std::uint64_t plan_us = 0, lookup_us = 0, encode_us = 0, prefill_us = 0;
  std::uint64_t ttft_us = 0;  // all of these, and the first draw
};

struct AnswerStats {
  std::uint64_t generated_tokens = 0;
  std::uint64_t drafted_tokens = 0;  // computed before they were drawn, or others were
  std::uint64_t right_drafts = 0;    // of these, and of generated_tokens
  std::uint64_t decode_us = 0;       // tokens after the first
  Finish finish = Finish::kNone;
  std::int32_t stop = -1;  // of the stop strings, the one that ended the answer; -1: none did
  TokenId end_token = -1;  // drawn, and ended the turn; -1: none did
};

struct SessionStats : ReadStats, AnswerStats, Dropped {};

}  // namespace pc
