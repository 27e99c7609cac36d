// The modules that are on the device: which ones, and for how long.
//
// Memory is taken when a step wants a module (pin) or somebody says that it will soon (prefetch),
// up to a budget; what was not used for longest goes first, and comes again from its file
// when it is wanted again. What no step reads may go at any time, attached or not. A module that a
// step wants and that the device has no room for has its rows in the host's memory, page-locked,
// until there is. Modules with the same identity are one copy, and stay when nobody holds them
// until their memory is wanted. Owner of the copies' memory. Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/states/module_copy.h"
#include "cuda/states/uploader.h"

namespace pc::cuda {

class ModuleCache {
 public:
  static Result<std::unique_ptr<ModuleCache>> make(const KvShape& shape, std::size_t budget_bytes,
                                                   std::shared_ptr<HostRoom> host);

  // The copy of a module that these runs bring; they are borrowed until drop().
  std::shared_ptr<ModuleCopy> add(const Identity& identity, const std::vector<ModuleRun>& runs);
  // The runs' memory goes away; waits for copies that read it, or were asked for ahead.
  void drop(const std::shared_ptr<ModuleCopy>& copy, const std::vector<ModuleRun>& runs);

  // It will be wanted soon. Returns at once; what does not fit now is tried again by pin().
  void prefetch(const std::shared_ptr<ModuleCopy>& copy);

  // The copy has memory, and is on its way or there, until unpin(). kOutOfMemory where it
  // does not fit beside what is pinned already.
  Status pin(const std::shared_ptr<ModuleCopy>& copy, Room room);
  void unpin(const std::shared_ptr<ModuleCopy>& copy);

  // Waits until all that a layer takes of a pinned copy is on the device.
  Status wait(const std::shared_ptr<ModuleCopy>& copy, std::uint32_t layer);

  // A copy that the caller alone has pinned goes from the device to the host, so that its memory is
  // there for something else; false where it is there already, or has no room there.
  bool move_to_host(const std::shared_ptr<ModuleCopy>& copy);

  // Frees the device's memory, or the host's, of everything that is not pinned. Was there any?
  bool let_go(bool on_host);

  std::size_t bytes() const;  // of all copies that are on the device

 private:
  ModuleCache(const KvShape& shape, std::size_t budget_bytes, std::shared_ptr<HostRoom> host)
      : shape_(shape), budget_bytes_(budget_bytes), host_(std::move(host)) {}
  Status load(const std::shared_ptr<ModuleCopy>& copy, Room room);
  void load_ahead(const std::shared_ptr<ModuleCopy>& copy);
  bool may_go(const ModuleCopy& copy, bool on_host) const;
  bool may_move_to_device(const ModuleCopy& copy, std::uint64_t last_use) const;
  Status bring(const std::shared_ptr<ModuleCopy>& copy, StateMemory memory);
  std::vector<Uploader::Piece> pieces_of(const std::shared_ptr<ModuleCopy>& copy) const;
  std::vector<std::uint32_t> count_pieces(const std::vector<Uploader::Piece>& pieces) const;
  std::uint32_t first_layer(const Uploader::Piece& piece) const;
  std::uint32_t last_layer(const Uploader::Piece& piece) const;
  Result<StateMemory> take_memory(const ModuleCopy& copy, Room room);
  Result<StateMemory> on_device(std::size_t bytes);
  Result<StateMemory> on_host(std::size_t bytes);
  bool evict_one(bool on_host);
  void free_memory(ModuleCopy& copy);
  void forget_unused();
  void arrived(const Uploader::Piece& piece, Status status);

  KvShape shape_;
  std::size_t budget_bytes_;  // on the device
  std::shared_ptr<HostRoom> host_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<ModuleCopy>> copies_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
  std::unique_ptr<Uploader> uploader_;  // last: its threads end first
};

}  // namespace pc::cuda
