// The next turn of a conversation, made ready while nobody waits: templates write an answer
// otherwise once a turn follows it (thoughts go, calls are written anew), so that what was computed
// of it serves no longer. What is to come in its place is computed before it is asked for, and
// kept; the next request computes its new message alone.
//
// Exact: it is what the template makes of the history. Threads: any.
#pragma once

#include <cstdint>
#include <functional>

#include "tools/serve/models/idle_work.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// Fewer that are missing are as soon computed with the new message; more are not worth the energy,
// perhaps for nothing.
inline constexpr std::uint64_t kLeastPrepared = 32, kMostPrepared = 4096;

// next: the conversation with the answer, and something behind it. on_prepared is told of tokens
// that were computed, on the job's thread. Borrows the model.
IdleWork::Job preparation(const ServedModel& model, Question next,
                          std::function<void(std::uint64_t n_tokens)> on_prepared);

}  // namespace pc::serve
