#include "runtime/reports/model_inspection.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/checkpoint/safetensors.h"
#include "runtime/engine/engine.h"  // check_vocabulary
#include "runtime/model/model_path.h"
#include "runtime/model/shape/model_config.h"  // read_architecture
#include "runtime/tokenizer/files/tokenizer_loader.h"

namespace pc {
namespace {

// The value; or nothing, and one problem more unless it is known already. That memory ran out says
// nothing of the model.
template <class T>
Result<std::optional<T>> take(Result<T> result, std::vector<Error>* problems) {
  if (result.ok()) return std::optional<T>(std::move(result).value());
  if (result.error().code == Code::kOutOfMemory) return std::move(result).error();
  const auto same = [&](const Error& other) { return other.message == result.error().message; };
  if (std::ranges::none_of(*problems, same)) problems->push_back(std::move(result).error());
  return std::optional<T>();
}

Status read_refused_file(Inspection* found) {
  PC_TRY(auto gguf, take(open_gguf(found->path), &found->problems));
  if (!gguf) return ok();
  if (const auto name = gguf->metadata.string_or("general.architecture", ""); name.ok())
    found->architecture = *name;
  found->metadata = std::move(gguf->metadata);
  found->refused = std::move(gguf->checkpoint);
  return ok();
}

Status read_refused_folder(Inspection* found) {
  PC_TRY(found->config,
         take(JsonDocument::read_file(found->path + "/config.json"), &found->problems));
  if (found->config) {
    if (auto name = read_architecture(found->config->root()); name.ok())
      found->architecture = std::move(name).value();
  }
  PC_TRY(auto checkpoint, take(open_safetensors(found->path), &found->problems));
  if (checkpoint) found->refused = std::move(*checkpoint);
  return ok();
}

Status check_there(const std::string& path, bool folder) {
  PC_CHECK_OK(check_model_path(path));
  std::error_code failed;
  if (!folder || std::filesystem::exists(path + "/config.json", failed)) return ok();
  return error(Code::kNotFound,
               path +
                   ": no config.json there, so it is no checkpoint folder; name the folder that "
                   "holds config.json and *.safetensors, or a .gguf file");
}

}  // namespace

Result<Inspection> inspect_model(const std::string& path, std::uint32_t context_tokens) {
  std::error_code failed;
  const bool folder = std::filesystem::is_directory(path, failed);
  PC_CHECK_OK(check_there(path, folder));
  Inspection found;
  found.path = path;
  PC_TRY(auto model, take(bind_model(path, context_tokens), &found.problems));
  if (model) {
    found.model = std::move(*model);
    found.architecture = found.model->architecture;
  } else {
    PC_CHECK_OK(folder ? read_refused_folder(&found) : read_refused_file(&found));
  }
  PC_TRY(auto tokenizer, take(load_tokenizer(path), &found.problems));
  if (tokenizer) found.tokenizer = std::move(*tokenizer);
  if (found.model && found.tokenizer)
    PC_CHECK_OK(take(check_vocabulary(*found.tokenizer, *found.model), &found.problems));
  return found;
}

}  // namespace pc
