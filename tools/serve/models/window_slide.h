// A conversation that does not fit the context window, without its oldest turns.
//
// Whole exchanges go, the oldest first: a user's message and what follows it up to the next one's.
// Of a last exchange that is too long by itself, as an agent's, the oldest calls go, each with its
// results. The same turns go when the conversation is asked about again with more behind it, so
// that what was computed of the rest is found; each time that any go, some of the window is free.
// What is left is a conversation as any other: its answer is exact. Threads: any.
#pragma once

#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// Does nothing where it fits, or where not enough may go; else question->n_dropped says how many
// messages went. Throws ApiError where the conversation cannot be written.
void slide_window(const ServedModel& model, Question* question);

}  // namespace pc::serve
