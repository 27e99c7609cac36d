#include "tools/command/llama_words.h"

#include <algorithm>
#include <iterator>

namespace pc::cli {
namespace {

struct Name {
  std::string_view dashed, long_name;
};
constexpr Name kNames[] = {{"-pg", "--pg"},
                           {"-ub", "--ubatch-size"},
                           {"-ctk", "--cache-type-k"},
                           {"-ctv", "--cache-type-v"},
                           {"-oe", "--output-err"},
                           {"-hf", "--hf-repo"},
                           {"-hfr", "--hf-repo"},
                           {"-hff", "--hf-file"},
                           {"-hft", "--hf-token"},
                           {"-fitt", "--fit-target"},
                           {"-fitc", "--fit-ctx"},
                           {"-ngl", "--n-gpu-layers"},
                           {"-ncmoe", "--n-cpu-moe"},
                           {"-sm", "--split-mode"},
                           {"-mg", "--main-gpu"},
                           {"-nkvo", "--no-kv-offload"},
                           {"-fa", "--flash-attn"},
                           {"-dev", "--device"},
                           {"-lm", "--load-mode"},
                           {"-mmp", "--mmap"},
                           {"-lzm", "--lazy-mode"},
                           {"-embd", "--embeddings"},
                           {"-ts", "--tensor-split"},
                           {"-ot", "--override-tensor"},
                           {"-nopo", "--no-op-offload"}};

std::string long_name_of(std::string_view word) {
  const auto* const known = std::find_if(std::begin(kNames), std::end(kNames),
                                         [word](const Name& name) { return name.dashed == word; });
  if (known != std::end(kNames)) return std::string(known->long_name);
  std::string name(word);
  if (name.starts_with("--"))
    std::replace(name.begin(), std::find(name.begin(), name.end(), '='), '_', '-');
  return name;
}

}  // namespace

std::vector<std::string> dashed_names(std::string_view long_name) {
  std::vector<std::string> names;
  for (const Name& name : kNames)
    if (name.long_name == long_name) names.emplace_back(name.dashed);
  return names;
}

std::vector<std::string> with_long_names(std::span<const char* const> words) {
  std::vector<std::string> out(words.begin(), words.end());
  if (out.size() < 2 || out[1] != "bench") return out;
  const auto end = std::find(out.begin() + 2, out.end(), "--");  // what follows is no option
  std::transform(out.begin() + 2, end, out.begin() + 2, long_name_of);
  return out;
}

}  // namespace pc::cli
