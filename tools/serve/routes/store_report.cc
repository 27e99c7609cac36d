#include "tools/serve/routes/store_report.h"

#include <algorithm>
#include <promptcache/promptcache.hpp>

namespace pc::serve {
namespace {

constexpr std::size_t kMostFiles = 1000;

Json file_json(const Json& file) {
  Json out = Json::object();
  for (const char* const name :
       {"key", "bytes", "tokens", "kv_type", "model", "last_used_ms", "pinned", "why"})
    if (const Json value = file[name]; !value.is_null()) out.set(name, value);
  return out;
}

// The most recently used first.
Json newest(std::vector<Json> files) {
  const auto used = [](const Json& file) { return file["last_used_ms"].number().value_or(0); };
  std::ranges::sort(files, std::ranges::greater(), used);
  files.resize(std::min(files.size(), kMostFiles));
  Json list = Json::array();
  for (const Json& file : files) list.push(file_json(file));
  return list;
}

}  // namespace

Json store_report(const Json& cache) {
  Json report = Json::object().set("object", "prompt_cache.store");
  if (cache.is_null()) return report.set("in_use", false);
  const promptcache::Store store(cache["dir"].string(), PC_CACHE_READ_ONLY);
  const Json content = cli::parse_report(store.describe());
  const std::vector<Json> files = content["files"].items();
  return report.set("in_use", true)
      .set("mode", cache["mode"])
      .set("directory", cache["dir"])
      .set("budget_bytes", cache["budget_bytes"])
      .set("total_bytes", content["bytes"])
      .set("n_files", files.size())
      .set("files", newest(files));
}

}  // namespace pc::serve
