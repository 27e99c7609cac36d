// A loaded checkpoint: mapped weights, the shape that the backend computes,
// and what the rest of the runtime must know about it.
//
// Owner, immutable after load, move-only: desc points into it and into its mapped
// files. Threads: const, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/hash.h"  // Digest
#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_model_desc
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/model/pooling.h"
#include "runtime/model/remembered_digest.h"  // DigestMemory

namespace pc {

// How a query knows the position of a key.
enum class PositionScheme { kNone, kRotary, kAlibi, kLearned };

// "rotary", "alibi", "learned", "none"
const char* position_scheme_name(PositionScheme scheme);

struct Model {
  std::string path;                  // what it was loaded from: a folder, or a GGUF file
  std::string format;                // "safetensors" or "gguf"
  std::string architecture;          // "LlamaForCausalLM"; GGUF: "llama"
  std::string family;                // "llama"
  std::uint32_t context_tokens = 0;  // the context window that it was trained for
  std::vector<std::int32_t> eos;     // ids that end a generation
  std::optional<std::int32_t> bos;   // from the configuration; the tokenizer decides its use
  PoolingRule pooling;               // of vectors of whole texts

  pc_model_desc desc{};                          // views into the members below
  std::vector<pc_layer> layers;                  // [n_layers]
  std::deque<std::vector<pc_ffn>> experts;       // that layers view
  std::deque<std::vector<pc_tensor>> latent;     // likewise
  std::vector<pc_rope> ropes;                    // of the context window that was opened
  std::vector<std::vector<double>> inv_freqs;    // [ropes][dims / 2]
  std::vector<float> alibi_slopes;               // [n_heads], or {}
  Checkpoint checkpoint;                         // keeps the weights alive
  std::vector<AlignedBuffer<std::byte>> copies;  // matrices that had to be rearranged
  std::vector<float> folded;                     // TensorBinder::folded()

  Digest weights_digest{};  // over every tensor's name, type, shape and bytes, and the computation
  Digest rope_digest{};     // over all ropes
  std::uint64_t weight_bytes = 0;
  std::uint64_t n_parameters = 0;

  // Are the files still as they were when they were opened? If one was written to, the
  // mapped weights are no longer those that weights_digest names.
  bool files_unchanged() const;
  // Is none of them known to hold other bytes? A new name is no change here.
  bool files_sound() const;

  PositionScheme positions() const;
  // May a module's states be used at another position than the one at which they were
  // computed? Where they are bound to it, no: learned positions are a part of every state, and
  // behind rotation a norm's weights make scores depend on where both texts stand.
  bool relocates() const;
  // Do layers carry a state of all tokens before (pc_recurrent)? Modules of such a model are used
  // whole or not at all (docs/adr/0057-recurrent-layers.md).
  bool is_recurrent() const;
};

struct ModelOptions {
  std::string path;
  std::uint32_t context_tokens = 0;  // that will be used; 0 = the model's own. Decides LongRoPE
  DigestMemory memory = {};
};

// Everything but the digests: nothing but headers is read. Errors name the
// file, the field or the tensor, and what is supported.
Result<std::unique_ptr<Model>> bind_model(const std::string& path, std::uint32_t context_tokens);

// Adds the digests to a model that bind_model opened: remembered, or by reading every
// weight. Errors: kCorrupt where a weight is not finite, with its tensor's name.
Status digest_model(const DigestMemory& memory, const ScanOptions& scan, Model* model);

// Both. Loads a Hugging Face folder (config.json and *.safetensors) or a GGUF file
// (any of its splits). Errors also: kCorrupt where a weight is not finite.
Result<std::unique_ptr<Model>> load_model(const ModelOptions& options);

}  // namespace pc
