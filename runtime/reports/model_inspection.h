// A model's files, read as far as they can be: what reports on a model start
// from, whether it can be run or is refused. No weight is read, no backend and
// no store is opened.
//
// Owner, move-only. Threads: const, any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf.h"
#include "runtime/json/json.h"
#include "runtime/model/model.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

struct Inspection {
  std::string path;
  std::string architecture;                    // "" where the files do not say it
  std::unique_ptr<const Model> model;          // null: refused; has no digests
  std::unique_ptr<const Tokenizer> tokenizer;  // null: refused
  // Each reason for which an engine would not open, the model's before the tokenizer's.
  std::vector<Error> problems;

  // Of a refused model: its files, and what they say of themselves, GGUF or a folder.
  Checkpoint refused;                    // {} where they cannot be parsed
  std::optional<GgufMetadata> metadata;  // borrows refused.files
  std::optional<JsonDocument> config;

  const Checkpoint& checkpoint() const { return model ? model->checkpoint : refused; }
};

// context_tokens: as of ModelOptions.
// Errors: only where there is no model to look at (kNotFound).
Result<Inspection> inspect_model(const std::string& path, std::uint32_t context_tokens);

}  // namespace pc
