#include "runtime/backend/backend_handle.h"

#include <cstring>
#include <string>

#include "simd/kernels.h"

namespace pc {
namespace {

std::string message_of(const pc_backend_error& e) {
  return {e.message, ::strnlen(e.message, sizeof e.message)};
}

// A backend's status number and sentence as an Error; numbers it must not use become kInternal.
Error backend_error(const char* name, std::int32_t status, const pc_backend_error& e) {
  const bool known = status > 0 && status <= static_cast<std::int32_t>(Code::kNotFinite);
  std::string message = message_of(e);
  if (message.empty()) message = std::string("backend ") + name + " failed without a reason";
  return error(known ? static_cast<Code>(status) : Code::kInternal, std::move(message));
}

}  // namespace

Result<BackendModel> BackendModel::open(const pc_backend_v1* table, const pc_model_desc& desc,
                                        KvType type, Precision precision, std::uint32_t n_threads,
                                        const pc_pack_options* pack) {
  pc_backend_model* model = nullptr;
  pc_backend_error e{};
  const std::int32_t status =
      table->model_open(&desc, static_cast<std::uint32_t>(type),
                        static_cast<std::uint32_t>(precision), n_threads, pack, &model, &e);
  if (status != 0) return backend_error(table->name, status, e);
  return BackendModel(table, model, message_of(e), desc.vocab_size);
}

BackendModel::BackendModel(const pc_backend_v1* table, pc_backend_model* model, std::string remark,
                           std::uint32_t vocab_size)
    : model_(model, Close{table}),
      remark_(std::move(remark)),
      kernels_(&simd::selected_or_scalar_kernels()),
      vocab_size_(vocab_size) {}

Result<BackendSession> BackendModel::session(std::uint32_t tail_tokens, std::uint32_t tail_segments,
                                             std::uint32_t max_segments) const {
  const pc_backend_v1* table = model_.get_deleter().table;
  pc_backend_session* session = nullptr;
  pc_backend_error e{};
  const std::int32_t status =
      table->session_open(model_.get(), tail_tokens, tail_segments, max_segments, &session, &e);
  if (status != 0) return backend_error(table->name, status, e);
  return BackendSession(table, session, kernels_, vocab_size_);
}

Status BackendSession::attach(std::span<const KvSegment> segments) {
  std::vector<pc_kv_segment> views;
  views.reserve(segments.size());
  for (const KvSegment& s : segments) {
    views.push_back({s.data, s.layer_stride_bytes, s.head_stride_bytes, s.value_offset_bytes,
                     s.begin, s.n_tokens, s.position, s.key_position});
  }
  pc_backend_error e{};
  const std::int32_t status =
      table()->attach(session_.get(), views.data(), static_cast<std::uint32_t>(views.size()), &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

Status BackendSession::forward(std::span<const pc_run> runs, const volatile std::int32_t* cancel,
                               float* logits) {
  pc_backend_error e{};
  const std::int32_t status = table()->forward(
      session_.get(), runs.data(), static_cast<std::uint32_t>(runs.size()), cancel, logits, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return logits ? check_logits(runs, logits) : ok();
}

Status BackendSession::check_logits(std::span<const pc_run> runs, const float* logits) const {
  if (kernels_->all_finite(logits, simd::Type::kF32, vocab_size_)) return ok();
  const std::int64_t position = std::int64_t{runs.back().position} + runs.back().n_tokens - 1;
  return error(Code::kNotFinite, std::string("backend ") + table()->name +
                                     " computed logits that are not finite, for the token at "
                                     "position " +
                                     std::to_string(position));
}

Status BackendSession::measure(std::span<const pc_run> runs, std::span<pc_layer_range> ranges,
                               float* logits) {
  if (!table()->measure)
    return error(Code::kUnsupported,
                 std::string("backend ") + table()->name + " does not measure its layers");
  pc_backend_error e{};
  const std::int32_t status =
      table()->measure(session_.get(), runs.data(), static_cast<std::uint32_t>(runs.size()),
                       ranges.data(), logits, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

Status BackendSession::read_segment(std::uint32_t index, const KvPlanes& planes) {
  const pc_kv_segment dst{planes.data,
                          planes.layer_stride_bytes,
                          planes.head_stride_bytes,
                          planes.value_offset_bytes,
                          0,
                          planes.n_tokens,
                          0,
                          0};
  pc_backend_error e{};
  const std::int32_t status = table()->read_segment(session_.get(), index, &dst, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

Status BackendSession::rewind(std::uint32_t n_segments) {
  pc_backend_error e{};
  const std::int32_t status = table()->rewind(session_.get(), n_segments, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

}  // namespace pc
