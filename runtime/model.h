// A loaded checkpoint: mapped weights, the shape that the backend computes,
// and what the rest of the runtime must know about it.
//
// Owner, immutable after load, move-only: the desc() points into it and into
// its mapped files. Threads: const, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"         // Digest
#include "base/mapped_file.h"  // weights stay in their files
#include "base/status.h"
#include "runtime/backend.h"  // pc_model_desc

namespace pc {

struct Model {
  std::string path;                  // the folder it was loaded from
  std::string architecture;          // "LlamaForCausalLM"
  std::string family;                // "llama"
  std::uint32_t context_tokens = 0;  // max_position_embeddings: the context window
  std::vector<std::int32_t> eos;     // ids that end a generation
  std::optional<std::int32_t> bos;   // from config.json; the tokenizer decides whether it is used

  pc_model_desc desc{};           // views into the members below
  std::vector<pc_layer> layers;   // [n_layers]
  std::vector<double> inv_freq;   // [rope_dims / 2]
  std::vector<MappedFile> files;  // keep the weights alive

  Digest
      weights_digest{};  // over every tensor's name, type, shape and bytes, and the hyperparameters
  Digest rope_digest{};  // over inv_freq, rope_dims and rope_scale
  std::uint64_t weight_bytes = 0;
  std::uint64_t n_parameters = 0;
};

// Loads a Hugging Face folder: config.json and *.safetensors. Errors name the
// file, the field or the tensor, and what is supported.
Result<std::unique_ptr<Model>> load_model(const std::string& folder);

}  // namespace pc
