// A module on the device: the rows of its runs, converted once from the file's packing.
//
// What is fixed stands here; where its memory is and how much of it has arrived is the
// cache's to say (cuda/states/module_cache.h). Threads: const members from any; the others under
// the cache's mutex, but for planes(), which holds while a step has it pinned.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/states/kv_rows.h"
#include "cuda/states/state_memory.h"
#include "runtime/backend/backend.h"

namespace pc::cuda {

using Identity = std::array<std::uint8_t, 32>;  // a module's key; all zeros: it has none

// A run of the module: where the file has it, and its rows on the device.
struct ModuleRun {
  pc_kv_segment source;       // in the memory of whoever brought it
  std::uint32_t first_block;  // of the source that is copied
  std::uint32_t n_blocks;
  std::uint32_t first_row;  // on the device, of that block
  std::uint32_t begin() const { return first_row + source.begin % kFileBlockTokens; }
};

class ModuleCopy {
 public:
  // room: rows on the device, of all runs.
  ModuleCopy(const KvShape& shape, const Identity& identity, std::uint32_t room)
      : shape_(shape), identity_(identity), room_(room) {}

  const Identity& identity() const { return identity_; }
  std::uint32_t room() const { return room_; }
  std::size_t bytes() const { return shape_.bytes(room_); }

  // Where it is, while it has memory.
  KvPlanesView planes() const { return {memory_.data(), room_}; }
  bool is_on_host() const { return memory_.is_on_host(); }

 private:
  friend class ModuleCache;
  friend class Uploader;
  KvShape shape_;
  Identity identity_;
  std::uint32_t room_;

  StateMemory memory_;                      // empty: it is in its file alone
  std::vector<std::uint32_t> pieces_left_;  // [n_layers] that have not arrived
  Status failed_ = ok();                    // why it never will
  std::uint32_t n_uploading_ = 0;           // pieces that have not arrived, of all layers
  std::uint32_t n_ahead_ = 0;               // prefetches that have not begun
  std::uint32_t n_pins_ = 0;                // steps that read it
  std::uint64_t last_use_ = 0;
  std::vector<const std::vector<ModuleRun>*> bringers_;  // whose memory holds its bytes
};

// The runs of a module's segments, one behind the other on the device.
inline std::vector<ModuleRun> runs_of(const pc_kv_segment* segments, std::uint32_t n_segments) {
  std::vector<ModuleRun> runs;
  std::uint32_t row = 0;
  for (std::uint32_t i = 0; i < n_segments; ++i) {
    const pc_kv_segment& s = segments[i];
    const std::uint32_t first = s.begin / kFileBlockTokens;
    const std::uint32_t end = (s.begin + s.n_tokens + kFileBlockTokens - 1) / kFileBlockTokens;
    runs.push_back({s, first, end - first, row});
    row += (end - first) * kFileBlockTokens;
  }
  return runs;
}

inline std::uint32_t room_of(const std::vector<ModuleRun>& runs) {
  return runs.empty() ? 0 : runs.back().first_row + runs.back().n_blocks * kFileBlockTokens;
}

}  // namespace pc::cuda
