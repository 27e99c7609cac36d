#include "tools/bench/bench_plan.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

std::vector<std::string> paths_of(const std::vector<std::string>& models) {
  std::vector<std::string> paths;
  std::error_code unreadable;
  for (const std::string& text : models) {
    if (std::filesystem::exists(text, unreadable)) {
      paths.push_back(text);
      continue;
    }
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t comma = std::min(text.find(',', begin), text.size());
      paths.push_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return paths;
}

// What llama.cpp calls so; its f16 and our bf16 are as large.
std::string kv_type_of(const std::string& llama_type) {
  if (llama_type == "f32" || llama_type == "bf16") return llama_type;
  if (llama_type == "f16") return "bf16";
  if (llama_type == "q8_0") return "q8";
  if (llama_type == "q4_0") return "q4";
  throw Failure(kUsage, "attention states are never " + llama_type +
                            " here: give f32, bf16, q8_0 or q4_0 to -ctk and -ctv");
}

std::vector<std::string> or_f16(const std::vector<std::string>& types) {
  return types.empty() ? std::vector<std::string>{"f16"} : types;
}

std::vector<std::string> kv_types_of(const BenchOptions& options) {
  if (options.k_types.empty() && options.v_types.empty())
    return options.kv_types.empty() ? std::vector<std::string>{""} : options.kv_types;
  std::vector<std::string> types;
  for (const std::string& k : or_f16(options.k_types)) {
    for (const std::string& v : or_f16(options.v_types)) {
      types.push_back(kv_type_of(k));
      if (types.back() != kv_type_of(v))
        throw Failure(kUsage, "keys as " + k + " with values as " + v +
                                  " cannot be measured: both have one type here; name the same to "
                                  "-ctk and -ctv, and several to --kv-type (bf16,q8)");
    }
  }
  return types;
}

}  // namespace

std::vector<BenchSetup> bench_setups(const BenchOptions& options) {
  if (options.models.empty())
    throw Failure(kUsage, "--model is required; see promptcache bench --help");
  const auto threads = options.threads.empty() ? std::vector<std::uint32_t>{0} : options.threads;
  std::vector<BenchSetup> setups;
  for (const std::string& model : paths_of(options.models))
    for (const std::string& kv_type : kv_types_of(options))
      for (const std::uint32_t n : threads) setups.push_back({model, kv_type, n});
  return setups;
}

}  // namespace pc::cli
