#include "runtime/cpu/read_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/mapped_file.h"
#include "runtime/backend/layer_parts.h"
#include "simd/packed/packed.h"

namespace pc {
namespace {

// Asked of the kernel at a time: some milliseconds of a slow disk, so that whoever
// stops, adds or forgets waits no longer.
constexpr std::size_t kPieceBytes = 1 << 20;
// Asked for before the piece that is waited for: keeps a disk's queue filled.
constexpr std::size_t kAheadBytes = 8 * kPieceBytes;

using Bytes = std::span<const std::byte>;

Bytes first_of(Bytes range, std::size_t n) {
  return range.first(std::min(n, range.size()));
}

// Looks at one page of each piece: 640 of 0.3 us for 640 MiB.
bool is_resident(Bytes range) {
  for (std::size_t at = 0; at < range.size(); at += kPieceBytes)
    if (!pc::is_resident(&range[at])) return false;
  return true;
}

// Small enough to stay, once it is there?
bool fits(const ReadAhead::ByLayer& needed) {
  std::uint64_t bytes = 0;
  for (const auto& ranges : needed)
    for (const Bytes range : ranges) bytes += range.size();
  return bytes <= machine_memory_bytes() / 2;
}

Bytes bytes_of(const pc_tensor& w, const PackedWeights& packed) {
  const auto type = static_cast<simd::Type>(w.dtype);
  const std::byte* panels = packed.place_of(w.data);
  if (panels) return {panels, simd::packed_bytes(type, w.rows, w.cols)};
  return {static_cast<const std::byte*>(w.data),
          simd::bytes_of(type, std::size_t{w.rows} * w.cols)};
}

}  // namespace

ReadAhead::ReadAhead() : process_(::getpid()) {}

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  if (!thread_.joinable()) return;
  is_forked() ? thread_.detach() : thread_.join();
}

// Then the mutex may be another process's for ever.
bool ReadAhead::is_forked() const {
  return ::getpid() != process_;
}

void ReadAhead::add(const ByLayer& needed) {
  if (is_forked() || !fits(needed)) return;
  const std::lock_guard lock(mutex_);
  layers_.resize(std::max(layers_.size(), needed.size()));
  bool any = false;
  for (std::size_t layer = 0; layer < needed.size(); ++layer) {
    for (const Bytes range : needed[layer]) {
      if (is_resident(range)) continue;
      layers_[layer].push_back({range});
      any = true;
    }
  }
  if (!any || runs_) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    runs_ = true;
  } catch (const std::system_error&) {
    layers_.clear();  // no thread: every byte comes when it is touched
  }
}

void ReadAhead::forget(Bytes bytes) {
  if (is_forked()) return;
  const auto is_within = [&](Bytes part) {
    return part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size();
  };
  std::unique_lock lock(mutex_);
  for (auto& ranges : layers_)
    std::erase_if(ranges, [&](const Range& range) { return is_within(range.left); });
  was_read_.wait(lock, [&] { return reading_.empty() || !is_within(reading_); });
}

void ReadAhead::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && read_piece()) {
  }
}

// Of the earliest layer that has some left.
ReadAhead::Piece ReadAhead::take() {
  const std::lock_guard lock(mutex_);
  const auto next =
      std::ranges::find_if(layers_, [](const auto& ranges) { return !ranges.empty(); });
  runs_ = next != layers_.end();
  if (!runs_) return {};
  Range& range = next->front();
  const std::size_t asked = range.is_begun ? std::min(kAheadBytes, range.left.size()) : 0;
  const Piece piece{first_of(range.left, kPieceBytes),
                    first_of(range.left.subspan(asked), kAheadBytes + kPieceBytes - asked)};
  reading_ = piece.bytes;
  range = {range.left.subspan(piece.bytes.size()), true};
  if (range.left.empty()) next->erase(next->begin());
  return piece;
}

bool ReadAhead::read_piece() {
  const Piece piece = take();
  if (piece.bytes.empty()) return false;
  will_need(piece.asked);
  populate(piece.bytes);
  const std::lock_guard lock(mutex_);
  reading_ = {};
  was_read_.notify_all();
  return true;
}

ReadAhead::ByLayer weights_by_layer(const pc_model_desc& desc, const PackedWeights& packed) {
  ReadAhead::ByLayer needed(desc.n_layers + 1);
  if (desc.ple_projection.data) needed[0].push_back(bytes_of(desc.ple_projection, packed));
  for (std::uint32_t layer = 0; layer < desc.n_layers; ++layer)
    for_each_matrix(desc.layers[layer],
                    [&](const pc_tensor& w) { needed[layer].push_back(bytes_of(w, packed)); });
  needed[desc.n_layers].push_back(bytes_of(desc.lm_head, packed));
  return needed;
}

}  // namespace pc
