// How the modules of a session are repaired: by what it was asked for, what its prompt says, and
// what the schema's verdict is.
//
// A value; what "auto" stands for stays the same for a conversation, and for its forks. Threads:
// one at a time.
#pragma once

#include <optional>
#include <span>

#include "base/status.h"
#include "pml/syntax/repair.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/prompt/repair.h"

namespace pc {

class AskedRepairs {
 public:
  // As SessionOptions::repair and checked_repair.
  AskedRepairs(const std::optional<pml::Repair>& asked, const std::optional<pml::Repair>& checked)
      : asked_(asked), checked_(checked) {}

  // Is any run of this prompt to be repaired that is not exact? Which runs are exact need not be
  // found out otherwise.
  bool any(const LoadedPrompt& prompt) const;
  // Those of runs that are not exact. Errors: LoadedSchema::verdict's.
  Status put(const LoadedPrompt& prompt, std::span<PlacedRun> runs);

 private:
  std::optional<pml::Repair> asked_, checked_;
  std::optional<pml::Repair> verdict_;  // once it was looked up
};

}  // namespace pc
