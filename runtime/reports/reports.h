// The JSON reports of the C API: what users see of an engine, a schema and
// a prompt (runtime/reports/store_report.h: of a store). Fields are added over time, never renamed.
//
// They compute no states and pin nothing; a look-up in the store marks a
// file's use and sets a damaged one aside, as a run would. Threads: any.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"  // LoadedPrompt

namespace pc {

std::string describe_build();
std::string describe_engine(const Engine& engine);
std::string describe_schema(const LoadedSchema& schema);

// What a run would do now, segment for segment.
std::string explain_prompt(const LoadedPrompt& prompt);

}  // namespace pc
