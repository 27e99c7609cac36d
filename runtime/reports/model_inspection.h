// A model's files, read as far as they can be: what reports on a model start
// from, whether it can be run or is refused. No weight is read, no backend and
// no store is opened.
//
// Owner, move-only. Threads: const, any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf.h"
#include "runtime/json/json.h"
#include "runtime/model/model.h"
#include "runtime/tokenizer/tokenizer.h"

namespace pc {

struct Inspection {
  std::string path;
  std::string architecture;                    // "" where the files do not say it
  std::unique_ptr<const Model> model;          // null: refused; has no digests
  std::unique_ptr<const Tokenizer> tokenizer;  // null: refused
  TensorMap tensors;                           // views into files(); {} where they cannot be parsed
  // Each reason for which an engine would not open, the model's before the tokenizer's.
  std::vector<Error> problems;

  // Of a refused model: its files, and what they say of themselves, GGUF or a folder.
  std::vector<MappedFile> unbound_files;
  std::optional<GgufMetadata> metadata;  // borrows unbound_files
  std::optional<JsonDocument> config;

  std::span<const MappedFile> files() const { return model ? model->files : unbound_files; }
};

// context_tokens: as of ModelOptions.
// Errors: only where there is no model to look at (kNotFound).
Result<Inspection> inspect_model(const std::string& path, std::uint32_t context_tokens);

}  // namespace pc
