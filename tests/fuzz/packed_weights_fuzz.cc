// Fuzzes the reader of files of packed weights.
//
// The first byte of the input chooses what the rest is: a file; changes
// (offset u16, byte) to a sound file; or such changes under a key and a seal that
// fit, which is what a hostile author sends and the only way past SHA-256.
// Whatever opens must keep its promises: all matrices and chunks lie inside the
// bytes given, and every byte of them can be read.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "runtime/packed/packed_file.h"
#include "runtime/packed/packed_weights.h"
#include "simd/packed/packed.h"

namespace {

using pc::PackedFile;

void require(bool promise) {
  if (!promise) std::abort();
}

// A sound file of three small matrices.
std::vector<std::byte> make_file() {
  static const std::vector<std::uint8_t> blocks(64 * 1024, 1);
  const std::vector<pc_tensor> tensors = {{blocks.data(), PC_DTYPE_Q8_0, 17, 32},
                                          {blocks.data(), PC_DTYPE_Q4_0, 3, 64},
                                          {blocks.data(), PC_DTYPE_Q6_K, 16, 256}};
  const auto extent = pc::packed_extent(pc::packed_shapes(tensors), 1 << 20);
  require(extent.ok());
  const int fd = ::memfd_create("packed", MFD_CLOEXEC);
  require(fd >= 0 && pc::write_packed(fd, tensors, *extent, pc::Digest{1}, pc::Parallel(1)) == 0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(extent->file_bytes));
  require(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  ::close(fd);
  return bytes;
}

const std::vector<std::byte>& base_file() {
  static const std::vector<std::byte> bytes = make_file();
  return bytes;
}

void open_and_use(std::span<const std::byte> bytes) {
  const auto file = PackedFile::open(bytes);
  if (!file.ok()) return;
  const pc::PackedExtent& extent = file->extent();
  require(extent.matrices.size() == file->matrices().size());
  std::uint64_t covered = 0;
  float sum = 0;
  for (std::size_t i = 0; i < extent.matrices.size(); ++i) {
    const pc::PackedMatrix& m = file->matrices()[i];
    const auto type = static_cast<pc::simd::Type>(m.type);
    const std::byte* data = file->matrix(i);
    require(data == bytes.data() + extent.payload + covered);
    covered += pc::simd::packed_bytes(type, m.rows, m.cols);
    require(covered <= bytes.size() - extent.payload);
    sum += pc::simd::packed_element(type, data, m.cols, m.rows - 1, m.cols - 1);
  }
  require(extent.payload + covered == bytes.size());
  std::uint64_t summed = 0;
  for (std::size_t c = 0; c < extent.chunks.size(); ++c) {
    const pc::PackedChunk& chunk = extent.chunks[c];
    require(chunk.offset == summed && chunk.bytes <= extent.largest_chunk);
    summed += chunk.bytes;
    (void)file->chunk_is_sound(c, bytes.subspan(extent.payload + chunk.offset, chunk.bytes));
  }
  require(summed == covered);
  const volatile float read = sum;
  (void)read;
}

void open_raw(std::span<const std::byte> input) {
  pc::AlignedBuffer<std::byte> file(input.size());
  if (!input.empty()) std::memcpy(file.data(), input.data(), input.size());
  open_and_use(file.span());
}

// What a hostile author can make fit.
void reseal(std::span<std::byte> file) {
  pc::PackedHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  const std::size_t most = (file.size() - sizeof header) / sizeof(pc::PackedMatrix);
  std::vector<pc::PackedMatrix> matrices(std::min<std::size_t>(header.n_matrices, most));
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    std::memcpy(&matrices[i], file.data() + sizeof header + i * sizeof(pc::PackedMatrix),
                sizeof(pc::PackedMatrix));
  }
  header.key = pc::packed_key(header.weights, matrices);
  std::memcpy(file.data(), &header, sizeof header);
  header.seal = pc::packed_seal(file.first(pc::kPackedPayloadAlign));
  std::memcpy(file.data(), &header, sizeof header);
}

void open_changed(std::span<const std::byte> changes, bool with_seal) {
  pc::AlignedBuffer<std::byte> file(base_file().size());
  std::memcpy(file.data(), base_file().data(), file.size());
  for (; changes.size() >= 3; changes = changes.subspan(3)) {
    const std::size_t at =
        static_cast<std::size_t>(changes[0]) << 8 | static_cast<std::size_t>(changes[1]);
    file[at % file.size()] = changes[2];
  }
  if (with_seal) reseal(file.span());
  open_and_use(file.span());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 3) {
    case 0:
      open_raw(rest);
      break;
    case 1:
      open_changed(rest, false);
      break;
    case 2:
      open_changed(rest, true);
      break;
  }
  return 0;
}
