#include <algorithm>

#include "cuda/page_pool.h"

namespace pc::cuda {
namespace {

// Memory is asked for in pieces of at most so much, or of a page where that is larger: 512 tokens
// of a model of 7 billion parameters without grouped heads.
constexpr std::size_t kPieceBytes = std::size_t{256} << 20;
constexpr std::size_t kMostPages = 64;  // of a piece: 4096 tokens

}  // namespace

PagePool::PagePool(const KvShape& shape) : shape_(shape), pieces_(std::make_shared<Pieces>()) {}

Result<PagePool::Page> PagePool::take() {
  const std::lock_guard lock(pieces_->mutex);
  std::vector<Rows>& free = pieces_->free;
  if (free.empty()) {
    const std::size_t page_bytes = shape_.bytes(kPageTokens);
    const std::size_t n = std::clamp<std::size_t>(kPieceBytes / page_bytes, 1, kMostPages);
    PC_TRY(auto buffer, DeviceBuffer<std::byte>::make(n * page_bytes));
    const KvPlanesView planes{buffer.data(), static_cast<std::uint32_t>(n * kPageTokens)};
    for (auto i = static_cast<std::uint32_t>(n); i-- > 0;)
      free.push_back({planes, i * kPageTokens});
    pieces_->buffers.push_back(std::move(buffer));
  }
  auto* page = new Rows(free.back());
  free.pop_back();
  return Page(page, [pieces = pieces_](const Rows* released) {
    const std::lock_guard give_back(pieces->mutex);
    pieces->free.push_back(*released);
    delete released;
  });
}

std::size_t PagePool::bytes_taken() const {
  const std::lock_guard lock(pieces_->mutex);
  std::size_t bytes = 0;
  for (const auto& buffer : pieces_->buffers) bytes += buffer.bytes();
  return bytes;
}

}  // namespace pc::cuda
