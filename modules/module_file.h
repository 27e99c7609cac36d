// An encoded module: immutable bytes, validated before anything is handed out.
//
// A ModuleFile views the bytes of one module file and shares ownership of
// whatever holds them: a mapping, or memory. It copies the header and the
// table of runs, which bound every access, so that a file changed behind its
// back cannot lead outside the mapping; K and V are never copied. Whether that happened can be
// asked. Segments and spans borrow from the ModuleFile: the handle pins them. Threads: immutable,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/status.h"
#include "modules/format.h"
#include "modules/kv.h"
#include "modules/module_key.h"

namespace pc {

class ModuleFile;
using ModuleHandle = std::shared_ptr<const ModuleFile>;

enum class PayloadCheck {
  kVerify,   // sum every chunk: reads all bytes
  kTrusted,  // the caller has checked this very file, or has just made it
};

class ModuleFile {
 public:
  // Checks header, tables and padding always, the payload as asked. Errors:
  // kCorrupt (bytes that contradict themselves), kUnsupported (another
  // version of the format, which this one must leave alone),
  // kInvalidArgument (bytes not on a cache line). `owner` keeps `bytes`
  // alive; null where the caller does. `file`: the owner's, where they are a file's.
  static Result<ModuleHandle> open(std::span<const std::byte> bytes, PayloadCheck check,
                                   std::shared_ptr<const void> owner,
                                   const MappedFile* file = nullptr);

  const ModuleKey& key() const { return header_.key; }
  const ModuleHeader& header() const { return header_; }
  const KvGeometry& geometry() const { return geometry_; }
  std::span<const std::byte> bytes() const { return bytes_; }  // the whole file

  // Is the file as it was when it was mapped? If not (renaming it is a change, too), what the
  // mapping holds by now is not known, and the module is to be opened again. A module in memory
  // never changes.
  bool is_current() const { return !file_ || (file_->is_unchanged() && !file_->is_lost()); }
  // Can is_current() tell? A process near its limit of descriptors keeps none for a mapping.
  bool is_watched() const { return !file_ || file_->has_descriptor(); }
  // Could some of the file not be read, so that zeros stand in its place (guard_mappings)?
  bool is_lost() const { return file_ && file_->is_lost(); }
  // Is the mapping known to hold other bytes than when it was made?
  bool is_spoilt() const { return file_ && (file_->was_written() || file_->is_lost()); }

  // A name for these very bytes, by which a backend knows its copies of them again: a digest of the
  // key and, where the module is a file, of the file's identity when it was mapped. A file that is
  // made again under the same key has another name.
  Digest instance() const;

  std::span<const std::int32_t> tokens() const;  // of all kept runs, run after run
  std::span<const ModuleRun> runs() const { return runs_; }

  // Run `run` placed at logical position `position`: a view into the file.
  // Precondition: run < runs().size().
  KvSegment segment(std::uint32_t run, std::int32_t position) const;

  // [n_recurrent] of recurrent layers, on a cache line: of a link the states behind its last token,
  // of a module the maps of its runs, one behind the other (runtime/backend/state_map.h). {}: none.
  std::span<const float> recurrent() const;

  // Is this the module that `identity` means? Compares every cause, and the
  // tokens and positions of the kept runs element by element.
  // kMismatch names the first difference. Precondition: causes == causes_of(identity).
  Status matches(const ModuleIdentity& identity, const ModuleCauses& causes) const;

  // Sums every chunk of the payload; kCorrupt names the first that differs. kCancelled.
  Status verify_payload(Progress progress = {}) const;
  // The same for one chunk whose bytes were read by other means.
  // Precondition: chunk < header().n_chunks.
  Status verify_chunk(std::uint64_t chunk, std::span<const std::byte> bytes) const;

 private:
  ModuleFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
             const MappedFile* file);
  Status check_header();
  Status read_geometry();
  Status check_tables();
  Status check_runs();

  std::shared_ptr<const void> owner_;
  const MappedFile* file_;  // owner_'s, or null
  std::span<const std::byte> bytes_;
  ModuleHeader header_;
  KvGeometry geometry_;
  ModuleExtent extent_;
  std::vector<ModuleRun> runs_;
  std::vector<std::uint32_t> first_blocks_;  // [n_runs] block at which each run starts
};

}  // namespace pc
