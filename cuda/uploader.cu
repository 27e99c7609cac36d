#include <algorithm>
#include <cstring>
#include <system_error>

#include "cuda/kv_files.h"
#include "cuda/uploader.h"

namespace pc::cuda {
namespace {

// A thread copies some 10 GB/s and a PCIe 5 link takes 50: this many keep it busy.
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
  for (unsigned i = 0; i < n; ++i) {
    Lane& lane = lanes_.emplace_back();
    PC_TRY(lane.stream, make_stream());
    PC_TRY(lane.host, PinnedBuffer<std::byte>::make(kPieceBytes));
    PC_TRY(lane.packed, DeviceBuffer<std::byte>::make(kPieceBytes));
  }
  try {
    for (Lane& lane : lanes_) threads_.emplace_back([this, &lane] { work(lane); });
  } catch (const std::system_error&) {
    if (threads_.empty())
      return error(Code::kOutOfMemory, "no thread could be started that copies modules");
  }
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
  while (true) {
    std::function<void()> chore;
    Piece piece;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ends_ || !chores_.empty() || !waiting_.empty(); });
      if (!chores_.empty()) {
        chore = std::move(chores_.front());
        chores_.pop_front();
      } else if (!waiting_.empty()) {
        piece = std::move(waiting_.front());
        waiting_.pop_front();
      } else {
        return;
      }
    }
    if (chore) {
      chore();
      continue;
    }
    try {
      arrived_(piece, bring(piece, lane));
    } catch (const std::bad_alloc&) {  // a sentence about an error, no more
      arrived_(piece, Error{Code::kOutOfMemory, {}, 0, 0});
    }
  }
}

// Whatever became of it, nothing of it is under way: the lane's memory is the next piece's.
Status Uploader::bring(const Piece& piece, Lane& lane) const {
  Status queued = queue(piece, lane);
  Status done = check(cudaStreamSynchronize(lane.stream.get()), kDoing);
  return queued.ok() ? done : queued;
}

Status Uploader::queue(const Piece& piece, Lane& lane) const {
  const std::size_t block_bytes = file_block_bytes(shape_.stored, shape_.head_dim);
  const std::size_t plane_bytes = piece.n_blocks * block_bytes;
  const pc_kv_segment& source = piece.run->source;
  const std::size_t first = (std::size_t{piece.run->first_block} + piece.first_block) * block_bytes;
  for (std::uint32_t i = 0; i < piece.n_planes; ++i) {
    const std::uint32_t plane = piece.first_plane + i;
    const std::size_t layer = plane / 2 / shape_.n_kv_heads, head = plane / 2 % shape_.n_kv_heads;
    const auto* from = static_cast<const std::byte*>(source.data) +
                       layer * source.layer_stride_bytes + head * source.head_stride_bytes +
                       (plane % 2) * source.value_offset_bytes + first;
    std::memcpy(lane.host.data() + i * plane_bytes, from, plane_bytes);
  }
  PC_CHECK_OK(
      check(cudaMemcpyAsync(lane.packed.data(), lane.host.data(), piece.n_planes * plane_bytes,
                            cudaMemcpyHostToDevice, lane.stream.get()),
            kDoing));
  unpack_rows({shape_, lane.packed.data(), piece.first_plane, piece.n_planes, piece.n_blocks,
               piece.run->first_row + piece.first_block * kFileBlockTokens,
               piece.n_blocks * kFileBlockTokens, piece.copy->planes()},
              lane.stream.get());
  return check_launches(kDoing);
}

}  // namespace pc::cuda
