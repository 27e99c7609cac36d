#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "cuda/states/kv_files.h"
#include "cuda/states/uploader.h"

namespace pc::cuda {
namespace {

// On a host of 16 threads, 8 with two pieces each keep an H100's link of 55 GB/s at 45 GB/s; 16, or
// one piece each, at 41 to 43: what they read and what crosses the link share the host's memory.
constexpr unsigned kThreads = 8;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

constexpr const char* kDoing = "copying a module to the device";

}  // namespace

Uploader::Uploader(const KvShape& shape, Arrived arrived)
    : shape_(shape), arrived_(std::move(arrived)) {}

Result<std::unique_ptr<Uploader>> Uploader::make(const KvShape& shape, Arrived arrived) {
  std::unique_ptr<Uploader> uploader(new Uploader(shape, std::move(arrived)));
  PC_CHECK_OK(uploader->start());
  return Result<std::unique_ptr<Uploader>>(std::move(uploader));
}

Status Uploader::start() {
  const unsigned n = std::clamp(std::thread::hardware_concurrency(), 1u, kThreads);
  lanes_.resize(n);
  for (Lane& lane : lanes_)
    for (Slot& slot : lane) PC_CHECK_OK(make_slot(slot));
  try {
    for (Lane& lane : lanes_) threads_.emplace_back([this, &lane] { work(lane); });
  } catch (const std::system_error&) {
    if (threads_.empty())
      return error(Code::kOutOfMemory, "no thread could be started that copies modules");
  }
  return ok();
}

Status Uploader::make_slot(Slot& slot) const {
  PC_TRY(slot.stream, make_stream());
  PC_TRY(slot.host, PinnedBuffer<std::byte>::make(kPieceBytes));
  PC_TRY(slot.packed, DeviceBuffer<std::byte>::make(kPieceBytes));
  return ok();
}

Uploader::~Uploader() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<Uploader::Piece> Uploader::pieces_of(const std::shared_ptr<ModuleCopy>& copy,
                                                 const ModuleRun& run) const {
  const std::size_t block_bytes = file_block_bytes(shape_.stored, shape_.head_dim);
  const auto most_blocks = static_cast<std::uint32_t>(kPieceBytes / block_bytes);
  const std::uint32_t n_planes = 2 * shape_.n_layers * shape_.n_kv_heads;
  std::vector<Piece> pieces;
  if (run.n_blocks == 0) return pieces;
  const std::uint32_t planes_at_once = std::max(1u, most_blocks / run.n_blocks);
  for (std::uint32_t plane = 0; plane < n_planes; plane += planes_at_once) {
    const std::uint32_t planes = std::min(planes_at_once, n_planes - plane);
    for (std::uint32_t block = 0; block < run.n_blocks; block += most_blocks)
      pieces.push_back(
          {copy, &run, plane, planes, block, std::min(most_blocks, run.n_blocks - block)});
  }
  return pieces;
}

void Uploader::add(std::vector<Piece> pieces) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), pieces.begin(), pieces.end());  // all of them or none
  }
  wake_.notify_all();
}

void Uploader::add(std::function<void()> chore) {
  {
    const std::lock_guard lock(mutex_);
    chores_.push_back(std::move(chore));
  }
  wake_.notify_one();
}

void Uploader::work(Lane& lane) {
  cudaSetDevice(0);  // where it is refused, what follows says why
  for (unsigned turn = 0;; turn ^= 1) {
    Slot &free = lane[turn], &other = lane[turn ^ 1];
    const bool is_idle = other.piece.copy == nullptr;
    const std::optional<Task> task = take(is_idle);
    if (task && !task->chore) begin(task->piece, free);
    end(other);
    if (task && task->chore) task->chore();
    if (!task && is_idle) return;
  }
}

std::optional<Uploader::Task> Uploader::take(bool waits) {
  const auto pop = [](auto& queue) {
    auto first = std::move(queue.front());
    queue.pop_front();
    return first;
  };
  std::unique_lock lock(mutex_);
  if (waits) wake_.wait(lock, [&] { return ends_ || !chores_.empty() || !waiting_.empty(); });
  if (!chores_.empty()) return Task{pop(chores_), {}};
  if (!waiting_.empty()) return Task{{}, pop(waiting_)};
  return std::nullopt;
}

void Uploader::begin(const Piece& piece, Slot& slot) const {
  slot.piece = piece;
  try {
    slot.queued = queue(piece, slot);
  } catch (const std::bad_alloc&) {  // a sentence about an error, no more
    slot.queued = Error{Code::kOutOfMemory, {}, 0, 0};
  }
}

// Whatever became of it, nothing of it is under way: the slot's memory is the next piece's.
void Uploader::end(Slot& slot) const {
  const Piece piece = std::exchange(slot.piece, {});
  if (!piece.copy) return;
  const cudaError_t synchronized = cudaStreamSynchronize(slot.stream.get());
  try {
    Status done = check(synchronized, kDoing);
    arrived_(piece, slot.queued.ok() ? std::move(done) : std::exchange(slot.queued, ok()));
  } catch (const std::bad_alloc&) {
    arrived_(piece, Error{Code::kOutOfMemory, {}, 0, 0});
  }
}

Status Uploader::queue(const Piece& piece, Slot& slot) const {
  const std::size_t block_bytes = file_block_bytes(shape_.stored, shape_.head_dim);
  const std::size_t plane_bytes = piece.n_blocks * block_bytes;
  const pc_kv_segment& source = piece.run->source;
  const std::size_t first =
      std::size_t{source.first_block} + piece.run->first_block + piece.first_block;
  for (std::uint32_t i = 0; i < piece.n_planes; ++i) {
    const std::size_t plane = piece.first_plane + i;
    const auto* from = static_cast<const std::byte*>(source.data) +
                       (plane * source.plane_blocks + first) * block_bytes;
    std::memcpy(slot.host.data() + i * plane_bytes, from, plane_bytes);
  }
  PC_CHECK_OK(
      check(cudaMemcpyAsync(slot.packed.data(), slot.host.data(), piece.n_planes * plane_bytes,
                            cudaMemcpyHostToDevice, slot.stream.get()),
            kDoing));
  unpack_rows({shape_, slot.packed.data(), piece.first_plane, piece.n_planes, piece.n_blocks,
               piece.run->first_row + piece.first_block * kFileBlockTokens,
               piece.n_blocks * kFileBlockTokens, piece.copy->planes()},
              slot.stream.get());
  return check_launches(kDoing);
}

}  // namespace pc::cuda
