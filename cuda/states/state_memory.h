// Memory for states: the device's, or the host's, page-locked, which kernels read and write across
// the link. The host's is for what the device has no room for: slower, and no failure while it
// lasts.
//
// HostRoom is how much of the host may be locked; memory that was taken there gives it back when it
// goes. Owners, moved, never copied; the memory outlives what the device does with it. Threads:
// HostRoom any, StateMemory compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cuda/device/device_buffer.h"

namespace pc::cuda {

// Where states may be.
enum class Room { kDevice, kDeviceOrHost };

class HostRoom {
 public:
  explicit HostRoom(std::size_t limit_bytes) : limit_(limit_bytes) {}

  bool take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  void give_back(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }

 private:
  std::mutex mutex_;
  const std::size_t limit_;
  std::size_t taken_ = 0;
};

class StateMemory {
 public:
  StateMemory() = default;

  std::byte* data() const { return host_.data() ? host_.data() : device_.data(); }
  std::size_t bytes() const { return device_.size() + host_.size(); }
  bool is_on_host() const { return host_.data() != nullptr; }

  static Result<StateMemory> on_device(std::size_t bytes) {
    StateMemory memory;
    PC_TRY(memory.device_, DeviceBuffer<std::byte>::make(bytes));
    return Result<StateMemory>(std::move(memory));
  }
  // kOutOfMemory also where that much may not be locked.
  static Result<StateMemory> on_host(std::size_t bytes, const std::shared_ptr<HostRoom>& room) {
    if (!room->take(bytes))
      return error(Code::kOutOfMemory,
                   "no more of the host's memory may be locked for the CUDA device "
                   "(PC_CUDA_HOST_BYTES)");
    StateMemory memory;
    memory.taken_ = {room, bytes};
    PC_TRY(memory.host_, PinnedBuffer<std::byte>::make(bytes));
    return Result<StateMemory>(std::move(memory));
  }

 private:
  // Of the host's room.
  class Taken {
   public:
    Taken() = default;
    Taken(std::shared_ptr<HostRoom> room, std::size_t bytes)
        : room_(std::move(room)), bytes_(bytes) {}
    Taken(Taken&& other) noexcept : room_(std::move(other.room_)), bytes_(other.bytes_) {}
    Taken& operator=(Taken&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Taken() {
      if (room_) room_->give_back(bytes_);
    }

   private:
    std::shared_ptr<HostRoom> room_;
    std::size_t bytes_ = 0;
  };

  Taken taken_;
  DeviceBuffer<std::byte> device_;
  PinnedBuffer<std::byte> host_;  // one of the two
};

}  // namespace pc::cuda
