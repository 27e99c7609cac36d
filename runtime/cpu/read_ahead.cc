#include "runtime/cpu/read_ahead.h"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "runtime/backend/layer_parts.h"
#include "simd/packed/packed.h"

namespace pc {
namespace {

// Asked of the kernel at a time: some milliseconds of a slow disk, so that the
// thread soon hears that it should stop.
constexpr std::size_t kPieceBytes = 1 << 20;
// Asked for before the piece that is waited for: keeps a disk's queue filled.
constexpr std::size_t kAheadBytes = 8 * kPieceBytes;

using Bytes = std::span<const std::byte>;

Bytes piece_of(Bytes range, std::size_t offset) {
  if (offset >= range.size()) return {};
  return range.subspan(offset, std::min(kPieceBytes, range.size() - offset));
}

// Looks at one page of each piece: 640 of 0.3 us for 640 MiB.
bool is_resident(const std::vector<Bytes>& ranges) {
  for (const Bytes range : ranges) {
    for (std::size_t at = 0; at < range.size(); at += kPieceBytes)
      if (!pc::is_resident(&range[at])) return false;
  }
  return true;
}

// Small enough to stay, once it is there?
bool fits(const std::vector<Bytes>& ranges) {
  std::uint64_t bytes = 0;
  for (const Bytes range : ranges) bytes += range.size();
  return bytes <= machine_memory_bytes() / 2;
}

void read(const std::stop_token& stop, const std::vector<Bytes>& ranges) {
  for (const Bytes range : ranges) {
    for (std::size_t at = 0; at < kAheadBytes; at += kPieceBytes) will_need(piece_of(range, at));
    for (std::size_t at = 0; at < range.size(); at += kPieceBytes) {
      if (stop.stop_requested()) return;
      will_need(piece_of(range, at + kAheadBytes));
      populate(piece_of(range, at));
    }
  }
}

}  // namespace

ReadAhead::ReadAhead(std::vector<Bytes> ranges) {
  if (is_resident(ranges) || !fits(ranges)) return;
  try {
    thread_ = std::jthread(
        [ranges = std::move(ranges)](const std::stop_token& stop) { read(stop, ranges); });
  } catch (const std::system_error&) {
    // No thread: every byte comes when it is touched.
  }
}

std::vector<Bytes> weights_in_order(const pc_model_desc& desc, const PackedWeights& packed) {
  std::vector<Bytes> ranges;
  const auto add = [&](const pc_tensor& w) {
    const auto type = static_cast<simd::Type>(w.dtype);
    const std::byte* panels = packed.find(w.data);
    ranges.push_back(panels ? Bytes(panels, simd::packed_bytes(type, w.rows, w.cols))
                            : Bytes(static_cast<const std::byte*>(w.data),
                                    simd::bytes_of(type, std::size_t{w.rows} * w.cols)));
  };
  for_each_matrix(desc, add);
  return ranges;
}

}  // namespace pc
