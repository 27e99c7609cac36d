#include "runtime/backend/backend_handle.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/backend/state_map.h"
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
  Owner owner(model, Close{table});
  return BackendModel(std::move(owner), message_of(e), desc);
}

BackendModel::BackendModel(Owner model, std::string remark, const pc_model_desc& desc)
    : model_(std::move(model)),
      remark_(std::move(remark)),
      kernels_(&simd::selected_or_scalar_kernels()),
      desc_(&desc) {}

// Of a module each run has its map, one behind the other; of a link there are the states behind its
// last token.
Status BackendModel::add_recurrent(const ModuleFile& module,
                                   std::span<pc_kv_segment> segments) const {
  std::span<const float> numbers = module.recurrent();
  if (numbers.empty()) return ok();
  const Error other =
      error(Code::kMismatch, "the module's numbers of recurrent layers are not this model's");
  if (module.header().causes.attend == kLinkAttend) {
    if (numbers.size() != n_state_numbers(*desc_)) return other;
    segments.back().recurrent = numbers.data();
    return ok();
  }
  for (pc_kv_segment& segment : segments) {
    const std::size_t n = StateMapShape(*desc_, segment.n_tokens).n_numbers();
    if (n > numbers.size()) return other;
    segment.recurrent = numbers.data();
    segment.maps_states = 1;
    numbers = numbers.subspan(n);
  }
  return numbers.empty() ? ok() : Status(other);
}

Result<ResidentHandle> BackendModel::resident(ModuleHandle module) const {
  std::vector<pc_kv_segment> segments;
  for (std::uint32_t run = 0; run < module->runs().size(); ++run) {
    const KvSegment s = module->segment(run, 0);
    segments.push_back({s.data, s.plane_blocks, s.first_block, s.begin, s.n_tokens, s.position,
                        s.key_position, nullptr, 0});
  }
  PC_CHECK_OK(add_recurrent(*module, segments));
  pc_backend_resident* resident = nullptr;
  pc_backend_error e{};
  const std::int32_t status =
      table()->resident_create(model_.get(), module->instance().data(), segments.data(),
                               static_cast<std::uint32_t>(segments.size()), &resident, &e);
  if (status != 0) return backend_error(name(), status, e);
  Resident::Owner owner(resident, Resident::Release{table()});
  return ResidentHandle(new Resident(std::move(module), std::move(owner)));
}

Result<BackendTimeline> BackendModel::timeline() const {
  pc_backend_timeline* timeline = nullptr;
  pc_backend_error e{};
  const std::int32_t status = table()->timeline_open(model_.get(), &timeline, &e);
  if (status != 0) return backend_error(name(), status, e);
  return BackendTimeline(table(), timeline);
}

void BackendModel::step(std::span<pc_step_item> items) const {
  for (pc_step_item& item : items) {
    item.status = 0;
    item.error.message[0] = '\0';
  }
  table()->step(model_.get(), items.data(), static_cast<std::uint32_t>(items.size()));
  for (pc_step_item& item : items)
    if (item.status == 0 && item.logits && !item.ranges) check_logits(item);
}

Status BackendModel::status_of(const pc_step_item& item) const {
  if (item.status == 0) return ok();
  return backend_error(name(), item.status, item.error);
}

std::string BackendModel::remark_of(const pc_step_item& item) {
  return item.status == 0 ? message_of(item.error) : std::string();
}

void BackendModel::check_logits(pc_step_item& item) const {
  if (kernels_->all_finite(item.logits, simd::Type::kF32, desc_->vocab_size)) return;
  const pc_run& last = item.runs[item.n_runs - 1];
  item.status = static_cast<std::int32_t>(Code::kNotFinite);
  std::snprintf(item.error.message, sizeof item.error.message,
                "backend %s computed logits that are not finite, for the token at position %lld",
                name(), static_cast<long long>(last.position) + last.n_tokens - 1);
}

Status BackendTimeline::attach(ResidentHandle resident, const pc_attachment& attachment) {
  pc_backend_error e{};
  residents_.reserve(residents_.size() + 1);  // nothing fails behind the call
  attached_.reserve(attached_.size() + 1);
  const std::int32_t status =
      table()->timeline_attach(timeline_.get(), resident->resident_.get(), &attachment, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  residents_.push_back(std::move(resident));
  attached_.push_back({attachment.segment, attachment.first, attachment.n_tokens,
                       attachment.position, attachment.hidden != nullptr});
  return ok();
}

Status BackendTimeline::compare(std::uint32_t first, const Resident& resident, std::uint32_t run,
                                std::uint32_t layer, std::span<float> distances) const {
  pc_backend_error e{};
  const std::int32_t status = table()->timeline_compare(
      timeline_.get(), first, static_cast<std::uint32_t>(distances.size()),
      resident.resident_.get(), run, 0, layer, distances.data(), &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

Status BackendTimeline::rewind(std::uint32_t n_tokens, std::uint32_t n_attached) {
  pc_backend_error e{};
  std::uint32_t n_left = 0;
  const std::int32_t status =
      table()->timeline_rewind(timeline_.get(), n_tokens, n_attached, &n_left, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  if (n_attached < residents_.size()) {
    residents_.resize(n_attached);
    attached_.resize(n_attached);
  }
  n_tokens_ = n_left;
  return ok();
}

Status BackendTimeline::read(std::uint32_t first, std::uint32_t n_tokens,
                             const KvPlanes& planes) const {
  PC_EXPECT(planes.n_tokens >= n_tokens);
  const pc_kv_planes p{planes.data, planes.plane_blocks, planes.first_block};
  pc_backend_error e{};
  const std::int32_t status = table()->timeline_read(timeline_.get(), first, n_tokens, &p, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return ok();
}

Result<std::span<const float>> BackendTimeline::recurrent(std::uint32_t n_tokens,
                                                          std::size_t n) const {
  const float* numbers = nullptr;
  pc_backend_error e{};
  const std::int32_t status = table()->timeline_recurrent(timeline_.get(), n_tokens, &numbers, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  return std::span(numbers, numbers ? n : 0);
}

Result<BackendTimeline> BackendTimeline::fork() const {
  pc_backend_timeline* fork = nullptr;
  pc_backend_error e{};
  const std::int32_t status = table()->timeline_fork(timeline_.get(), &fork, &e);
  if (status != 0) return backend_error(table()->name, status, e);
  BackendTimeline forked(table(), fork);
  forked.residents_ = residents_;
  forked.attached_ = attached_;
  forked.n_tokens_ = n_tokens_;
  return forked;
}

}  // namespace pc
