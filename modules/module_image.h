// A module file being made, in memory or where the file will be (modules/store/cache_draft.h): the
// encoder writes K and V into its planes, seal() completes it.
//
// A sealed image is a ModuleFile like any other: it can be used as it is (no
// store), or handed to ModuleStore::publish. The same identity and the same
// K and V give the same bytes, whoever makes them and when.
//
// Move-only owner. Threads: one thread; different runs may be filled by
// different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "modules/format.h"
#include "modules/module_file.h"
#include "modules/module_key.h"
#include "modules/store/cache_draft.h"

namespace pc {

// The bytes of a module's file and the number of its kept tokens; zeros where the identity gives no
// valid file.
struct StoredSize {
  std::uint64_t bytes = 0, tokens = 0;
};
StoredSize stored_size(const ModuleIdentity& identity);

class ModuleImage {
 public:
  // kInvalidArgument for an identity that cannot be meant (check_identity),
  // kOutOfMemory. All planes start as zeros. In `draft`, where there is one, which has as many
  // bytes as stored_size says and is new.
  static Result<ModuleImage> create(const ModuleIdentity& identity,
                                    std::shared_ptr<CacheDraft> draft = nullptr);

  // The same module in memory of its own, every byte verified. kCorrupt, kOutOfMemory.
  static Result<ModuleHandle> copy(const ModuleFile& module);

  const ModuleKey& key() const { return header_.key; }
  std::uint64_t file_bytes() const { return header_.file_bytes; }
  std::uint32_t n_runs() const { return header_.n_runs; }

  // The planes of kept run `run`. Precondition: run < n_runs().
  KvPlanes planes(std::uint32_t run);

  // [ModuleIdentity::n_recurrent] of recurrent layers, as ModuleFile::recurrent() has them.
  std::span<float> recurrent();

  // Clears the rows past each run's end, sums the payload, seals the header.
  Result<ModuleHandle> seal() &&;

 private:
  ModuleImage() = default;
  Status plan(const ModuleIdentity& identity);
  void write_tables(const ModuleIdentity& identity);

  std::span<std::byte> bytes_;
  std::shared_ptr<AlignedBuffer<std::byte>> memory_;  // of bytes_, or:
  std::shared_ptr<CacheDraft> draft_;
  std::shared_ptr<const KvGeometry> geometry_;  // that planes view
  ModuleHeader header_;
  ModuleExtent extent_;
  std::vector<ModuleRun> runs_;
};

}  // namespace pc
