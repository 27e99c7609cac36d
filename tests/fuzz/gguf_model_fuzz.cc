// Fuzzes what makes a model of a GGUF file: the shared keys, every family's own,
// and the binding of tensors. What is bound must lie inside the file or a copy,
// and be what backends may read: matrices of whole blocks, vectors of elements.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "runtime/checkpoint/gguf.h"
#include "runtime/model/families/registry.h"
#include "runtime/model/rope.h"
#include "simd/types.h"

namespace {

using Bytes = std::span<const std::byte>;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_tensor(const pc_tensor& tensor, Bytes file,
                  std::span<const pc::AlignedBuffer<std::byte>> copies) {
  if (!tensor.data) return;
  const auto type = static_cast<pc::simd::Type>(tensor.dtype);
  const auto& shape = pc::simd::shape_of(type);
  require(tensor.rows > 0 && tensor.cols > 0 && tensor.cols % shape.elements == 0);
  const auto* begin = static_cast<const std::byte*>(tensor.data);
  const std::size_t n = pc::simd::bytes_of(type, std::size_t{tensor.rows} * tensor.cols);
  require(reinterpret_cast<std::uintptr_t>(begin) % shape.alignment == 0);
  bool inside = begin >= file.data() && begin + n <= file.data() + file.size();
  for (const auto& copy : copies)
    inside = inside || (begin >= copy.data() && begin + n <= copy.data() + copy.size());
  require(inside);
}

void check_decoder(const pc::Decoder& d, Bytes file,
                   std::span<const pc::AlignedBuffer<std::byte>> copies) {
  const auto check = [&](const pc_tensor& tensor) { check_tensor(tensor, file, copies); };
  for (const pc_tensor* tensor :
       {&d.embedding, &d.position_embedding, &d.final_norm, &d.final_norm_bias, &d.lm_head})
    check(*tensor);
  for (const pc_layer& l : d.layers) {
    for (const pc_tensor* tensor : {&l.attn_norm,
                                    &l.attn_norm_bias,
                                    &l.wq,
                                    &l.wk,
                                    &l.wv,
                                    &l.bq,
                                    &l.bk,
                                    &l.bv,
                                    &l.q_norm,
                                    &l.k_norm,
                                    &l.wo,
                                    &l.bo,
                                    &l.attn_post_norm,
                                    &l.ffn_norm,
                                    &l.ffn_norm_bias,
                                    &l.w_gate,
                                    &l.w_up,
                                    &l.w_down,
                                    &l.b_gate,
                                    &l.b_up,
                                    &l.b_down,
                                    &l.ffn_post_norm})
      check(*tensor);
  }
}

// As load_model goes about it.
pc::Status bind(Bytes file) {
  PC_TRY(const pc::GgufFile parsed, pc::parse_gguf(file, "fuzz"));
  PC_TRY(const std::string_view name, parsed.metadata.string("general.architecture"));
  PC_TRY(const pc::Family* family, pc::find_gguf_family(name));
  const pc::GgufKeys keys(parsed.metadata, parsed.tensors, std::string(name));
  PC_TRY(pc::ModelConfig config, pc::read_gguf_config(keys, family->gguf_rotates));
  PC_CHECK_OK(family->configure_gguf(keys, &config));
  PC_CHECK_OK(pc::check_shape("fuzz", config));
  for (const pc::RopeConfig& each : config.ropes) {
    PC_TRY(const pc::Rope rope, pc::compute_rope(each, config.head_dim, config.context_tokens));
    require(rope.dims <= config.head_dim && rope.inv_freq.size() == rope.dims / 2);
  }
  pc::TensorBinder binder(parsed.tensors, "fuzz");
  PC_TRY(const pc::Decoder decoder, pc::bind_decoder(config, family->gguf_names(config), binder));
  check_decoder(decoder, file, binder.release_copies());
  return pc::ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const pc::Status status = bind(std::as_bytes(std::span(data, size)));
  if (!status.ok()) require(!status.error().message.empty());
  return 0;
}
