// A check of answers, as JSON.
//
// Pure. Threads: any.
#pragma once

#include <string>

#include "runtime/checks/answer_check.h"

namespace pc {

// kept: repair="auto" finds the verdict after this process, too.
std::string report_answers(const LoadedSchema& schema, const AnswerCheck& check, bool kept);

}  // namespace pc
