// Which modules go from one store to another: those that a command line names.
//
// Throws Failure and promptcache::Error. Threads: one at a time.
#pragma once

#include <promptcache/promptcache.hpp>
#include <set>
#include <string>
#include <vector>

#include "tools/opening/options.h"
#include "tools/output/json.h"

namespace pc::cli {

using ModuleKeys = std::set<std::string>;  // 64 digits each

// The keys of a report's list of modules.
void collect_keys(const Json& modules, ModuleKeys* keys);

// Of a text with a key a line.
ModuleKeys keys_in_lines(const std::string& lines);

// Those of a schema or, where prompts are named, of what these import; opens the model.
ModuleKeys keys_of_schema(const Options& options);

// One of these for each name, which is a key or a beginning that only one of them has.
ModuleKeys keys_named(const std::vector<std::string>& names, const ModuleKeys& known,
                      const std::string& where);

}  // namespace pc::cli
