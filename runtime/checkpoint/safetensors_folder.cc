// Which files of a folder are its weights, and that they belong together: open_safetensors
// of safetensors.h.
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/checkpoint/safetensors.h"

namespace pc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxShards = 1024;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The name of the only *.safetensors of a folder that has neither of the usual files.
Result<std::string> find_only_file(const std::string& folder) {
  std::set<std::string> names;
  bool has_pickle = false;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const fs::path& path = it->path();
    if (path.extension() == ".safetensors") names.insert(path.filename().string());
    has_pickle = has_pickle || path.extension() == ".bin" || path.extension() == ".pth";
  }
  if (failed) return error(Code::kIo, folder + ": cannot be listed: " + failed.message());
  if (names.size() == 1) return *names.begin();
  if (names.empty()) {
    return error(Code::kNotFound,
                 folder + ": no *.safetensors there" +
                     (has_pickle ? "; convert the pickled weights to safetensors"
                                 : "; a checkpoint is config.json and *.safetensors"));
  }
  return error(Code::kNotFound, folder + ": " + std::to_string(names.size()) +
                                    " *.safetensors but neither " + kSingle + " nor " + kIndex +
                                    " to say which are meant");
}

Status add_file(const std::string& folder, const std::string& name, Checkpoint* checkpoint) {
  PC_TRY(MappedFile file, MappedFile::open(folder + "/" + name));
  PC_TRY(TensorMap tensors, parse_safetensors(file.bytes(), folder + "/" + name));
  checkpoint->files.push_back(std::move(file));
  checkpoint->tensors.merge(tensors);
  if (!tensors.empty()) {  // merge leaves behind the names that were there before
    const auto& [tensor, view] = *tensors.begin();
    return error(Code::kCorrupt, view.file + ": tensor \"" + tensor + "\" is also in " +
                                     checkpoint->tensors.at(tensor).file);
  }
  return ok();
}

Result<Checkpoint> open_shards(const std::string& folder) {
  const std::string index = folder + "/" + kIndex;
  PC_TRY(const MappedFile file, MappedFile::open(index));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  PC_TRY(const auto shard_of, parse_safetensors_index(text, index));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  if (shards.empty() || shards.size() > kMaxShards) {
    return error(Code::kUnsupported, index + ": " + std::to_string(shards.size()) +
                                         " files, wanted 1 to " + std::to_string(kMaxShards));
  }
  Checkpoint checkpoint;
  for (const std::string& shard : shards) PC_CHECK_OK(add_file(folder, shard, &checkpoint));
  for (const auto& [tensor, shard] : shard_of) {
    const auto found = checkpoint.tensors.find(tensor);
    if (found == checkpoint.tensors.end() || found->second.file != folder + "/" + shard) {
      return error(Code::kMismatch,
                   index + ": places tensor \"" + tensor + "\" in " + shard + ", which has none");
    }
  }
  for (const auto& [tensor, view] : checkpoint.tensors) {
    if (!shard_of.contains(tensor)) {
      return error(Code::kMismatch, view.file + ": tensor \"" + tensor + "\" is not in " + kIndex);
    }
  }
  return checkpoint;
}

}  // namespace

Result<Checkpoint> open_safetensors(const std::string& folder) {
  std::string name = kSingle;
  if (!exists(folder + "/" + kSingle)) {
    if (exists(folder + "/" + kIndex)) return open_shards(folder);
    PC_TRY(name, find_only_file(folder));
  }
  Checkpoint checkpoint;
  PC_CHECK_OK(add_file(folder, name, &checkpoint));
  return checkpoint;
}

}  // namespace pc
