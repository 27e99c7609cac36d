#include "runtime/model/model_path.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace pc {
namespace {

constexpr char kFetchFirst[] =
    "fetch the model first, as a .gguf file or as the folder that has its config.json and "
    "*.safetensors, and give the path of that";

// "org/model", as hubs name models.
bool is_name_on_a_hub(const std::string& path) {
  return std::ranges::count(path, '/') == 1 && path.front() != '/' && path.front() != '.' &&
         path.front() != '~' && path.back() != '/' && !path.ends_with(".gguf");
}

}  // namespace

Status check_model_path(const std::string& path) {
  std::error_code failed;
  if (path.find("://") != path.npos)
    return error(Code::kNotFound,
                 path + " is a URL, and nothing is read over a network: " + kFetchFirst);
  const bool is_there = std::filesystem::exists(path, failed);
  if (failed) return error(Code::kIo, path + " cannot be looked at: " + failed.message());
  if (!is_there)
    return error(Code::kNotFound,
                 path + ": no such file or folder" +
                     (is_name_on_a_hub(path)
                          ? std::string("; if it is a name on a model hub, ") + kFetchFirst
                          : ""));
  if (std::filesystem::is_regular_file(path, failed) &&
      std::filesystem::file_size(path, failed) == 0 && !failed)
    return error(Code::kCorrupt, path + " is empty: it was not fetched to its end, it seems");
  return ok();
}

}  // namespace pc
