// Answers one question: finds what the store has of the prompt, computes the rest, draws the
// answers, and puts what is new into the store, so that whoever asks next finds it.
//
// Blocks for as long as that takes; several threads may answer at once, and their steps are
// computed together. Computing ends within one step once the answer is not wanted any more; what
// was computed by then is kept all the same.
#pragma once

#include "tools/serve/answer/event.h"
#include "tools/serve/models/planner.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// What goes wrong is an event, too.
void answer(const ServedModel& model, Planner& planner, const Question& question, EventSink* sink);

// Computes the prompt, and puts it into the store. Throws ApiError.
Usage prewarm(const ServedModel& model, Planner& planner, const Question& question);

}  // namespace pc::serve
