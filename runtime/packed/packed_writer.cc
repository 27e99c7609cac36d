#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/aligned_buffer.h"
#include "modules/store/file_access.h"  // write_all
#include "runtime/packed/packed_weights.h"
#include "simd/packed/packed.h"

namespace pc {
namespace {

// Header and tables, up to the payload.
AlignedBuffer<std::byte> head_of(const std::vector<PackedMatrix>& shapes,
                                 const PackedExtent& extent, const Digest& weights,
                                 const std::vector<std::uint64_t>& checksums) {
  AlignedBuffer<std::byte> head(static_cast<std::size_t>(extent.payload));
  std::memset(head.data(), 0, head.size());
  std::memcpy(head.data() + sizeof(PackedHeader), shapes.data(),
              shapes.size() * sizeof(PackedMatrix));
  std::memcpy(head.data() + extent.checksums, checksums.data(),
              checksums.size() * sizeof(std::uint64_t));
  PackedHeader header;
  header.magic = kPackedMagic;
  header.endian = kPackedEndianTag;
  header.version = kPackedFileVersion;
  header.header_bytes = sizeof header;
  header.pack_version = simd::kPackVersion;
  header.n_matrices = static_cast<std::uint32_t>(shapes.size());
  header.n_chunks = checksums.size();
  header.payload_bytes = extent.payload_bytes;
  header.file_bytes = extent.file_bytes;
  header.key = packed_key(weights, shapes);
  header.weights = weights;
  std::memcpy(head.data(), &header, sizeof header);
  header.seal = packed_seal(head.span());
  std::memcpy(head.data(), &header, sizeof header);
  return head;
}

// Fills the page cache of a new file with zeros, 2 MiB at a time, each right before
// anything else is written there: the kernel then keeps it in pages of 2 MiB, which it
// also maps as such, where the file system can. Chunks alone would leave pages of the
// size of what each of them writes. begin() from any thread: who comes second waits.
class LargePages {
 public:
  LargePages(int fd, std::uint64_t file_bytes)
      : fd_(fd), file_bytes_(file_bytes), begun_(file_bytes / kBytes + 1), zeros_(kBytes) {
    std::memset(zeros_.data(), 0, zeros_.size());
  }

  // Of all pages that [offset, offset + n) touches. 0 or an errno.
  int begin(std::uint64_t offset, std::uint64_t n) {
    int failure = 0;
    for (std::uint64_t page = offset / kBytes; page * kBytes < offset + n; ++page) {
      std::call_once(begun_[page], [&] {
        const std::uint64_t at = page * kBytes, size = std::min(kBytes, file_bytes_ - at);
        failure = write_all(fd_, at, zeros_.span().first(static_cast<std::size_t>(size)));
      });
    }
    return failure;
  }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{2} << 20;
  int fd_;
  std::uint64_t file_bytes_;
  std::vector<std::once_flag> begun_;
  AlignedBuffer<std::byte> zeros_;
};

// One chunk into its buffer: the rows from its first panel on are a matrix, too.
void pack_chunk(const pc_tensor& w, const PackedChunk& chunk, std::byte* out) {
  const auto type = static_cast<simd::Type>(w.dtype);
  const auto first_row = static_cast<std::size_t>(chunk.first_panel) * simd::kPanelRows;
  const auto* rows =
      static_cast<const std::byte*>(w.data) + first_row * simd::bytes_of(type, w.cols);
  for (std::size_t panel = 0; panel < chunk.n_panels; ++panel)
    simd::pack_panel(type, rows, w.rows - first_row, w.cols, panel, out);
}

}  // namespace

int write_packed(int fd, const std::vector<pc_tensor>& tensors, const PackedExtent& extent,
                 const Digest& weights, const Parallel& parallel, const Progress& progress) {
  std::vector<AlignedBuffer<std::byte>> buffers;
  for (std::uint32_t i = 0; i < parallel.n_threads(); ++i)
    buffers.emplace_back(static_cast<std::size_t>(extent.largest_chunk));
  std::vector<std::uint64_t> checksums(extent.chunks.size());
  LargePages pages(fd, extent.file_bytes);
  std::atomic<int> failure{0};
  ProgressCount count(progress, extent.payload_bytes);
  parallel.for_each(static_cast<std::uint32_t>(extent.chunks.size()),
                    [&](std::uint32_t task, std::uint32_t thread) {
                      if (failure.load(std::memory_order_relaxed) != 0 || count.stopped()) return;
                      const PackedChunk& chunk = extent.chunks[task];
                      const auto bytes = buffers[thread].span().first(chunk.bytes);
                      pack_chunk(tensors[chunk.matrix], chunk, bytes.data());
                      checksums[task] = checksum64(bytes);
                      const std::uint64_t at = extent.payload + chunk.offset;
                      int e = pages.begin(at, chunk.bytes);
                      if (e == 0) e = write_all(fd, at, bytes);
                      if (e != 0) failure = e;
                      count.add(chunk.bytes, thread == 0);
                    });
  if (failure != 0) return failure;
  if (count.stopped()) return ECANCELED;
  // What says that the file is whole comes last.
  if (const int e = pages.begin(0, extent.payload)) return e;
  return write_all(fd, 0, head_of(packed_shapes(tensors), extent, weights, checksums).span());
}

}  // namespace pc
