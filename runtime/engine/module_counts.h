// How an engine came by the modules that it was asked for, since it was opened: what tells why a
// first token was late.
//
// Threads: any; the numbers are each true, and may be of different instants.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "modules/module_store.h"  // MissReason

namespace pc {

class ModuleCounts {
 public:
  void add_held() { ++held_; }
  void add_found(std::uint64_t n_bytes) { ++found_, mapped_bytes_ += n_bytes; }
  void add_encoded(MissReason why) { ++encoded_[static_cast<std::size_t>(why)]; }
  void add_stored() { ++stored_; }
  // copied_bytes: of a module that had to leave its file's mapping.
  void add_not_stored(std::uint64_t copied_bytes) { ++not_stored_, copied_bytes_ += copied_bytes; }

  std::uint64_t held() const { return held_; }    // in memory already
  std::uint64_t found() const { return found_; }  // in the store
  std::uint64_t encoded(MissReason why) const { return encoded_[static_cast<std::size_t>(why)]; }
  std::uint64_t stored() const { return stored_; }          // of the encoded ones
  std::uint64_t not_stored() const { return not_stored_; }  // the store would not take them
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }
  std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  using Count = std::atomic<std::uint64_t>;
  Count held_{0}, found_{0}, stored_{0}, not_stored_{0}, mapped_bytes_{0}, copied_bytes_{0};
  std::array<Count, static_cast<std::size_t>(MissReason::kDisabled) + 1> encoded_{};
};

}  // namespace pc
