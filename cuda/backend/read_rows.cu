// What an executor reads back of timelines: states as files pack them, and their distances from
// those of modules.

#include <algorithm>
#include <cstring>

#include "cuda/backend/executor.h"
#include "cuda/states/kv_files.h"

namespace pc::cuda {
namespace {

constexpr const char* kReading = "reading states";

// Packed bytes that are read at once.
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;
constexpr std::size_t kMostPlanes = 65535;  // of a grid's second dimension

}  // namespace

// The runs that brought memory of their own get their states.
Status Executor::finish(const pc_step_item& item, std::uint32_t first_token) {
  std::uint32_t token = first_token;
  for (const pc_run& run : std::span(item.runs, item.n_runs)) {
    if (run.planes && run.n_tokens != 0 && item.n_layers == 0)
      PC_CHECK_OK(read(item.timeline->timeline, token, run.n_tokens, *run.planes));
    token += run.n_tokens;
  }
  return ok();
}

Status Executor::read(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
                      const pc_kv_planes& planes) {
  std::vector<Slot> slots(n_tokens);
  for (std::uint32_t i = 0; i < n_tokens; ++i) slots[i] = timeline.slot(first + i);
  return read_slots(slots, planes);
}

Status Executor::read_slots(std::span<const Slot> slots, const pc_kv_planes& planes) {
  const KvShape& shape = model_.kv;
  const auto n_tokens = static_cast<std::uint32_t>(slots.size());
  const std::size_t plane_bytes =
      std::size_t{(n_tokens + kFileBlockTokens - 1) / kFileBlockTokens} *
      file_block_bytes(shape.stored, shape.head_dim);
  const std::uint32_t n_planes = 2 * shape.n_layers * shape.n_kv_heads;
  const auto at_once = static_cast<std::uint32_t>(std::clamp<std::size_t>(
      kPieceBytes / plane_bytes, 1, std::min<std::size_t>(n_planes, kMostPlanes)));
  PC_TRY(const auto tokens, scratch<DeviceBuffer<Slot>>(n_tokens));
  PC_TRY(const auto packed, scratch<DeviceBuffer<std::byte>>(at_once * plane_bytes));
  PC_TRY(const auto host, PinnedBuffer<std::byte>::make(at_once * plane_bytes));
  PC_CHECK_OK(check(cudaMemcpyAsync(tokens.data(), slots.data(), slots.size_bytes(),
                                    cudaMemcpyHostToDevice, stream_),
                    kReading));
  for (std::uint32_t first = 0; first < n_planes; first += at_once) {
    const std::uint32_t n = std::min(at_once, n_planes - first);
    pack_rows({shape, tokens.data(), n_tokens, first, n, packed.data()}, stream_);
    PC_CHECK_OK(check(cudaMemcpyAsync(host.data(), packed.data(), n * plane_bytes,
                                      cudaMemcpyDeviceToHost, stream_),
                      kReading));
    PC_CHECK_OK(check_launches(kReading));
    PC_CHECK_OK(check(cudaStreamSynchronize(stream_), kReading));
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t block = std::size_t{first + i} * planes.plane_blocks + planes.first_block;
      std::memcpy(static_cast<std::byte*>(planes.data) +
                      block * file_block_bytes(shape.stored, shape.head_dim),
                  host.data() + i * plane_bytes, plane_bytes);
    }
  }
  return ok();
}

Status Executor::compare(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
                         const std::shared_ptr<ModuleCopy>& copy, std::uint32_t first_row,
                         std::uint32_t layer, float* distances) {
  if (n_tokens == 0) return ok();
  PC_CHECK_OK(modules_.pin(copy, Room::kDeviceOrHost));
  const auto compared = [&]() -> Status {
    PC_CHECK_OK(modules_.wait(copy, layer));
    std::vector<Slot> slots;
    for (std::uint32_t i = 0; i < n_tokens; ++i) slots.push_back(timeline.slot(first + i));
    for (std::uint32_t i = 0; i < n_tokens; ++i) slots.push_back({copy->planes(), first_row + i});
    PC_TRY(const auto tokens, scratch<DeviceBuffer<Slot>>(slots.size()));
    PC_TRY(const auto sums, scratch<DeviceBuffer<float>>(n_tokens));
    PC_CHECK_OK(check(cudaMemcpyAsync(tokens.data(), slots.data(), slots.size() * sizeof(Slot),
                                      cudaMemcpyHostToDevice, stream_),
                      kReading));
    compare_values(model_.kv, layer, tokens.data(), tokens.data() + n_tokens, n_tokens, sums.data(),
                   stream_);
    PC_CHECK_OK(check_launches(kReading));
    PC_CHECK_OK(check(cudaMemcpyAsync(distances, sums.data(), n_tokens * sizeof(float),
                                      cudaMemcpyDeviceToHost, stream_),
                      kReading));
    return check(cudaStreamSynchronize(stream_), kReading);
  }();
  modules_.unpin(copy);
  return compared;
}

}  // namespace pc::cuda
