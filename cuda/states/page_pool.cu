#include <algorithm>

#include "cuda/states/page_pool.h"

namespace pc::cuda {
namespace {

// Memory is asked for in pieces of at most so much, or of a page where that is larger: 512 tokens
// of a model of 7 billion parameters without grouped heads. The host's is locked in smaller ones:
// it is somebody else's, and taken because little is missing.
constexpr std::size_t kPieceBytes = std::size_t{256} << 20;
constexpr std::size_t kHostPieceBytes = std::size_t{32} << 20;
constexpr std::size_t kMostPages = 64;  // of a piece: 4096 tokens

}  // namespace

// A page that somebody holds.
struct PagePool::Taken {
  Rows rows{};
  std::shared_ptr<All> all;  // none: not taken after all
  ~Taken() {
    if (!all) return;
    const std::lock_guard lock(all->mutex);
    all->of(rows).free.push_back(rows);
  }
};

PagePool::PagePool(const KvShape& shape, std::shared_ptr<HostRoom> host)
    : shape_(shape), host_(std::move(host)), all_(std::make_shared<All>()) {}

Result<PagePool::Page> PagePool::take(Room room) {
  auto page = std::make_shared<Taken>();
  const std::lock_guard lock(all_->mutex);
  Pieces* from = &all_->device;
  Status there = from->free.empty() ? add_piece(false) : ok();
  if (!there.ok() && there.error().code == Code::kOutOfMemory && room == Room::kDeviceOrHost) {
    from = &all_->host;
    there = from->free.empty() ? add_piece(true) : ok();
  }
  PC_CHECK_OK(std::move(there));
  page->rows = from->free.back();
  page->all = all_;
  from->free.pop_back();
  return Page(page, &page->rows);
}

// Called with the mutex held.
Status PagePool::add_piece(bool on_host) {
  const std::size_t page_bytes = shape_.bytes(kPageTokens);
  const std::size_t most = on_host ? kHostPieceBytes : kPieceBytes;
  const std::size_t n = std::clamp<std::size_t>(most / page_bytes, 1, kMostPages);
  PC_TRY(auto buffer, on_host ? StateMemory::on_host(n * page_bytes, host_)
                              : StateMemory::on_device(n * page_bytes));
  const KvPlanesView planes{buffer.data(), static_cast<std::uint32_t>(n * kPageTokens)};
  Pieces& pieces = on_host ? all_->host : all_->device;
  pieces.free.reserve(pieces.n_pages + n);  // giving back never fails
  pieces.buffers.push_back(std::move(buffer));
  pieces.n_pages += n;
  for (auto i = static_cast<std::uint32_t>(n); i-- > 0;)
    pieces.free.push_back({planes, i * kPageTokens, on_host});
  return ok();
}

bool PagePool::let_go() {
  const std::lock_guard lock(all_->mutex);
  const bool device = let_go(all_->device);
  return let_go(all_->host) || device;
}

bool PagePool::let_go(Pieces& pieces) const {
  return std::erase_if(pieces.buffers, [&](const StateMemory& buffer) {
           const auto is_in = [&](const Rows& page) { return page.planes.data == buffer.data(); };
           const std::size_t n_pages = buffer.bytes() / shape_.bytes(kPageTokens);
           if (static_cast<std::size_t>(std::ranges::count_if(pieces.free, is_in)) != n_pages)
             return false;
           std::erase_if(pieces.free, is_in);
           pieces.n_pages -= n_pages;
           return true;
         }) != 0;
}

}  // namespace pc::cuda
