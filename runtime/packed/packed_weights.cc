#include "runtime/packed/packed_weights.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <unordered_set>

#include "base/aligned_buffer.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/packed/packed_folder.h"
#include "simd/packed/packed.h"

namespace pc {
namespace {

// Far above any model, far below what offsets can hold.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

// One file, of one model.
struct Target {
  const CacheFolder& folder;
  Digest key;
  Digest weights;
};

// Read, not through the mapping: a disk that fails answers with an error.
// Errors: kCorrupt, kIo, kCancelled.
Status sum_payload(const PackedFile& file, int fd, const Parallel& parallel,
                   const Progress& progress) {
  const PackedExtent& extent = file.extent();
  read_in_order(fd);
  std::vector<AlignedBuffer<std::byte>> buffers;
  for (std::uint32_t i = 0; i < parallel.n_threads(); ++i)
    buffers.emplace_back(static_cast<std::size_t>(extent.largest_chunk));
  std::atomic<bool> sound{true}, readable{true};
  ProgressCount count(progress, extent.payload_bytes);
  parallel.for_each(static_cast<std::uint32_t>(extent.chunks.size()),
                    [&](std::uint32_t task, std::uint32_t thread) {
                      if (!sound || !readable || count.stopped()) return;
                      const PackedChunk& chunk = extent.chunks[task];
                      const auto bytes = buffers[thread].span().first(chunk.bytes);
                      const Status read = read_exactly(fd, extent.payload + chunk.offset, bytes);
                      if (!read.ok() && read.error().code == Code::kIo)
                        readable = false;
                      else if (!read.ok() || !file.chunk_is_sound(task, bytes))
                        sound = false;
                      count.add(chunk.bytes, thread == 0);
                    });
  if (!readable) return error(Code::kIo, "the file of packed weights cannot be read");
  if (!sound) return error(Code::kCorrupt, "damaged file of packed weights: a checksum is wrong");
  if (count.stopped()) return cancelled();
  return ok();
}

struct Opened {
  MappedFile mapping;
  PackedFile file;
  OpenFile on_disk;  // its descriptor is the lease
  bool sums_later = false;
};

// All but the payload is checked. Errors: kNotFound; kIo (not to be trusted, cannot
// be mapped); kCorrupt, kUnsupported, kMismatch.
Result<Opened> open_head(const CacheFolder& folder, const Digest& key) {
  Opened opened;
  PC_TRY(opened.on_disk, folder.open_file(key));
  const auto size = static_cast<std::uint64_t>(opened.on_disk.st.st_size);
  PC_TRY(opened.mapping, MappedFile::map(opened.on_disk.fd.get(), size, folder.path_of(key)));
  expect_all(opened.mapping.bytes());
  PC_TRY(opened.file, PackedFile::open(opened.mapping.bytes()));
  if (opened.file.header().key != key)
    return error(Code::kMismatch, "a file of packed weights under the name of another");
  return opened;
}

Result<Opened> open_file(const Target& target, const PackOptions& options,
                         const Parallel& parallel) {
  PC_TRY(Opened opened, open_head(target.folder, target.key));
  opened.sums_later = options.sums_later && !target.folder.is_verified(target.key, opened.on_disk);
  if (opened.sums_later) return opened;
  PC_CHECK_OK(target.folder.verify_once(target.key, opened.on_disk, [&] {
    return sum_payload(opened.file, opened.on_disk.fd.get(), parallel, options.summing);
  }));
  return opened;
}

bool is_bad(const Error& e) {
  return e.code == Code::kCorrupt || e.code == Code::kUnsupported || e.code == Code::kMismatch;
}

// May a file be made where this one was not opened? One of a stranger, or that the
// system does not let us read, keeps its name.
bool can_be_replaced(const Error& e) {
  return e.code == Code::kNotFound || is_bad(e);
}

// Precondition: the folder's lock is held.
Status make_file(const Target& target, const std::vector<pc_tensor>& tensors,
                 const PackedExtent& extent, const PackOptions& options, const Parallel& parallel) {
  const auto write = [&](int fd) {
    const std::uint64_t n_lost = n_lost_mappings();
    const int failure =
        write_packed(fd, tensors, extent, target.weights, parallel, options.packing);
    // Of a model whose file is cut short meanwhile, zeros are packed. (One that was lost before has
    // no digest to be packed under.)
    return failure == 0 && n_lost_mappings() != n_lost ? EIO : failure;
  };
  target.folder.sweep_unfinished();
  PC_TRY(const Published published,
         target.folder.publish(target.key, extent.file_bytes, write, Durability::kData));
  if (published == Published::kNoSpace)
    return system_error("cannot write", target.folder.path_of(target.key), ENOSPC);
  std::this_thread::sleep_for(options.settle);
  return ok();
}

Result<Opened> open_or_make(const Target& target, const std::vector<pc_tensor>& tensors,
                            const PackedExtent& extent, const PackOptions& options,
                            const Parallel& parallel) {
  auto opened = open_file(target, options, parallel);
  if (opened.ok() || !can_be_replaced(opened.error())) return opened;
  if (!target.folder.writable()) {
    Error failure = std::move(opened).error();
    failure.message += "; the store is read-only, so none is made";
    return failure;
  }
  const FileLock lock = lock_packed(target.folder, options.patience);
  if (lock.state() == LockState::kUnusable)
    return error(Code::kIo, "files cannot be locked in " + target.folder.lock_path());
  if (!lock.held())
    return error(Code::kBudget,
                 "another process is packing weights in " + target.folder.lock_path());
  opened = open_file(target, options, parallel);
  if (opened.ok() || !can_be_replaced(opened.error())) return opened;
  if (is_bad(opened.error())) (void)target.folder.remove(target.key);
  PC_CHECK_OK(make_file(target, tensors, extent, options, parallel));
  return open_file(target, options, parallel);
}

}  // namespace

std::vector<pc_tensor> packable_matrices(const pc_model_desc& desc) {
  std::vector<pc_tensor> tensors;
  std::unordered_set<const void*> seen;  // tied weights are one matrix
  const auto add = [&](const pc_tensor& w) {
    if (simd::packs(static_cast<simd::Type>(w.dtype)) && seen.insert(w.data).second)
      tensors.push_back(w);
  };
  for_each_matrix(desc, add);
  return tensors;
}

std::vector<PackedMatrix> packed_shapes(const std::vector<pc_tensor>& tensors) {
  std::vector<PackedMatrix> shapes;
  for (const pc_tensor& w : tensors) shapes.push_back({w.rows, w.cols, w.dtype, 0});
  return shapes;
}

Status verify_packed(const CacheFolder& folder, const Digest& key, const Parallel& parallel) {
  PC_TRY(const Opened opened, open_head(folder, key));
  return sum_payload(opened.file, opened.on_disk.fd.get(), parallel, {});
}

Result<PackedWeights> PackedWeights::open(const pc_model_desc& desc, const PackOptions& options,
                                          const Parallel& parallel) {
  PackedWeights weights;
  const std::vector<pc_tensor> tensors = packable_matrices(desc);
  if (tensors.empty()) return weights;
  const std::vector<PackedMatrix> shapes = packed_shapes(tensors);
  PC_TRY(const PackedExtent extent, packed_extent(shapes, kMostBytes));
  PC_TRY(CacheFolder folder, open_packed_folder(options.cache_dir, options.writable));
  const Target target{folder, packed_key(options.weights, shapes), options.weights};
  PC_TRY(Opened opened, open_or_make(target, tensors, extent, options, parallel));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    weights.matrices_.emplace(tensors[i].data, opened.file.matrix(i));
  weights.file_ = std::move(opened.mapping);
  if (opened.sums_later)
    weights.check_ = std::make_unique<PackedCheck>(
        std::move(folder), target.key, std::move(opened.file), std::move(opened.on_disk), tensors);
  else
    weights.lease_ = std::move(opened.on_disk.fd);
  return weights;
}

}  // namespace pc
