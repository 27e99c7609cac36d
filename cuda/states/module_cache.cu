#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "cuda/states/module_cache.h"

namespace pc::cuda {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

bool is_same_module(const ModuleCopy& copy, const Identity& identity, std::uint32_t room) {
  return identity != Identity{} && copy.identity() == identity && copy.room() == room;
}

}  // namespace

Result<std::unique_ptr<ModuleCache>> ModuleCache::make(const KvShape& shape,
                                                       std::size_t budget_bytes,
                                                       std::shared_ptr<HostRoom> host) {
  std::unique_ptr<ModuleCache> cache(new ModuleCache(shape, budget_bytes, std::move(host)));
  ModuleCache* self = cache.get();
  PC_TRY(cache->uploader_,
         Uploader::make(shape, [self](const Uploader::Piece& piece, Status status) {
           self->arrived(piece, std::move(status));
         }));
  return Result<std::unique_ptr<ModuleCache>>(std::move(cache));
}

std::shared_ptr<ModuleCopy> ModuleCache::add(const Identity& identity,
                                             const std::vector<ModuleRun>& runs) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t room = room_of(runs);
  for (const auto& copy : copies_) {
    if (!is_same_module(*copy, identity, room)) continue;
    copy->bringers_.push_back(&runs);
    return copy;
  }
  copies_.push_back(std::make_shared<ModuleCopy>(shape_, identity, room));
  copies_.back()->bringers_.push_back(&runs);
  return copies_.back();
}

void ModuleCache::drop(const std::shared_ptr<ModuleCopy>& copy,
                       const std::vector<ModuleRun>& runs) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return copy->n_uploading_ == 0 && copy->n_ahead_ == 0; });
  std::erase(copy->bringers_, &runs);
  // Without a name nobody can ask for it again.
  if (copy->bringers_.empty() && copy->identity_ == Identity{} && copy->n_pins_ == 0)
    free_memory(*copy);
  forget_unused();
}

void ModuleCache::prefetch(const std::shared_ptr<ModuleCopy>& copy) {
  const std::lock_guard lock(mutex_);
  uploader_->add([this, copy] { load_ahead(copy); });
  ++copy->n_ahead_;  // nobody looks at it before the mutex is free
}

void ModuleCache::load_ahead(const std::shared_ptr<ModuleCopy>& copy) {
  {
    const std::lock_guard lock(mutex_);
    --copy->n_ahead_;
    const bool wanted = !copy->memory_.data() && !copy->bringers_.empty();
    while (wanted && bytes_ + copy->bytes() > budget_bytes_ && evict_one(false)) {
    }
    try {
      if (wanted && bytes_ + copy->bytes() <= budget_bytes_)
        static_cast<void>(load(copy, Room::kDevice));
    } catch (const std::bad_alloc&) {  // for the sentence of an error
    }
  }
  changed_.notify_all();
}

Status ModuleCache::pin(const std::shared_ptr<ModuleCopy>& copy, Room room) {
  std::unique_lock lock(mutex_);
  ++copy->n_pins_;  // first: taking memory may let others go, not this one
  Status loaded = load(copy, room);
  // Copies that were only prefetched may go as soon as they have arrived.
  const auto arriving = [this] {
    return std::ranges::any_of(
        copies_, [](const auto& c) { return c->n_uploading_ != 0 && c->n_pins_ == 0; });
  };
  while (is_full(loaded) && arriving()) {
    changed_.wait(lock);
    loaded = load(copy, room);
  }
  if (!loaded.ok()) --copy->n_pins_;
  return loaded;
}

void ModuleCache::unpin(const std::shared_ptr<ModuleCopy>& copy) {
  std::unique_lock lock(mutex_);
  // What was not waited for may still be arriving.
  changed_.wait(lock, [&] { return copy->n_uploading_ == 0 || copy->n_pins_ > 1; });
  if (--copy->n_pins_ != 0) return;
  if (!copy->failed_.ok()) free_memory(*copy);
  while (bytes_ > budget_bytes_ && evict_one(false)) {
  }
  forget_unused();
}

// Memory for the copy, and its pieces on their way, where neither is so already.
Status ModuleCache::load(const std::shared_ptr<ModuleCopy>& copy, Room room) {
  const std::uint64_t last_use = std::exchange(copy->last_use_, ++clock_);
  if (copy->room_ == 0) return ok();
  if (copy->bringers_.empty() && !copy->memory_.data())
    return error(Code::kInternal, "a module was let go of while a conversation has it attached");
  try {
    if (may_move_to_device(*copy, last_use))
      if (auto memory = on_device(copy->bytes()); memory.ok())
        return bring(copy, std::move(memory).value());
    if (copy->memory_.data()) return ok();
    PC_TRY(StateMemory memory, take_memory(*copy, room));
    return bring(copy, std::move(memory));
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory, "no memory to bring a module to the device");
  }
}

// This is the copy's memory from now on, and all of it is on its way there. Precondition: somebody
// brings it.
Status ModuleCache::bring(const std::shared_ptr<ModuleCopy>& copy, StateMemory memory) {
  std::vector<Uploader::Piece> pieces = pieces_of(copy);
  const Error full = error(Code::kOutOfMemory, "no memory to bring a module to the device");
  Status lost = full;  // both while their memory costs nothing
  copy->pieces_left_ = count_pieces(pieces);
  free_memory(*copy);
  copy->memory_ = std::move(memory);
  if (!copy->is_on_host()) bytes_ += copy->bytes();
  copy->failed_ = ok();
  copy->n_uploading_ = static_cast<std::uint32_t>(pieces.size());
  try {
    uploader_->add(std::move(pieces));
  } catch (const std::bad_alloc&) {
    copy->n_uploading_ = 0;
    free_memory(*copy);
    copy->failed_ = std::move(lost);  // whoever has it pinned waits for it
    return full;
  }
  return ok();
}

// Is it in the host's memory, read by nobody but who loads it, and has the device room by now, if
// those go that nobody wanted since it was used last? So modules that take turns stay where they
// are.
bool ModuleCache::may_move_to_device(const ModuleCopy& copy, std::uint64_t last_use) const {
  if (!copy.is_on_host() || copy.n_uploading_ != 0 || copy.n_pins_ > 1 || copy.bringers_.empty())
    return false;
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return false;
  for (const auto& other : copies_)
    if (may_go(*other, false) && other->last_use_ < last_use) free += other->bytes();
  return copy.bytes() <= free;
}

bool ModuleCache::move_to_host(const std::shared_ptr<ModuleCopy>& copy) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return copy->n_uploading_ == 0; });
  if (copy->n_pins_ != 1 || !copy->memory_.data() || copy->is_on_host() || copy->bringers_.empty())
    return false;
  try {
    auto memory = on_host(copy->bytes());
    return memory.ok() && bring(copy, std::move(memory).value()).ok();
  } catch (const std::bad_alloc&) {
    return false;  // and where its memory is gone, wait() says so
  }
}

std::vector<Uploader::Piece> ModuleCache::pieces_of(const std::shared_ptr<ModuleCopy>& copy) const {
  std::vector<Uploader::Piece> all;
  for (const ModuleRun& run : *copy->bringers_.front()) {
    const std::vector<Uploader::Piece> pieces = uploader_->pieces_of(copy, run);
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  std::ranges::stable_sort(all, {}, &Uploader::Piece::first_plane);
  return all;
}

// How many pieces each layer waits for. [n_layers]
std::vector<std::uint32_t> ModuleCache::count_pieces(
    const std::vector<Uploader::Piece>& pieces) const {
  std::vector<std::uint32_t> left(shape_.n_layers);
  for (const Uploader::Piece& piece : pieces)
    for (std::uint32_t l = first_layer(piece); l <= last_layer(piece); ++l) ++left[l];
  return left;
}

std::uint32_t ModuleCache::first_layer(const Uploader::Piece& piece) const {
  return piece.first_plane / (2 * shape_.n_kv_heads);
}

std::uint32_t ModuleCache::last_layer(const Uploader::Piece& piece) const {
  return (piece.first_plane + piece.n_planes - 1) / (2 * shape_.n_kv_heads);
}

Result<StateMemory> ModuleCache::take_memory(const ModuleCopy& copy, Room room) {
  auto memory = on_device(copy.bytes());
  if (is_full(memory) && room == Room::kDeviceOrHost) memory = on_host(copy.bytes());
  if (!is_full(memory)) return memory;
  return error(Code::kOutOfMemory,
               "a module of " + std::to_string(copy.bytes() / kMiB + 1) +
                   " MiB does not fit the CUDA device's memory beside what this step needs" +
                   (room == Room::kDevice ? "" : "; " + memory.error().message));
}

Result<StateMemory> ModuleCache::on_device(std::size_t bytes) {
  while (bytes_ + bytes > budget_bytes_ && evict_one(false)) {
  }
  auto memory = StateMemory::on_device(bytes);
  while (is_full(memory) && evict_one(false)) memory = StateMemory::on_device(bytes);
  return memory;
}

Result<StateMemory> ModuleCache::on_host(std::size_t bytes) {
  auto memory = StateMemory::on_host(bytes, host_);
  while (is_full(memory) && evict_one(true)) memory = StateMemory::on_host(bytes, host_);
  return memory;
}

bool ModuleCache::may_go(const ModuleCopy& copy, bool on_host) const {
  return copy.memory_.data() && copy.is_on_host() == on_host && copy.n_pins_ == 0 &&
         copy.n_uploading_ == 0;
}

// The one there that was not used for longest; false where nothing may go.
bool ModuleCache::evict_one(bool on_host) {
  ModuleCopy* oldest = nullptr;
  for (const auto& copy : copies_)
    if (may_go(*copy, on_host) && (!oldest || copy->last_use_ < oldest->last_use_))
      oldest = copy.get();
  if (!oldest) return false;
  free_memory(*oldest);
  return true;
}

void ModuleCache::free_memory(ModuleCopy& copy) {
  if (!copy.memory_.data()) return;
  if (!copy.is_on_host()) bytes_ -= copy.bytes();
  copy.memory_ = {};
}

// Copies that nobody holds, and of which nothing is left.
void ModuleCache::forget_unused() {
  std::erase_if(copies_, [](const std::shared_ptr<ModuleCopy>& copy) {
    return copy->bringers_.empty() && !copy->memory_.data() && copy->n_uploading_ == 0;
  });
}

void ModuleCache::arrived(const Uploader::Piece& piece, Status status) {
  {
    const std::lock_guard lock(mutex_);
    ModuleCopy& copy = *piece.copy;
    if (!status.ok() && copy.failed_.ok()) copy.failed_ = std::move(status);
    for (std::uint32_t l = first_layer(piece); l <= last_layer(piece); ++l) --copy.pieces_left_[l];
    --copy.n_uploading_;
    if (copy.n_uploading_ == 0 && !copy.failed_.ok() && copy.n_pins_ == 0) free_memory(copy);
  }
  changed_.notify_all();
}

Status ModuleCache::wait(const std::shared_ptr<ModuleCopy>& copy, std::uint32_t layer) {
  std::unique_lock lock(mutex_);
  if (copy->room_ == 0) return ok();
  changed_.wait(lock, [&] { return !copy->failed_.ok() || copy->pieces_left_[layer] == 0; });
  return copy->failed_;
}

bool ModuleCache::let_go(bool on_host) {
  const std::lock_guard lock(mutex_);
  bool any = false;
  while (evict_one(on_host)) any = true;
  return any;
}

std::size_t ModuleCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace pc::cuda
