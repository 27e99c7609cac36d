// Pretrained checkpoints that scripts/real-models fetches, and what transformers computes
// on them (tests/golden/real, made by tests/golden/make_real_fixtures.py).
//
// Logits are compared with stored projections of the reference's: see that script. Where a
// checkpoint is not there, the tests say so and are skipped.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/json/json.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"

namespace pc::test {

// As scripts/real-models finds it.
inline std::filesystem::path real_models_dir() {
  if (const char* dir = std::getenv("PC_REAL_MODELS"); dir && *dir) return dir;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base = cache && *cache == '/' ? std::filesystem::path(cache)
                                     : home                 ? std::filesystem::path(home) / ".cache"
                                                            : std::filesystem::path();
  return base / "promptcache-real-models";
}

constexpr std::size_t kProjections = 128;
using Projections = std::array<double, kProjections>;

inline std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Sum j adds logit i where bit j of i's two words is 0, and subtracts it where it is 1.
inline Projections project(std::span<const float> logits) {
  Projections sums{};
  for (std::uint64_t i = 0; i < logits.size(); ++i) {
    const double x = logits[i];
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint64_t word = splitmix64(2 * i + half);
      for (std::size_t j = 0; j < 64; ++j) sums[64 * half + j] += (word >> j) & 1 ? -x : x;
    }
  }
  return sums;
}

struct RealPrompt {
  std::string name;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> largest;  // ids, falling
  std::vector<double> logits;         // of those
  double norm = 0;                    // of all logits
  Projections projections{};
  double nll = 0;  // mean negative log-likelihood of tokens[1:]
  std::vector<std::int32_t> greedy;
  std::vector<double> margins;       // of the greedy tokens over the second best
  std::vector<double> answer_norms;  // behind each greedy token but the last
  std::vector<std::vector<double>> answer_projections;
  // llama.cpp's distances over prompt and answer: with f32 states, with its usual f16 ones, with
  // q8_0. 0: not asked.
  double llama_f32 = 0, llama = 0, llama_q8 = 0;

  // Of all logits behind the prompt, relative, L2; estimated within sqrt(2 / kProjections)
  // of the square.
  double distance(std::span<const float> got) const { return distance(got, projections, norm); }

  // The root mean square of the distances behind the prompt and behind each greedy token, each
  // after the reference's own: those of single positions differ tenfold. Fewer rows: of those.
  double distance(std::span<const std::vector<float>> rows) const {
    double squares = std::pow(distance(rows[0]), 2);
    for (std::size_t i = 1; i < rows.size(); ++i)
      squares += std::pow(distance(rows[i], answer_projections[i - 1], answer_norms[i - 1]), 2);
    return std::sqrt(squares / static_cast<double>(rows.size()));
  }

  // One row of logits, by the projections that there are of the reference's.
  static double distance(std::span<const float> got, std::span<const double> sums, double norm) {
    const Projections mine = project(got);
    double square = 0;
    for (std::size_t j = 0; j < sums.size(); ++j) square += std::pow(mine[j] - sums[j], 2);
    return std::sqrt(square / static_cast<double>(sums.size())) / norm;
  }

  // Of the largest logits alone.
  double distance_of_largest(std::span<const float> got) const {
    double square = 0, whole = 0;
    for (std::size_t i = 0; i < largest.size(); ++i) {
      square += std::pow(got[static_cast<std::size_t>(largest[i])] - logits[i], 2);
      whole += logits[i] * logits[i];
    }
    return std::sqrt(square / whole);
  }
};

struct RealReference {
  std::string name, file;
  std::uint32_t vocab_size = 0;
  std::vector<RealPrompt> prompts;

  std::filesystem::path path() const { return real_models_dir() / file; }
  bool there() const {
    if (std::filesystem::exists(path())) return true;
    std::printf("SKIPPED: %s is not there; scripts/real-models fetches it\n", path().c_str());
    return false;
  }
  const RealPrompt& prompt(const std::string& wanted) const {
    for (const RealPrompt& p : prompts)
      if (p.name == wanted) return p;
    FAIL("no prompt " << wanted);
    return prompts.front();
  }
};

template <class T>
std::vector<T> real_numbers(JsonView array) {
  std::vector<T> values;
  for (std::size_t i = 0; i < array.size(); ++i)
    values.push_back(static_cast<T>(array.at(i).number().value()));
  return values;
}

inline RealPrompt read_real_prompt(JsonView p) {
  RealPrompt prompt;
  prompt.name = must(p.string_or("name", ""));
  prompt.tokens = real_numbers<std::int32_t>(must(p.member("tokens")));
  prompt.largest = real_numbers<std::int32_t>(must(p.member("largest")));
  prompt.logits = real_numbers<double>(must(p.member("logits")));
  prompt.norm = must(must(p.member("norm")).number());
  const auto sums = real_numbers<double>(must(p.member("projections")));
  REQUIRE(sums.size() == kProjections);
  std::copy(sums.begin(), sums.end(), prompt.projections.begin());
  prompt.nll = must(must(p.member("nll")).number());
  prompt.greedy = real_numbers<std::int32_t>(must(p.member("greedy")));
  prompt.margins = real_numbers<double>(must(p.member("margins")));
  prompt.answer_norms = real_numbers<double>(must(p.member("answer_norms")));
  const JsonView answers = must(p.member("answer_projections"));
  for (std::size_t i = 0; i < answers.size(); ++i)
    prompt.answer_projections.push_back(real_numbers<double>(answers.at(i)));
  REQUIRE(prompt.answer_projections.size() + 1 == prompt.greedy.size());
  prompt.llama_f32 = must(p.number_or("llama_cpp_f32", 0));
  prompt.llama = must(p.number_or("llama_cpp", 0));
  prompt.llama_q8 = must(p.number_or("llama_cpp_q8", 0));
  return prompt;
}

inline RealReference real_reference(const std::string& name) {
  const JsonDocument document = must(JsonDocument::read_file(golden("real/" + name + ".json")));
  RealReference reference{name, must(document.root().string_or("file", "")), 0, {}};
  reference.vocab_size =
      static_cast<std::uint32_t>(must(document.root().integer_or("vocab_size", 0)));
  const JsonView prompts = must(document.root().member("prompts"));
  for (std::size_t i = 0; i < prompts.size(); ++i)
    reference.prompts.push_back(read_real_prompt(prompts.at(i)));
  REQUIRE(reference.prompts.size() >= 12);
  return reference;
}

// An engine on a checkpoint, and prompts of tokens computed on it.
class RealEngine {
 public:
  RealEngine(const RealReference& reference, KvType type, Precision precision,
             const std::string& cache_dir, const std::string& chat_template = "",
             const std::string& backend = "") {
    EngineOptions options;
    options.model_path = reference.path().string();
    options.cache_dir = cache_dir;
    options.kv_type = type;
    options.precision = precision;
    options.chat_template = chat_template;
    options.backend = backend;
    options.require_backend = true;
    engine_ = must(Engine::open(options));
    INFO(engine_->remark());
    REQUIRE(engine_->model().desc.vocab_size == reference.vocab_size);
  }

  const std::shared_ptr<const Engine>& engine() const { return engine_; }

  // Logits after the tokens, then after each of `next` in its turn.
  std::vector<std::vector<float>> logits(const std::vector<std::int32_t>& tokens,
                                         std::span<const std::int32_t> next = {}) const {
    const auto n = static_cast<std::uint32_t>(tokens.size());
    const std::uint32_t n_next = static_cast<std::uint32_t>(next.size());
    BackendTimeline timeline = must(engine_->backend().timeline());
    std::vector<std::vector<float>> all;
    const auto compute = [&](const std::int32_t* first, std::uint32_t count, std::uint32_t at) {
      const auto position = static_cast<std::int32_t>(at);
      const pc_run run{first, count, position, position, 1, nullptr, nullptr, 0, nullptr};
      all.emplace_back(engine_->model().desc.vocab_size);
      must(engine_->scheduler().compute(
          {.timeline = &timeline, .runs = {&run, 1}, .logits = all.back().data()}));
    };
    compute(tokens.data(), n, 0);
    for (std::uint32_t i = 0; i < n_next; ++i) compute(&next[i], 1, n + i);
    return all;
  }

 private:
  std::shared_ptr<const Engine> engine_;
};

inline const char* kRealModels[] = {"smollm2-135m-instruct", "gemma-3-270m"};

}  // namespace pc::test
