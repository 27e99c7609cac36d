// Fuzzes what makes a model of a GGUF file: the shared keys, every family's own,
// and the binding of tensors; and what such a model computes. What is bound must lie inside the
// file or a copy, and be what backends may read: matrices of whole blocks, vectors of elements.
// Logits are finite, or there is an error.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "modules/store/unique_fd.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/backend/cpu_backend.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/checkpoint/gguf.h"
#include "runtime/model/family_registry.h"
#include "runtime/model/model.h"
#include "runtime/model/shape/rope.h"
#include "simd/types.h"
#include "tests/support/fuzz_bytes.h"

namespace {

using pc::test::require;
using Bytes = std::span<const std::byte>;

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

template <class Check>
void check_network(const pc_ffn& f, const Check& check) {
  for (const pc_tensor* tensor : {&f.gate, &f.up, &f.down, &f.b_gate, &f.b_up, &f.b_down})
    check(*tensor);
}

void check_decoder(const pc::Decoder& d, Bytes file,
                   std::span<const pc::AlignedBuffer<std::byte>> copies) {
  const auto check = [&](const pc_tensor& tensor) { check_tensor(tensor, file, copies); };
  for (const pc_tensor* tensor :
       {&d.embedding, &d.position_embedding, &d.ple_embedding, &d.ple_projection, &d.ple_norm,
        &d.final_norm, &d.final_norm_bias, &d.lm_head})
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
                                    &l.sinks,
                                    &l.mixture.router,
                                    &l.mixture.router_bias,
                                    &l.mixture.choice_bias,
                                    &l.mixture.ffn_gate,
                                    &l.mixture.expert_scales,
                                    &l.mixture.router_norm,
                                    &l.mixture.expert_norm,
                                    &l.mixture.made_norm,
                                    &l.mixture.ffn_made_norm,
                                    &l.ple_gate,
                                    &l.ple_out,
                                    &l.ple_norm,
                                    &l.output_scale,
                                    &l.ffn_post_norm})
      check(*tensor);
    check_network(l.ffn, check);
    for (const pc_ffn& expert : pc::experts_of(l)) check_network(expert, check);
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
  for (std::uint32_t i = 0; i < config.ropes.size(); ++i) {
    const std::uint32_t head_dim = config.rope_head_dim(i);
    PC_TRY(const pc::Rope rope, pc::compute_rope(config.ropes[i], head_dim, config.context_tokens));
    require(rope.dims <= head_dim && rope.inv_freq.size() == rope.dims / 2);
  }
  pc::TensorBinder binder(parsed.tensors, "fuzz");
  PC_TRY(const pc::Decoder decoder, pc::bind_decoder(config, family->gguf_names(config), binder));
  check_decoder(decoder, file, binder.release_copies());
  return pc::ok();
}

constexpr std::uint32_t kPromptTokens = 3;
constexpr std::uint32_t kMostLayers = 16;

// So many tokens of the vocabulary's first and last, behind those that were computed.
pc::Status step(const pc::BackendModel& backend, const pc_model_desc& desc,
                pc::BackendTimeline& timeline, std::uint32_t n_tokens) {
  const std::array<std::int32_t, kPromptTokens> tokens = {
      0, static_cast<std::int32_t>(desc.vocab_size - 1), 0};
  const auto position = static_cast<std::int32_t>(timeline.n_tokens());
  const pc_run run{tokens.data(), n_tokens, position, position, position > 0,
                   nullptr,       nullptr,  0,        nullptr};
  std::vector<float> logits(desc.vocab_size);
  pc_step_item item{};
  item.timeline = timeline.get();
  item.runs = &run;
  item.n_runs = 1;
  item.logits = logits.data();
  backend.step({&item, 1});
  PC_CHECK_OK(backend.status_of(item));
  timeline.count(n_tokens);
  for (const float logit : logits) require(std::isfinite(logit));
  return pc::ok();
}

// A prompt and a token behind it, on whatever type of states and products the input's size says.
// A model is no larger than the input that holds its tensors; layers may share them.
pc::Status compute(Bytes file) {
  const pc::UniqueFd fd(::memfd_create("model", MFD_CLOEXEC));
  require(fd && ::write(fd.get(), file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  PC_TRY(const auto model, pc::load_model({.path = "/proc/self/fd/" + std::to_string(fd.get())}));
  const pc_model_desc& desc = model->desc;
  if (desc.n_layers > kMostLayers || model->context_tokens <= kPromptTokens) return pc::ok();
  constexpr std::array kTypes = {pc::KvType::kF32, pc::KvType::kBf16, pc::KvType::kQ8,
                                 pc::KvType::kQ4};
  const auto precision = file.size() / 4 % 2 ? pc::Precision::kExact : pc::Precision::kFast;
  PC_TRY(const pc::BackendModel backend,
         pc::BackendModel::open(pc::cpu_backend(), desc, kTypes[file.size() % 4], precision, 1,
                                nullptr));
  PC_TRY(pc::BackendTimeline timeline, backend.timeline());
  PC_CHECK_OK(step(backend, desc, timeline, kPromptTokens));
  return step(backend, desc, timeline, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes file = std::as_bytes(std::span(data, size));
  pc::Status status = bind(file);
  if (status.ok()) status = compute(file);
  if (!status.ok()) require(!status.error().message.empty());
  return 0;
}
