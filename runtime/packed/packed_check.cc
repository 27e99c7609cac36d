#include "runtime/packed/packed_check.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"  // read_in_order
#include "runtime/packed/packed_folder.h"
#include "simd/packed/packed.h"

namespace pc {

PackedCheck::PackedCheck(CacheFolder folder, const Digest& key, PackedFile file, OpenFile on_disk,
                         std::vector<pc_tensor> tensors)
    : folder_(std::move(folder)),
      key_(key),
      file_(std::move(file)),
      on_disk_(std::move(on_disk)),
      tensors_(std::move(tensors)),
      looks_(file_.matrices().size()),
      packed_again_(looks_.size()),
      process_(::getpid()) {
  PC_EXPECT(tensors_.size() == looks_.size());
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) {
    run({});
  }
}

PackedCheck::~PackedCheck() {
  thread_.request_stop();
  if (!thread_.joinable()) return;
  is_forked() ? thread_.detach() : thread_.join();
}

bool PackedCheck::is_forked() const {
  return ::getpid() != process_;
}

const std::byte* PackedCheck::sound(const std::byte* matrix) {
  if (all_sound_.load(std::memory_order_acquire)) return matrix;
  const std::vector<std::uint64_t>& offsets = file_.extent().matrices;
  const auto offset = static_cast<std::uint64_t>(matrix - file_.matrix(0));
  const auto at = std::ranges::lower_bound(offsets, offsets.front() + offset);
  PC_EXPECT(at != offsets.end() && *at == offsets.front() + offset);
  const auto index = static_cast<std::size_t>(at - offsets.begin());
  Look look = looks_[index].load(std::memory_order_acquire);
  if (look == Look::kNotYet) {
    if (is_forked()) std::call_once(forked_, [this] { run_forked(); });
    looks_[index].wait(Look::kNotYet, std::memory_order_acquire);
    look = looks_[index].load(std::memory_order_acquire);
  }
  if (look == Look::kPackedAgain) return packed_again_[index].data();
  return look == Look::kSound ? matrix : nullptr;
}

void PackedCheck::run(const std::stop_token& stop) noexcept try {
  const Status whole = folder_.verify_once(key_, on_disk_, [&] { return sum(stop); });
  if (whole.ok()) settle(Look::kSound);  // also where another process has verified it meanwhile
  if (whole.ok()) all_sound_.store(true, std::memory_order_release);
  if (!whole.ok() && whole.error().code == Code::kCorrupt) remove_damaged();
} catch (const std::bad_alloc&) {
  settle(Look::kLost);
}

// Leaves it to the other process to say on the disk what was found. What that had looked at before
// stays as it was: a matrix may be damaged although none of these is.
void PackedCheck::run_forked() noexcept try { (void)sum({}); } catch (const std::bad_alloc&) {
  settle(Look::kLost);
}

// Of matrices that were not looked at, for those who wait for them.
void PackedCheck::settle(Look found) noexcept {
  for (std::atomic<Look>& look : looks_) {
    Look not_yet = Look::kNotYet;
    look.compare_exchange_strong(not_yet, found);
    look.notify_all();
  }
}

// Of matrices that were not looked at. Read, not through the mapping: a disk that fails answers
// with an error. kIo, kCorrupt, kCancelled.
Status PackedCheck::sum(const std::stop_token& stop) {
  const PackedExtent& extent = file_.extent();
  AlignedBuffer<std::byte> buffer(static_cast<std::size_t>(extent.largest_chunk));
  read_in_order(on_disk_.fd.get());
  Status whole = ok();
  bool sound = true;  // this matrix, until here
  for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
    if (stop.stop_requested()) return cancelled();
    const PackedChunk& chunk = extent.chunks[i];
    if (looks_[chunk.matrix].load(std::memory_order_acquire) != Look::kNotYet) continue;
    const auto bytes = buffer.span().first(chunk.bytes);
    const Status read = read_exactly(on_disk_.fd.get(), extent.payload + chunk.offset, bytes);
    if (!read.ok() || !file_.chunk_is_sound(i, bytes)) {
      sound = false;
      whole = read.ok() ? error(Code::kCorrupt, "a checksum is wrong") : read;
    }
    const bool is_last =
        i + 1 == extent.chunks.size() || extent.chunks[i + 1].matrix != chunk.matrix;
    if (!is_last) continue;
    looks_[chunk.matrix].store(sound ? Look::kSound : pack_again(chunk.matrix),
                               std::memory_order_release);
    looks_[chunk.matrix].notify_all();
    sound = true;
  }
  return whole;
}

PackedCheck::Look PackedCheck::pack_again(std::uint32_t matrix) noexcept try {
  const pc_tensor& w = tensors_[matrix];
  const auto type = static_cast<simd::Type>(w.dtype);
  AlignedBuffer<std::byte> panels(simd::packed_bytes(type, w.rows, w.cols));
  for (std::size_t panel = 0; panel * simd::kPanelRows < w.rows; ++panel)
    simd::pack_panel(type, static_cast<const std::byte*>(w.data), w.rows, w.cols, panel,
                     panels.data());
  packed_again_[matrix] = std::move(panels);
  return Look::kPackedAgain;
} catch (const std::bad_alloc&) {
  return Look::kLost;
}

// Unless another process has replaced it.
void PackedCheck::remove_damaged() const {
  if (!folder_.writable()) return;
  const FileLock lock = lock_packed(folder_, std::chrono::milliseconds(0));
  if (!lock.held()) return;
  const auto now = folder_.open_file(key_);
  if (now.ok() && now->st.st_ino == on_disk_.st.st_ino && now->st.st_dev == on_disk_.st.st_dev)
    (void)folder_.remove(key_);
}

}  // namespace pc
