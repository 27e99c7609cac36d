#include "runtime/backend/cpu_backend.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mapped_file.h"  // ask_for
#include "base/status.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/state_map.h"
#include "runtime/backend/states_shape.h"
#include "runtime/cpu/chunk_size.h"
#include "runtime/cpu/executor.h"
#include "runtime/cpu/model_checks.h"
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
  std::unique_ptr<pc::ReadAhead> read_ahead;  // its thread ends before what it reads
  std::unique_ptr<pc::Executor> executor;
};

struct pc_backend_resident {
  const pc_backend_model* model;
  const pc::KvGeometry* geometry;       // the model's
  std::vector<pc::KvSegment> segments;  // views of the module
  std::vector<const float*> recurrent;  // [segments] pc_kv_segment::recurrent
  // [segments] of the maps among them, else null
  std::vector<std::unique_ptr<const pc::StateMapShape>> shapes;
  mutable std::once_flag is_read;  // it was given to the model's read_ahead
};

namespace pc {
namespace {

static_assert(PC_BACKEND_EXACT == static_cast<int>(Precision::kExact));
static_assert(PC_BACKEND_DETERMINISTIC == static_cast<int>(Precision::kDeterministic));
static_assert(static_cast<int>(simd::Type::kF32) == PC_DTYPE_F32);
static_assert(static_cast<int>(simd::Type::kF16) == PC_DTYPE_F16);
static_assert(static_cast<int>(simd::Type::kBf16) == PC_DTYPE_BF16);

// A norm, a bias or a scale, and what is added to each of its numbers.
struct ModelVector {
  pc_tensor* tensor;
  float offset = 0.0f;
};

// All of a model's, which owns its layers and experts.
std::vector<ModelVector> vectors_of(pc_backend_model& model) {
  const float offset = model.desc.norm_offset;
  std::vector<ModelVector> all = {{&model.desc.final_norm, offset},
                                  {&model.desc.ple_norm, offset},
                                  {&model.desc.final_norm_bias}};
  auto experts = model.experts.begin();
  const auto add_bias = [&](pc_tensor& t) { all.push_back({&t}); };
  for (pc_layer& l : model.layers) {
    for (pc_tensor* t :
         {&l.attn_norm, &l.q_norm, &l.k_norm, &l.attn_post_norm, &l.ffn_norm, &l.ffn_post_norm,
          &l.latent.norm, &l.latent.q_norm, &l.ple_norm, &l.mixture.router_norm,
          &l.mixture.expert_norm, &l.mixture.made_norm, &l.mixture.ffn_made_norm})
      all.push_back({t, offset});
    for (pc_tensor* t : {&l.attn_norm_bias, &l.ffn_norm_bias, &l.bq, &l.bk, &l.bv, &l.bo, &l.sinks,
                         &l.recurrent.conv_bias, &l.recurrent.a, &l.recurrent.step_bias,
                         &l.recurrent.skip, &l.recurrent.norm, &l.mixture.router_bias,
                         &l.mixture.choice_bias, &l.mixture.expert_scales, &l.output_scale})
      all.push_back({t});
    for_each_bias(l.ffn, add_bias);
    if (l.mixture.n_experts == 0) continue;
    for (pc_ffn& expert : *experts++) for_each_bias(expert, add_bias);
  }
  std::erase_if(all, [](const ModelVector& v) { return !v.tensor->data; });
  return all;
}

std::span<const std::byte> bytes_of(const pc_tensor& t) {
  const auto type = static_cast<simd::Type>(t.dtype);
  return {static_cast<const std::byte*>(t.data),
          simd::bytes_of(type, std::size_t{t.rows} * t.cols)};
}

// Puts them where they are f32. They lie between the matrices, all over the file: on a disk they
// are asked for together.
void widen(const simd::Kernels& kernels, std::span<const ModelVector> vectors,
           std::vector<AlignedBuffer<float>>& owner) {
  for (const ModelVector& v : vectors)
    if (!is_resident(static_cast<const std::byte*>(v.tensor->data))) ask_for(bytes_of(*v.tensor));
  for (const auto& [t, offset] : vectors) {
    const std::size_t n = std::size_t{t->rows} * t->cols;
    AlignedBuffer<float> wide(n);
    kernels.to_f32(t->data, static_cast<simd::Type>(t->dtype), n, wide.data());
    for (std::size_t i = 0; offset != 0.0f && i < n; ++i) wide.data()[i] += offset;
    t->data = wide.data();
    t->dtype = PC_DTYPE_F32;
    owner.push_back(std::move(wide));
  }
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
                    .sums_later = model->precision == Precision::kFast,
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
    PC_CHECK_OK(check_model(*desc, kv_type));
    if (precision > PC_BACKEND_DETERMINISTIC)
      return error(Code::kUnsupported, "precision " + std::to_string(precision) + " is unknown");
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
    for (pc_layer& l : model->layers) {
      if (l.mixture.n_experts == 0) continue;
      const std::span<const pc_ffn> stored = experts_of(l);
      l.mixture.experts = model->experts.emplace_back(stored.begin(), stored.end()).data();
    }
    widen(*kernels, vectors_of(*model), model->vectors);
    model->desc.layers = model->layers.data();
    PC_CHECK_OK(model->parallel.ready());
    PC_TRY(const std::string remark, open_packed(model.get(), pack));
    model->executor =
        std::make_unique<Executor>(model->desc, *kernels, model->parallel, model->chunk_tokens,
                                   model->packed, model->precision);
    model->read_ahead = std::make_unique<ReadAhead>();
    model->read_ahead->add(weights_by_layer(model->desc, model->packed));
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
    resident->model = model;
    resident->geometry = &model->stored;
    for (const pc_kv_segment& s : std::span(segments, n_segments)) {
      resident->segments.push_back(
          {{static_cast<const std::byte*>(s.data), &model->stored, s.plane_blocks, s.first_block},
           s.begin,
           s.n_tokens,
           s.position,
           s.key_position});
      resident->recurrent.push_back(s.recurrent);
      const bool maps = s.recurrent && s.maps_states != 0;
      resident->shapes.push_back(
          maps ? std::make_unique<const StateMapShape>(model->desc, s.n_tokens) : nullptr);
    }
    *out = resident.release();
    return ok();
  });
}

// The planes, which all runs share.
std::span<const std::byte> states_of(const pc_backend_resident& resident) {
  if (resident.segments.empty()) return {};
  const KvSegment& any = resident.segments.front();
  return {any.data, resident.geometry->state_bytes(any.plane_blocks)};
}

// Modules are attended where they lie: their pages may have to be read from the disk.
void resident_prefetch(pc_backend_resident* resident) {
  ask_for(states_of(*resident));
}

// Whoever attaches it attends to it soon: each layer's states when it is that layer's turn.
void read_by_layer(const pc_backend_resident& resident) {
  const std::span<const std::byte> states = states_of(resident);
  if (states.empty()) return;
  const std::uint32_t plane_blocks = resident.segments.front().plane_blocks;
  const KvGeometry& geometry = *resident.geometry;
  ReadAhead::ByLayer needed(resident.model->layers.size() + 1);
  std::uint32_t of_states = 0;
  for (std::size_t layer = 0; layer < resident.model->layers.size(); ++layer) {
    if (!has_states(resident.model->layers[layer])) continue;
    const std::size_t begin = geometry.layer_offset(of_states, plane_blocks);
    const std::size_t end = geometry.layer_offset(++of_states, plane_blocks);
    needed[layer].push_back(states.subspan(begin, end - begin));
  }
  resident.model->read_ahead->add(needed);
}

void resident_release(pc_backend_resident* resident) {
  resident->model->read_ahead->forget(states_of(*resident));
  delete resident;
}

std::int32_t timeline_open(pc_backend_model* model, pc_backend_timeline** out,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *out = new pc_backend_timeline{Timeline(model->fresh), &model->stored,
                                   RecurrentStates(n_state_numbers(model->desc))};
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

// What layers that carry states have of an attachment: a map is of all tokens of a segment, and
// states are those behind the last.
Result<std::optional<AttachedMap>> attached_map(const pc_backend_resident& resident,
                                                const pc_attachment& a) {
  const float* const numbers = resident.recurrent[a.segment];
  const StateMapShape* const shape = resident.shapes[a.segment].get();
  const bool ends = a.first + a.n_tokens == resident.segments[a.segment].n_tokens;
  if (a.hidden)
    return error(Code::kUnsupported,
                 "tokens of a module cannot be hidden from layers that carry states");
  if (shape && (!ends || a.first != 0))
    return error(Code::kUnsupported,
                 "part of a module cannot stand in front of layers that carry states");
  if (!numbers || !ends) return std::optional<AttachedMap>();
  return std::optional<AttachedMap>({numbers, shape});
}

std::int32_t timeline_attach(pc_backend_timeline* timeline, const pc_backend_resident* resident,
                             const pc_attachment* a, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_TRY(KvSegment segment, segment_of(*resident, a->segment, a->first, a->n_tokens));
    RecurrentStates& states = timeline->recurrent;
    std::optional<AttachedMap> map;
    if (states.has_numbers()) {
      PC_TRY(map, attached_map(*resident, *a));
    }
    if (!states.is_behind(a->position))
      return error(Code::kUnsupported,
                   "a module cannot be put in front of tokens that layers have read already which "
                   "carry states");
    std::call_once(resident->is_read, [&] { read_by_layer(*resident); });
    segment.position = a->position;
    Timeline& t = timeline->timeline;
    t.attach(segment, hidden_rows(segment, a->hidden));
    try {
      states.attach(a->position, map);
    } catch (const std::bad_alloc&) {
      t.rewind(t.n_tokens(), t.n_attached() - 1);
      return error(Code::kOutOfMemory, "no memory to attach a module");
    }
    return ok();
  });
}

std::int32_t timeline_recurrent(const pc_backend_timeline* timeline, std::uint32_t n_tokens,
                                const float** numbers, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *numbers = timeline->recurrent.at(n_tokens);
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
    auto fork = std::make_unique<pc_backend_timeline>(*timeline);
    fork->made.reset();
    *out = fork.release();
    return ok();
  });
}

std::int32_t timeline_rewind(pc_backend_timeline* timeline, std::uint32_t n_tokens,
                             std::uint32_t n_attached, std::uint32_t* n_left, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    Timeline& t = timeline->timeline;
    const auto left = timeline->recurrent.nearest(std::min(n_tokens, t.n_tokens()), n_attached);
    if (!left)
      return error(Code::kUnsupported,
                   "the states of the model's recurrent layers are not kept of that place");
    *n_left = *left;
    t.rewind(*n_left, n_attached);
    timeline->recurrent.rewind(*n_left, n_attached);
    timeline->made.reset();
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
    timeline_recurrent,
    timeline_compare,
    step,
};

}  // namespace

const pc_backend_v1* cpu_backend() {
  return &kCpu;
}

}  // namespace pc
