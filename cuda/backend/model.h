// A model's weights on the device, and the numbers that say how to compute with them.
//
// Matrices keep the types that they are stored in; vectors are f32, with the offset of norms
// added. Matrices that read the same rows lie behind each other where their types agree, and are
// one product then. Owner; const once made. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/device/device_buffer.h"
#include "cuda/products/weights.h"
#include "cuda/states/kv_rows.h"
#include "runtime/backend/backend.h"
#include "runtime/step/admission.h"

namespace pc::cuda {

// A product and the columns of its rows' output at which it begins.
struct ProductAt {
  Weight weight;
  std::uint32_t at;
};

struct Layer {
  const float *attn_norm, *attn_norm_bias;  // [d_model], or null, as all that follow
  std::vector<ProductAt> qkv;               // queries, keys, values: [n, qkv_width]
  const float* qkv_bias;                    // [qkv_width]
  const float *q_norm, *k_norm;             // [head_dim] or [of all heads]
  std::uint32_t q_norm_width, k_norm_width;
  Weight wo;
  const float* bo;
  const float* attn_post_norm;
  const float *ffn_norm, *ffn_norm_bias;
  std::vector<ProductAt> inner;  // up, then gate where there is one: [n, inner_width]
  const float *b_up, *b_gate;
  Weight w_down;
  const float* b_down;
  const float* ffn_post_norm;
  std::uint32_t window, rope;
};

struct Rope {
  std::uint32_t half;
  bool interleaved;
  float scale;
  const double* inv_freq;  // [half] on the device
};

class Model {
 public:
  // Copies all of it to the device; `desc` is borrowed for the call. type: of modules' files.
  // Errors: kUnsupported (a sentence that says what), kOutOfMemory, kIo.
  static Result<Model> load(const pc_model_desc& desc, KvType type, cudaStream_t stream);

  pc_model_desc desc;  // numbers alone: its pointers are null
  StepLimits limits;
  std::uint32_t n_heads;  // of each layer
  float attn_scale;       // the same
  KvShape kv;
  std::vector<Layer> layers;
  std::vector<Rope> ropes;
  Weight embedding, position_embedding, lm_head;  // data null: absent
  const float *final_norm, *final_norm_bias;
  const float* alibi_slopes;
  bool gated;  // do all layers have a gate, or none?

  std::uint32_t q_width() const { return n_heads * kv.head_dim; }
  std::uint32_t qkv_width() const { return (n_heads + 2 * kv.n_kv_heads) * kv.head_dim; }
  std::uint32_t inner_width() const { return desc.d_ffn * (gated ? 2 : 1); }

 private:
  friend class ModelLoader;
  std::vector<DeviceBuffer<std::byte>> buffers_;
};

// Can this plug-in run it? The same limits as the CPU's, and: dense networks, and layers that are
// all alike, each with keys and values of its own.
Status check_model(const pc_model_desc& desc, std::uint32_t kv_type);

}  // namespace pc::cuda
