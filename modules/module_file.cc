#include "modules/module_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"  // kCacheLine
#include "base/bytes.h"

namespace pc {
namespace {

Error corrupt(const std::string& what) {
  return error(Code::kCorrupt, "damaged module file: " + what);
}

}  // namespace

ModuleFile::ModuleFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const MappedFile* file)
    : owner_(std::move(owner)), file_(file), bytes_(bytes) {}

Result<ModuleHandle> ModuleFile::open(std::span<const std::byte> bytes, PayloadCheck check,
                                      std::shared_ptr<const void> owner, const MappedFile* file) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kCacheLine != 0) {
    return error(Code::kInvalidArgument, "the bytes of a module do not start on a cache line");
  }
  std::shared_ptr<ModuleFile> module(new ModuleFile(bytes, std::move(owner), file));
  PC_CHECK_OK(module->check_header());
  PC_CHECK_OK(module->check_tables());
  PC_CHECK_OK(module->check_runs());
  if (check == PayloadCheck::kVerify) PC_CHECK_OK(module->verify_payload());
  return ModuleHandle(std::move(module));
}

Digest ModuleFile::instance() const {
  if (!file_) return key().digest;
  const FileIdentity& file = file_->identity();
  Sha256 name;
  name.field("module in a file").field(std::as_bytes(std::span(key().digest)));
  for (const std::uint64_t part :
       {file.device, file.inode, file.size_bytes, static_cast<std::uint64_t>(file.mtime_ns),
        static_cast<std::uint64_t>(file.ctime_ns)})
    name.field(part);
  return name.finish();
}

// Everything that the sizes depend on, before anything they bound is read.
Status ModuleFile::check_header() {
  if (bytes_.size() < sizeof(ModuleHeader)) return corrupt("shorter than its header");
  header_ = load_le<ModuleHeader>(bytes_, 0);
  if (header_.magic != kModuleMagic) return corrupt("it does not start with the mark of a module");
  if (header_.endian != kModuleEndianTag) {
    return error(Code::kUnsupported, "module file of another byte order");
  }
  if (header_.version != module_version(0) && header_.version != module_version(1)) {
    return error(Code::kUnsupported, "module file of format " + std::to_string(header_.version) +
                                         "; this build reads formats 3 and 4");
  }
  if (header_.version != module_version(header_.causes.n_recurrent))
    return corrupt("its version does not go with its recurrent states");
  PC_CHECK_OK(read_geometry());
  auto extent = module_extent(geometry_, header_.n_tokens, header_.n_runs, header_.n_blocks,
                              header_.causes.n_recurrent);
  if (!extent.ok()) return corrupt(extent.error().message);
  extent_ = *extent;
  if (header_.header_bytes != sizeof(ModuleHeader) || header_.n_chunks != extent_.n_chunks ||
      header_.payload_bytes != extent_.payload_bytes || header_.file_bytes != extent_.file_bytes) {
    return corrupt("the sizes in its header contradict each other");
  }
  if (bytes_.size() != extent_.file_bytes) {
    return corrupt("it has " + std::to_string(bytes_.size()) + " bytes, its header says " +
                   std::to_string(extent_.file_bytes));
  }
  return ok();
}

// The table of layers, which the sizes of the rest follow from.
Status ModuleFile::read_geometry() {
  const ModuleCauses& causes = header_.causes;
  if (causes.n_layers == 0 || causes.n_layers > KvGeometry::kMaxLayers)
    return corrupt("n_layers is zero or over its limit");
  const std::size_t n_bytes = causes.n_layers * sizeof(KvLayer);
  if (bytes_.size() - sizeof(ModuleHeader) < n_bytes) return corrupt("shorter than its tables");
  std::vector<KvLayer> layers(causes.n_layers);
  std::memcpy(layers.data(), bytes_.data() + sizeof(ModuleHeader), n_bytes);
  geometry_ = KvGeometry(std::move(layers), causes.kv_type);
  return ok();
}

// The seal, then what a seal cannot promise: that the writer was right.
Status ModuleFile::check_tables() {
  if (module_seal(bytes_.first(extent_.payload)) != header_.seal) {
    return corrupt("its header or tables do not match their seal");
  }
  if (header_.key != key_of(header_.causes)) return corrupt("its key is not the key of its causes");
  if (header_.causes.layers != layers_digest(geometry_.layers()))
    return corrupt("its layers are not those of its causes");
  if (backend_of(header_.causes).empty()) return corrupt("it does not say which backend made it");
  const auto is_zero = [](auto b) { return b == decltype(b){}; };
  const auto padding = bytes_.subspan(extent_.tables_end, extent_.payload - extent_.tables_end);
  if (!std::all_of(header_.zero.begin(), header_.zero.end(), is_zero) ||
      !std::all_of(padding.begin(), padding.end(), is_zero)) {
    return corrupt("reserved bytes are not zero");
  }

  return ok();
}

// Runs in order and disjoint, whose tokens and blocks add up to the header's.
Status ModuleFile::check_runs() {
  runs_.resize(header_.n_runs);
  std::memcpy(runs_.data(), bytes_.data() + extent_.runs, runs_.size() * sizeof(ModuleRun));
  first_blocks_.reserve(runs_.size());
  std::uint64_t n_tokens = 0, n_blocks = 0;
  std::int64_t end = 0;
  for (const ModuleRun& run : runs_) {
    if (run.n_tokens == 0 || run.local_position < end)
      return corrupt("its runs are empty, overlap, or start before position 0");
    first_blocks_.push_back(static_cast<std::uint32_t>(n_blocks));
    end = std::int64_t{run.local_position} + run.n_tokens;
    n_tokens += run.n_tokens;
    n_blocks += kv_blocks(run.n_tokens);
    // Also keeps the sums far from overflow.
    if (n_tokens > header_.n_tokens || n_blocks > header_.n_blocks ||
        end > std::numeric_limits<std::int32_t>::max()) {
      return corrupt("its runs are longer than its header says");
    }
  }
  if (n_tokens != header_.n_tokens || n_blocks != header_.n_blocks) {
    return corrupt("its runs are shorter than its header says");
  }
  return ok();
}

Status ModuleFile::verify_payload(Progress progress) const {
  for (std::uint64_t chunk = 0; chunk < extent_.n_chunks; ++chunk) {
    const ChunkRange range = chunk_range(chunk, extent_.payload_bytes);
    if (progress && !progress(range.begin, extent_.payload_bytes)) return cancelled();
    PC_CHECK_OK(verify_chunk(
        chunk, bytes_.subspan(extent_.payload + range.begin, range.end - range.begin)));
  }
  return ok();
}

Status ModuleFile::verify_chunk(std::uint64_t chunk, std::span<const std::byte> bytes) const {
  PC_EXPECT(chunk < header_.n_chunks);
  const auto expected =
      load_le<std::uint64_t>(bytes_, extent_.checksums + chunk * sizeof(std::uint64_t));
  if (checksum64(bytes) == expected) return ok();
  return corrupt("chunk " + std::to_string(chunk) + " of its payload does not match its checksum");
}

std::span<const std::int32_t> ModuleFile::tokens() const {
  return {reinterpret_cast<const std::int32_t*>(bytes_.data() + extent_.tokens), header_.n_tokens};
}

std::span<const float> ModuleFile::recurrent() const {
  const std::uint32_t n = header_.causes.n_recurrent;
  if (n == 0) return {};
  return {reinterpret_cast<const float*>(bytes_.data() + extent_.payload + extent_.recurrent), n};
}

KvSegment ModuleFile::segment(std::uint32_t run, std::int32_t position) const {
  PC_EXPECT(run < runs_.size());
  KvSegment segment;
  segment.data = bytes_.data() + extent_.payload;
  segment.geometry = &geometry_;
  segment.plane_blocks = header_.n_blocks;
  segment.first_block = first_blocks_[run];
  segment.n_tokens = runs_[run].n_tokens;
  segment.position = position;
  segment.key_position = runs_[run].local_position;
  return segment;
}

Status ModuleFile::matches(const ModuleIdentity& identity, const ModuleCauses& causes) const {
  PC_EXPECT_CHECKED(causes == causes_of(identity));
  if (const char* field = first_difference(header_.causes, causes); *field) {
    return error(Code::kMismatch, std::string("module of other causes: the ") + field + " differs");
  }
  // The digests agree, so this finds only a writer that stored what it did not hash.
  std::size_t run = 0, token = 0;
  for (const IdentityRun& wanted : identity.runs) {
    if (!wanted.keep) continue;
    if (run == runs_.size() || runs_[run].n_tokens != wanted.tokens.size() ||
        runs_[run].local_position != wanted.position) {
      return error(Code::kMismatch,
                   "module of other runs: kept run " + std::to_string(run) + " differs");
    }
    if (!std::equal(wanted.tokens.begin(), wanted.tokens.end(), tokens().begin() + token)) {
      return error(Code::kMismatch,
                   "module of other tokens: kept run " + std::to_string(run) + " differs");
    }
    token += wanted.tokens.size();
    ++run;
  }
  if (run != runs_.size()) return error(Code::kMismatch, "module with more runs than asked for");
  return ok();
}

}  // namespace pc
