#include "bench/runs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace pc::bench {

void die(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(1);
}

double Series::quantile(double q) const {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void write(JsonWriter& json, const Series& series) {
  json.begin_array();
  for (const double v : series.values) json.value(v);
  json.end_array();
}

EngineOptions engine_options(const std::string& model, const std::string& cache_dir,
                             std::uint32_t threads, const std::string& backend) {
  EngineOptions o;
  o.model_path = model;
  o.cache_dir = cache_dir;
  o.cache_bytes = 64ull << 30;  // 65,536 tokens of 7B's bf16 states, 512 KiB each, twice
  o.n_threads = threads;
  o.backend = backend;
  o.require_backend = true;
  return o;
}

std::string text_of_tokens(const Tokenizer& tokenizer, std::uint32_t n, std::uint32_t seed) {
  std::string text;
  for (std::uint32_t word = 0, step = n; step != 0;) {
    std::string longer = text;
    for (std::uint32_t i = 0; i < step; ++i)
      longer += (longer.empty() ? "w" : " w") + std::to_string((word + i + seed) * 7919 % 1000);
    if (must(tokenizer.encode(longer)).size() <= n) {
      text = std::move(longer);
      word += step;
    } else {
      step /= 2;
    }
  }
  for (std::string longer = text + " a"; must(tokenizer.encode(longer)).size() <= n; longer += " a")
    text = longer;
  return text;
}

SessionStats run(const std::shared_ptr<LoadedSchema>& schema, const std::string& prompt,
                 bool no_reuse, std::uint32_t tokens, const SamplerOptions& sampler) {
  SessionOptions o;
  o.max_draft = 0;  // one token a step is what is measured
  o.sampler = sampler;
  o.max_tokens = tokens;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, prompt)), o));
  while (must(session->next())) {
  }
  return session->stats();
}

ScratchDir::ScratchDir()
    : path_((std::filesystem::temp_directory_path() /
             ("promptcache_bench_" + std::to_string(::getpid())))
                .string()) {}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pc::bench
