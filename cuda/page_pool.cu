#include <algorithm>

#include "cuda/page_pool.h"

namespace pc::cuda {
namespace {

// Memory is asked for in pieces of at most so much, or of a page where that is larger: 512 tokens
// of a model of 7 billion parameters without grouped heads.
constexpr std::size_t kPieceBytes = std::size_t{256} << 20;
constexpr std::size_t kMostPages = 64;  // of a piece: 4096 tokens

}  // namespace

// A page that somebody holds.
struct PagePool::Taken {
  Rows rows{};
  std::shared_ptr<Pieces> pieces;  // none: not taken after all
  ~Taken() {
    if (!pieces) return;
    const std::lock_guard lock(pieces->mutex);
    pieces->free.push_back(rows);
  }
};

PagePool::PagePool(const KvShape& shape) : shape_(shape), pieces_(std::make_shared<Pieces>()) {}

Result<PagePool::Page> PagePool::take() {
  auto page = std::make_shared<Taken>();
  const std::lock_guard lock(pieces_->mutex);
  if (pieces_->free.empty()) PC_CHECK_OK(add_piece());
  page->rows = pieces_->free.back();
  page->pieces = pieces_;
  pieces_->free.pop_back();
  return Page(page, &page->rows);
}

// Called with the mutex held.
Status PagePool::add_piece() {
  const std::size_t page_bytes = shape_.bytes(kPageTokens);
  const std::size_t n = std::clamp<std::size_t>(kPieceBytes / page_bytes, 1, kMostPages);
  PC_TRY(auto buffer, DeviceBuffer<std::byte>::make(n * page_bytes));
  const KvPlanesView planes{buffer.data(), static_cast<std::uint32_t>(n * kPageTokens)};
  pieces_->free.reserve(pieces_->n_pages + n);  // giving back never fails
  pieces_->buffers.push_back(std::move(buffer));
  pieces_->n_pages += n;
  for (auto i = static_cast<std::uint32_t>(n); i-- > 0;)
    pieces_->free.push_back({planes, i * kPageTokens});
  return ok();
}

std::size_t PagePool::let_go() {
  const std::lock_guard lock(pieces_->mutex);
  std::size_t bytes = 0;
  std::erase_if(pieces_->buffers, [&](const DeviceBuffer<std::byte>& buffer) {
    const auto is_in = [&](const Rows& page) { return page.planes.data == buffer.data(); };
    const std::size_t n_pages = buffer.bytes() / shape_.bytes(kPageTokens);
    if (static_cast<std::size_t>(std::ranges::count_if(pieces_->free, is_in)) != n_pages)
      return false;
    std::erase_if(pieces_->free, is_in);
    pieces_->n_pages -= n_pages;
    bytes += buffer.bytes();
    return true;
  });
  return bytes;
}

}  // namespace pc::cuda
