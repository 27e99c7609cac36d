// What a schema and a prompt come to, in numbers.
//
// They compute no states and pin nothing; a look-up in the store marks a file's use. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/prompt/loaded_prompt.h"

namespace pc {

struct SchemaCounts {
  std::uint32_t modules = 0, scaffolds = 0;
  std::uint64_t tokens = 0;
  std::uint64_t stored_bytes = 0;  // of the files of all modules and scaffolds
};

SchemaCounts count_schema(const LoadedSchema& schema);

struct PromptCounts {
  std::uint64_t tokens = 0;
  std::uint64_t module_tokens = 0;       // cached runs, found or not
  std::uint64_t approximate_tokens = 0;  // of these, of runs that are not exact
  std::uint64_t repaired_tokens = 0;     // of the approximate ones, computed anew
  std::uint64_t chained_tokens = 0;      // of links that the store has
  std::uint32_t modules = 0, modules_missing = 0;
};

PromptCounts count_prompt(const LoadedPrompt& prompt);

// A run of the prompt whose states a module has.
struct LookedRun {
  std::size_t begin = 0, n_tokens = 0;  // which of the prompt's tokens
  enum class State : std::uint8_t { kMissing, kStored, kHeld } state = State::kMissing;
  bool exact = false;
  pml::Repair repair;  // kAuto: no check of answers has chosen one yet
  std::string why;     // why the module is missing, or why no repair is chosen
};

struct PromptLook {
  PromptCounts counts;
  std::vector<LookedRun> runs;  // in order
};

// Counts and runs, by looking each module up once.
PromptLook look_at_prompt(const LoadedPrompt& prompt);

// A prompt's runs with the repairs that a session would use. A run keeps kAuto where no check of
// answers has chosen a repair yet; a session refuses that.
std::vector<PlacedRun> settled_runs(const LoadedPrompt& prompt);

// Up to which position the links of the prompt's chain are known before anything is computed: up to
// the first run for which a session must find out by computing which tokens it computes anew.
Position chain_known_until(const LoadedPrompt& prompt, std::span<const PlacedRun> runs);

}  // namespace pc
