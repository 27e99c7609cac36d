#include "runtime/backend/cpu_backend.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mapped_file.h"  // ask_for
#include "base/status.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/states_shape.h"
#include "runtime/cpu/chunk_size.h"
#include "runtime/cpu/executor.h"
#include "runtime/cpu/layers/latent_heads.h"
#include "runtime/cpu/read_ahead.h"
#include "runtime/cpu/states/kv_row.h"
#include "runtime/packed/packed_weights.h"
#include "runtime/step/guarded.h"

// The weights as the forward pass wants them: matrices where they lie, in
// their stored type; norms and biases, which are small, as f32.
struct pc_backend_model {
  pc_model_desc desc;
  std::vector<pc_layer> layers;
  std::deque<std::vector<pc_ffn>> experts;  // of the layers that have some
  std::vector<pc::AlignedBuffer<float>> vectors;
  pc::KvGeometry stored, fresh;  // states of modules, and of tokens that timelines compute
  pc::Precision precision;
  pc::Parallel parallel;
  const pc::simd::Kernels* kernels;
  std::uint32_t chunk_tokens;
  pc::PackedWeights packed;
  pc::ReadAhead read_ahead;  // of the matrices; its thread ends before them
  std::unique_ptr<pc::Executor> executor;
};

struct pc_backend_resident {
  const pc::KvGeometry* geometry;       // the model's
  std::vector<pc::KvSegment> segments;  // views of the module
};

namespace pc {
namespace {

static_assert(PC_BACKEND_EXACT == static_cast<int>(Precision::kExact));
static_assert(PC_BACKEND_DETERMINISTIC == static_cast<int>(Precision::kDeterministic));
static_assert(static_cast<int>(simd::Type::kF32) == PC_DTYPE_F32);
static_assert(static_cast<int>(simd::Type::kF16) == PC_DTYPE_F16);
static_assert(static_cast<int>(simd::Type::kBf16) == PC_DTYPE_BF16);

// As f32, plus `offset`.
void widen(const simd::Kernels& kernels, float offset, pc_tensor& t,
           std::vector<AlignedBuffer<float>>& owner) {
  if (!t.data) return;
  const std::size_t n = std::size_t{t.rows} * t.cols;
  AlignedBuffer<float> wide(n);
  kernels.to_f32(t.data, static_cast<simd::Type>(t.dtype), n, wide.data());
  for (std::size_t i = 0; offset != 0.0f && i < n; ++i) wide.data()[i] += offset;
  t.data = wide.data();
  t.dtype = PC_DTYPE_F32;
  owner.push_back(std::move(wide));
}

// Bytes of a token's gate and up, or of what comes in their place.
std::size_t widest_row(const pc_model_desc& d) {
  std::uint32_t widest = d.d_ffn;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    widest = std::max(widest, q_width(layer));
    for (const pc_ffn& expert : experts_of(layer).first(layer.mixture.n_experts != 0 ? 1 : 0))
      widest = std::max(widest, layer.mixture.n_used * expert.up.rows);
  }
  return 2 * sizeof(float) * std::size_t{widest};
}

Error refuse(const std::string& what) {
  return error(Code::kUnsupported, "the CPU backend cannot run this model: " + what);
}

Status check_rope(const pc_rope& rope, std::uint32_t head_dim) {
  if (rope.dims == 0 || rope.dims > head_dim || rope.dims % 2 != 0) {
    return refuse(std::to_string(rope.dims) + " rotated dimensions do not fit a head of " +
                  std::to_string(head_dim));
  }
  return ok();
}

Status check_mixture(const pc_model_desc& d, const pc_mixture& m) {
  if (m.n_experts > kMostExperts || m.n_used == 0 || m.n_used > m.n_experts)
    return refuse("a token goes to " + std::to_string(m.n_used) + " of " +
                  std::to_string(m.n_experts) + " experts; up to " + std::to_string(kMostExperts) +
                  " are computed");
  const bool normed = m.router_norm.data || m.expert_norm.data;
  if (normed && !(m.router_norm.data && m.expert_norm.data))
    return refuse("its router and its experts do not both norm what they read");
  if (d.norm == PC_NORM_LAYER && (normed || m.made_norm.data || m.ffn_made_norm.data))
    return refuse("its mixtures have norms of another kind than its layers");
  if (m.routing > PC_ROUTING_SIGMOID) return refuse("the routing of its experts is unknown");
  const bool whole = m.n_groups != 0 && m.n_experts % m.n_groups == 0 && m.group_best != 0;
  if (!whole || m.n_groups_used == 0 || m.n_groups_used > m.n_groups ||
      m.n_used > m.n_experts / m.n_groups * m.n_groups_used)
    return refuse("its groups of experts do not fit their number");
  const pc_ffn& first = m.experts[0];
  for (const pc_ffn& e : std::span(m.experts, m.n_experts)) {
    if (e.up.rows != first.up.rows || (e.gate.data != nullptr) != (first.gate.data != nullptr))
      return refuse("the experts of a layer differ in shape");
  }
  if (d.parallel) return refuse("its parallel blocks have a mixture of experts");
  return ok();
}

// Norms behind rotation as Attention has them.
bool can_norm_rotated(const pc_model_desc& d, const pc_layer& layer) {
  const auto of_a_head = [&](const pc_tensor& norm) {
    return norm.data && norm.rows == 1 && norm.cols == layer.head_dim;
  };
  if (!of_a_head(layer.q_norm) || !of_a_head(layer.k_norm)) return false;
  if (layer.rope == PC_NO_ROPE) return true;
  const pc_rope& rope = d.ropes[layer.rope];
  return !rope.interleaved && rope.scale == 1.0f;
}

Status check_heads(const pc_model_desc& d, const pc_layer& layer) {
  if (!layer.n_kv_heads || !layer.n_heads || layer.n_heads % layer.n_kv_heads != 0) {
    return refuse(std::to_string(layer.n_heads) + " heads do not share " +
                  std::to_string(layer.n_kv_heads) + " key/value heads evenly");
  }
  if (!layer.head_dim || layer.head_dim % 2 != 0 || layer.head_dim > kMaxHeadDim) {
    return refuse("head_dim is " + std::to_string(layer.head_dim) +
                  "; it may be even and at most " + std::to_string(kMaxHeadDim));
  }
  const std::uint32_t q = q_width(layer), kv = kv_width(layer);
  const auto fits = [&](const pc_tensor& norm, std::uint32_t width) {
    return !norm.data || norm.cols == layer.head_dim || norm.cols == width;
  };
  if (!fits(layer.q_norm, q) || !fits(layer.k_norm, kv))
    return refuse("a norm of queries or keys is neither of one head nor of all");
  if (layer.sinks.data && layer.sinks.cols != layer.n_heads)
    return refuse("its sinks are not one a head");
  if (d.alibi_slopes && layer.n_heads != d.layers[0].n_heads)
    return refuse("its slopes are for layers with as many heads each");
  if (layer.rope != PC_NO_ROPE && layer.rope >= d.n_ropes)
    return refuse("a layer names a rotary embedding that is not there");
  if (layer.norm_rotated && !can_norm_rotated(d, layer))
    return refuse("norms behind rotation are of a kind that it does not compute");
  return layer.rope == PC_NO_ROPE ? ok() : check_rope(d.ropes[layer.rope], layer.head_dim);
}

// Sizes of latent attention as LatentHeads has them, whose parts stand in buffers of whole heads.
Status check_latent(const pc_model_desc& d, const pc_layer& layer) {
  const pc_latent& latent = layer.latent;
  const auto& [dims, rotary, nope, value] = latent_shape(layer);
  const bool plain = !layer.wv.data && !layer.bq.data && !layer.bk.data && !layer.q_norm.data &&
                     !layer.k_norm.data && !layer.norm_values && d.qkv_clamp == 0.0f;
  if (!plain || layer.n_kv_heads != 1 || layer.rope == PC_NO_ROPE || !has_states(layer))
    return refuse("its latent attention is of a kind that it does not compute");
  const std::uint32_t n = layer.n_heads, q_rank = latent.q_down.data ? latent.q_down.rows : 0;
  const auto like = [](const pc_tensor& first) {
    return [first](const pc_tensor& w) { return w.rows == first.rows && w.cols == first.cols; };
  };
  if (d.ropes[layer.rope].dims != rotary || latent.norm.cols != dims ||
      layer.wk.rows != layer.head_dim || layer.wq.rows != n * (nope + rotary) ||
      layer.wo.cols != n * value || (q_rank != 0 && layer.wq.cols != q_rank) ||
      !std::all_of(latent.k_up, latent.k_up + n, like(latent.k_up[0])) ||
      !std::all_of(latent.v_up, latent.v_up + n, like(latent.v_up[0])))
    return refuse("the parts of its latent attention do not fit each other");
  if (nope > dims || value > layer.head_dim || q_rank > q_width(layer))
    return refuse("parts of its heads are larger than their latent of " + std::to_string(dims));
  return ok();
}

// n_states: layers before this one that have states.
Status check_states(const pc_model_desc& d, const pc_layer& layer, std::uint32_t n_states) {
  if (has_states(layer)) {
    if (layer.states != n_states) return refuse("a layer's states are not counted in order");
    return ok();
  }
  if (layer.states >= n_states)
    return refuse("a layer attends to states that no layer before it has");
  const pc_layer& owner = layer_of_states(d, layer.states);
  if (owner.n_heads != layer.n_heads || owner.n_kv_heads != layer.n_kv_heads ||
      owner.head_dim != layer.head_dim || owner.rope != layer.rope)
    return refuse("a layer attends to states of heads that are not like its own");
  return ok();
}

Status check_layer(const pc_model_desc& d, const pc_layer& layer) {
  PC_CHECK_OK(check_heads(d, layer));
  if (is_latent(layer)) PC_CHECK_OK(check_latent(d, layer));
  if (!has_ffn(layer) && layer.mixture.n_experts == 0)
    return refuse("a layer has no feed-forward network");
  if (layer.ffn.up.rows > d.d_ffn) return refuse("a layer's network is wider than d_ffn says");
  if (layer.mixture.n_experts != 0) PC_CHECK_OK(check_mixture(d, layer.mixture));
  const bool gated = (!has_ffn(layer) || layer.ffn.gate.data) &&
                     (layer.mixture.n_experts == 0 || layer.mixture.experts[0].gate.data);
  if (d.activation == PC_ACTIVATION_CLAMPED_SWIGLU && !gated)
    return refuse("its activation wants a gate, which a network does not have");
  if (d.parallel && (layer.attn_post_norm.data || layer.ffn_post_norm.data))
    return refuse("its parallel blocks norm what they add");
  if (layer.ple_gate.data && (d.d_ple == 0 || d.parallel || d.norm == PC_NORM_LAYER))
    return refuse("its tokens' own inputs to layers do not fit its blocks");
  return ok();
}

Status check_shape(const pc_model_desc& d, std::uint32_t kv_type) {
  if (d.struct_size < sizeof(pc_model_desc)) return refuse("its description is of another version");
  if (!kv_type_known(static_cast<KvType>(kv_type)))
    return refuse("K/V type " + std::to_string(kv_type) + " is unknown");
  if (!d.n_layers || !d.d_model || !d.vocab_size) return refuse("a size is zero");
  if (d.norm > PC_NORM_LAYER || d.activation > PC_ACTIVATION_CLAMPED_SWIGLU)
    return refuse("its norm or activation is unknown");
  if (d.parallel && d.residual_scale != 1.0f)
    return refuse("its parallel blocks scale what they add");
  if (d.query_growth != 0.0f && d.growth_positions == 0)
    return refuse("its queries grow by no number of positions");
  std::uint32_t n_states = 0;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    PC_CHECK_OK(check_layer(d, layer));
    PC_CHECK_OK(check_states(d, layer, n_states));
    n_states += has_states(layer);
    if (kv_type_fits(static_cast<KvType>(kv_type), layer.head_dim)) continue;
    return refuse("head_dim is " + std::to_string(layer.head_dim) + ", and states of type " +
                  kv_type_name(static_cast<KvType>(kv_type)) + " want a multiple of " +
                  std::to_string(kv_type_unit(static_cast<KvType>(kv_type))) + "; bf16 takes it");
  }
  return ok();
}

// The packed form where this CPU multiplies it; without it, why. Errors: kCancelled.
Result<std::string> open_packed(pc_backend_model* model, const pc_pack_options* pack) {
  if (model->precision == Precision::kExact) return std::string();
  if (!model->kernels->matmul_packed || packable_matrices(model->desc).empty())
    return std::string();
  if (!pack)
    return std::string("weights are used unpacked: there is no store to keep packed ones beside");
  const auto told = [pack](std::uint32_t step) {
    return [pack, step](std::uint64_t done, std::uint64_t total) {
      return !pack->progress || pack->progress(pack->user, step, done, total) == 0;
    };
  };
  const auto packing = told(PC_PACK_WRITE), summing = told(PC_PACK_SUM);
  PackOptions where{.cache_dir = pack->cache_dir,
                    .writable = pack->writable != 0,
                    .packing = packing,
                    .summing = summing};
  std::copy(std::begin(pack->weights), std::end(pack->weights), where.weights.begin());
  auto packed = PackedWeights::open(model->desc, where, model->parallel);
  if (!packed.ok() && packed.error().code == Code::kCancelled) return packed.error();
  if (!packed.ok()) return "weights are used unpacked: " + packed.error().message;
  model->packed = std::move(packed).value();
  return std::string();
}

std::int32_t model_open(const pc_model_desc* desc, std::uint32_t kv_type, std::uint32_t precision,
                        std::uint32_t n_threads, const pc_pack_options* pack,
                        pc_backend_model** out, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_CHECK_OK(check_shape(*desc, kv_type));
    if (precision > PC_BACKEND_DETERMINISTIC)
      return refuse("precision " + std::to_string(precision) + " is unknown");
    const simd::Kernels* kernels = simd::selected_kernels();
    if (!kernels) {
      std::string names;
      for (const simd::Kernels* k : simd::supported_kernels()) names += std::string(" ") + k->name;
      return error(Code::kInvalidArgument,
                   "PC_ISA names an instruction set that this CPU or build does not have; it may "
                   "be one of:" +
                       names);
    }
    auto model = std::make_unique<pc_backend_model>(
        pc_backend_model{*desc,
                         {desc->layers, desc->layers + desc->n_layers},
                         {},
                         {},
                         states_shape(*desc, static_cast<KvType>(kv_type)),
                         states_shape(*desc, fresh_type(static_cast<KvType>(kv_type))),
                         static_cast<Precision>(precision),
                         Parallel(n_threads),
                         kernels,
                         chunk_tokens(widest_row(*desc), last_cache_bytes("")),
                         {},
                         {},
                         {}});
    const float offset = desc->norm_offset;
    widen(*kernels, offset, model->desc.final_norm, model->vectors);
    widen(*kernels, offset, model->desc.ple_norm, model->vectors);
    widen(*kernels, 0.0f, model->desc.final_norm_bias, model->vectors);
    for (pc_layer& l : model->layers) {
      for (pc_tensor* t :
           {&l.attn_norm, &l.q_norm, &l.k_norm, &l.attn_post_norm, &l.ffn_norm, &l.ffn_post_norm,
            &l.latent.norm, &l.latent.q_norm, &l.ple_norm, &l.mixture.router_norm,
            &l.mixture.expert_norm, &l.mixture.made_norm, &l.mixture.ffn_made_norm}) {
        widen(*kernels, offset, *t, model->vectors);
      }
      for (pc_tensor* t : {&l.attn_norm_bias, &l.ffn_norm_bias, &l.bq, &l.bk, &l.bv, &l.bo,
                           &l.sinks, &l.mixture.router_bias, &l.mixture.choice_bias,
                           &l.mixture.expert_scales, &l.output_scale}) {
        widen(*kernels, 0.0f, *t, model->vectors);
      }
      const auto widen_bias = [&](pc_tensor& t) { widen(*kernels, 0.0f, t, model->vectors); };
      for_each_bias(l.ffn, widen_bias);
      if (l.mixture.n_experts == 0) continue;
      const std::span<const pc_ffn> stored = experts_of(l);
      auto& experts = model->experts.emplace_back(stored.begin(), stored.end());
      for (pc_ffn& expert : experts) for_each_bias(expert, widen_bias);
      l.mixture.experts = experts.data();
    }
    model->desc.layers = model->layers.data();
    PC_CHECK_OK(model->parallel.ready());
    PC_TRY(const std::string remark, open_packed(model.get(), pack));
    model->executor =
        std::make_unique<Executor>(model->desc, *kernels, model->parallel, model->chunk_tokens,
                                   model->packed, model->precision);
    model->read_ahead = ReadAhead(weights_in_order(model->desc, model->packed));
    tell(e, remark);
    *out = model.release();
    return ok();
  });
}

void model_close(pc_backend_model* model) {
  delete model;
}

std::int32_t resident_create(pc_backend_model* model, const std::uint8_t*,
                             const pc_kv_segment* segments, std::uint32_t n_segments,
                             pc_backend_resident** out, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    auto resident = std::make_unique<pc_backend_resident>();
    resident->geometry = &model->stored;
    for (const pc_kv_segment& s : std::span(segments, n_segments)) {
      resident->segments.push_back(
          {{static_cast<const std::byte*>(s.data), &model->stored, s.plane_blocks, s.first_block},
           s.begin,
           s.n_tokens,
           s.position,
           s.key_position});
    }
    *out = resident.release();
    return ok();
  });
}

// Modules are attended where they lie: their pages may have to be read from the disk.
void resident_prefetch(pc_backend_resident* resident) {
  if (resident->segments.empty()) return;
  // Runs share their planes.
  const KvSegment& any = resident->segments.front();
  ask_for({any.data, resident->geometry->state_bytes(any.plane_blocks)});
}

void resident_release(pc_backend_resident* resident) {
  delete resident;
}

std::int32_t timeline_open(pc_backend_model* model, pc_backend_timeline** out,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *out = new pc_backend_timeline{Timeline(model->fresh), &model->stored};
    return ok();
  });
}

void timeline_close(pc_backend_timeline* timeline) {
  delete timeline;
}

// n tokens of a run of the module, from `first` on.
Result<KvSegment> segment_of(const pc_backend_resident& resident, std::uint32_t index,
                             std::uint32_t first, std::uint32_t n) {
  if (index >= resident.segments.size() ||
      std::uint64_t{first} + n > resident.segments[index].n_tokens)
    return error(Code::kInvalidArgument, "the module has no such run, or a shorter one");
  KvSegment segment = resident.segments[index];
  segment.begin += first;
  segment.position += static_cast<std::int32_t>(first);
  segment.key_position += static_cast<std::int32_t>(first);
  segment.n_tokens = n;
  return segment;
}

// bits: pc_attachment::hidden.
Timeline::Hidden hidden_rows(const KvSegment& segment, const std::uint32_t* bits) {
  if (!bits) return nullptr;
  const std::size_t n_rows =
      std::size_t{kv_blocks(segment.begin + segment.n_tokens)} * kKvBlockTokens;
  auto rows = std::make_shared<std::vector<std::uint32_t>>(n_rows, 0u);
  for (std::uint32_t i = 0; i < segment.n_tokens; ++i)
    if (bits[i / 32] >> i % 32 & 1u) (*rows)[segment.begin + i] = ~std::uint32_t{0};
  return rows;
}

std::int32_t timeline_attach(pc_backend_timeline* timeline, const pc_backend_resident* resident,
                             const pc_attachment* a, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_TRY(KvSegment segment, segment_of(*resident, a->segment, a->first, a->n_tokens));
    segment.position = a->position;
    timeline->timeline.attach(segment, hidden_rows(segment, a->hidden));
    return ok();
  });
}

std::int32_t timeline_compare(const pc_backend_timeline* timeline, std::uint32_t first,
                              std::uint32_t n_tokens, const pc_backend_resident* resident,
                              std::uint32_t index, std::uint32_t first_of_segment,
                              std::uint32_t layer, float* distances, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_TRY(const KvSegment segment, segment_of(*resident, index, first_of_segment, n_tokens));
    const Timeline& t = timeline->timeline;
    const KvGeometry& geometry = *resident->geometry;
    if (layer >= geometry.n_layers() || first + n_tokens > t.n_tokens())
      return error(Code::kInvalidArgument, "the timeline has not so many tokens, or layers");
    const std::size_t width = std::size_t{geometry.n_kv_heads(layer)} * geometry.head(layer).dims;
    std::vector<float> own(width), stored(width);
    for (std::uint32_t i = 0; i < n_tokens; ++i) {
      t.read_values(first + i, layer, own.data());
      read_kv_values(segment, i, layer, stored.data());
      distances[i] =
          std::transform_reduce(own.begin(), own.end(), stored.begin(), 0.0f, std::plus<>(),
                                [](float a, float b) { return (a - b) * (a - b); });
    }
    return ok();
  });
}

std::int32_t timeline_fork(const pc_backend_timeline* timeline, pc_backend_timeline** out,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *out = new pc_backend_timeline(*timeline);
    return ok();
  });
}

std::int32_t timeline_rewind(pc_backend_timeline* timeline, std::uint32_t n_tokens,
                             std::uint32_t n_attached, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    timeline->timeline.rewind(n_tokens, n_attached);
    return ok();
  });
}

std::int32_t timeline_read(const pc_backend_timeline* timeline, std::uint32_t first,
                           std::uint32_t n_tokens, const pc_kv_planes* p, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    const KvPlanes planes{
        {static_cast<std::byte*>(p->data), timeline->stored, p->plane_blocks, p->first_block},
        n_tokens};
    if (timeline->timeline.read(first, n_tokens, planes)) return ok();
    return error(Code::kInvalidArgument, "the timeline has no such run of tokens");
  });
}

void step(pc_backend_model* model, pc_step_item* items, std::uint32_t n_items) {
  const std::span all(items, n_items);
  pc_backend_error e{};
  const std::int32_t failed = guarded(&e, [&]() -> Status {
    PC_CHECK_OK(model->parallel.ready());
    model->executor->step(all);
    return ok();
  });
  if (failed == 0) return;
  for (pc_step_item& item : all) {
    item.status = failed;
    item.error = e;
  }
}

constexpr pc_backend_v1 kCpu = {
    PC_BACKEND_ABI,
    sizeof(pc_backend_v1),
    "cpu",
    kCpuNumericsVersion,
    kMostChunkTokens,
    1,
    model_open,
    model_close,
    resident_create,
    resident_prefetch,
    resident_release,
    timeline_open,
    timeline_close,
    timeline_attach,
    timeline_fork,
    timeline_rewind,
    timeline_read,
    timeline_compare,
    step,
};

}  // namespace

const pc_backend_v1* cpu_backend() {
  return &kCpu;
}

}  // namespace pc
