// Threads that bring modules to the device: pieces of their files through page-locked memory,
// unpacked there into rows.
//
// Copies run beside computing, layer after layer, so that a step can begin with the first
// layers while later ones arrive. Owner of its threads, their memory and streams; what it was
// given to do is done before it is destroyed. Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/device_buffer.h"
#include "cuda/module_copy.h"

namespace pc::cuda {

class Uploader {
 public:
  // Planes [first_plane, first_plane + n_planes) of blocks [first_block, first_block + n_blocks)
  // of a run; see cuda/kv_files.h for how planes are counted.
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
  // What a thread works with.
  struct Lane {
    Stream stream;
    PinnedBuffer<std::byte> host;
    DeviceBuffer<std::byte> packed;
  };
  Uploader(const KvShape& shape, Arrived arrived);
  Status start();
  void work(Lane& lane);
  Status bring(const Piece& piece, Lane& lane) const;
  Status queue(const Piece& piece, Lane& lane) const;

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
