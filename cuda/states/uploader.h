// Threads that bring modules to the device: pieces of their files through page-locked memory,
// unpacked there into rows.
//
// Copies run beside computing, layer after layer, so that a step can begin with the first
// layers while later ones arrive. Owner of its threads, their memory and streams; what it was
// given to do is done before it is destroyed. Threads: any.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cuda/device/device_buffer.h"
#include "cuda/states/module_copy.h"

namespace pc::cuda {

class Uploader {
 public:
  // Planes [first_plane, first_plane + n_planes) of blocks [first_block, first_block + n_blocks)
  // of a run; see cuda/states/kv_files.h for how planes are counted.
  struct Piece {
    std::shared_ptr<ModuleCopy> copy;
    const ModuleRun* run;  // whose source is read
    std::uint32_t first_plane, n_planes;
    std::uint32_t first_block, n_blocks;
  };
  // Called on one of the threads, for each piece.
  using Arrived = std::function<void(const Piece& piece, Status status)>;

  static Result<std::unique_ptr<Uploader>> make(const KvShape& shape, Arrived arrived);
  ~Uploader();
  Uploader(const Uploader&) = delete;

  // The pieces of a run, in order of layers.
  std::vector<Piece> pieces_of(const std::shared_ptr<ModuleCopy>& copy, const ModuleRun& run) const;

  void add(std::vector<Piece> pieces);
  // A call that may wait for the device, which nobody is to wait for here. Throws nothing.
  void add(std::function<void()> chore);

 private:
  // A piece on its way, and its memory.
  struct Slot {
    Stream stream;
    PinnedBuffer<std::byte> host;
    DeviceBuffer<std::byte> packed;
    Piece piece{};  // copy null: nothing is on its way
    Status queued = ok();
  };
  // What a thread works with: while one piece crosses the link, the next is read from its file.
  using Lane = std::array<Slot, 2>;
  struct Task {
    std::function<void()> chore;  // where there is none, a piece
    Piece piece;
  };
  Uploader(const KvShape& shape, Arrived arrived);
  Status start();
  Status make_slot(Slot& slot) const;
  void work(Lane& lane);
  // What to do next; nothing where there is nothing and it does not wait for more, or it all ends.
  std::optional<Task> take(bool waits);
  void begin(const Piece& piece, Slot& slot) const;
  void end(Slot& slot) const;
  Status queue(const Piece& piece, Slot& slot) const;

  KvShape shape_;
  Arrived arrived_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Piece> waiting_;
  std::deque<std::function<void()>> chores_;  // before pieces
  bool ends_ = false;
  std::vector<Lane> lanes_;
  std::vector<std::thread> threads_;
};

}  // namespace pc::cuda
