// What a question's prompt would be made of; computes nothing.
#pragma once

#include "tools/serve/models/planner.h"

namespace pc::serve {

// The prompt's own report, and "mode", "used", "exact", "remarks". Throws ApiError.
Json explain(Planner* planner, const Question& question);

}  // namespace pc::serve
