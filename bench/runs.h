// What the C++ benches share: failing, medians, texts of a number of tokens,
// and one generation. For programs: failing prints a sentence and exits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/json/json_writer.h"
#include "runtime/session/session.h"

namespace pc::bench {

[[noreturn]] void die(const std::string& message);

template <class T>
T must(Result<T> result) {
  if (!result.ok()) die(result.error().message);
  return std::move(result).value();
}

struct Series {
  std::vector<double> values;
  void add(double v) { values.push_back(v); }
  double quantile(double q) const;  // values must not be empty
  double median() const { return quantile(0.5); }
};

// Writes the values as an array.
void write(JsonWriter& json, const Series& series);

// How a bench opens a model. backend: "" is the CPU, else a plug-in's path, which must be usable: a
// bench never falls back. threads: 0 is as many as there are.
EngineOptions engine_options(const std::string& model, const std::string& cache_dir,
                             std::uint32_t threads, const std::string& backend);

// Words of at most n tokens and as near as possible; other words for another `seed`.
std::string text_of_tokens(const Tokenizer& tokenizer, std::uint32_t n, std::uint32_t seed = 0);

// One generation of `tokens` tokens, greedy unless the sampler says otherwise.
SessionStats run(const std::shared_ptr<LoadedSchema>& schema, const std::string& prompt,
                 bool no_reuse, std::uint32_t tokens, const SamplerOptions& sampler = {});

// A directory of this process, removed with all that is in it.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pc::bench
