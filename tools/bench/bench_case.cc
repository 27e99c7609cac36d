#include "tools/bench/bench_case.h"

#include <algorithm>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

using Kind = BenchCase::Kind;

constexpr std::uint32_t kUsualModule = 1024;

void add(const BenchCase& test, std::vector<BenchCase>* tests) {
  if (test.n_prompt + test.n_gen != 0 && test.n_sessions != 0) tests->push_back(test);
}

void check_window(const BenchCase& test, std::uint32_t context_tokens) {
  if (test.context_tokens() <= context_tokens) return;
  throw Failure(kFailure, name_of(test) + " takes " + std::to_string(test.context_tokens()) +
                              " tokens, the context window has " + std::to_string(context_tokens));
}

}  // namespace

std::uint64_t BenchCase::context_tokens() const {
  // Decoding goes on behind a letter at least, and a BOS; and an answer has a first token.
  const std::uint32_t before = kind == Kind::kDecode ? std::max(depth, 2u) : depth;
  return std::uint64_t{before} + n_prompt + n_gen + 1;
}

std::string name_of(const BenchCase& test) {
  std::string name = test.n_sessions == 1 ? "" : std::to_string(test.n_sessions) + " x ";
  name += test.kind == Kind::kDecode ? "tg" : test.kind == Kind::kPrefill ? "pp" : "ttft";
  name += std::to_string(test.kind == Kind::kDecode ? test.n_gen : test.n_prompt);
  return test.depth == 0 ? name : name + " @ d" + std::to_string(test.depth);
}

std::vector<BenchCase> bench_cases(const BenchOptions& options, std::uint32_t context_tokens) {
  std::vector<BenchCase> tests;
  for (const std::uint32_t depth : options.depths) {
    for (const std::uint32_t n : options.n_prompt) add({Kind::kPrefill, depth, n, 0, 1}, &tests);
    for (const std::uint32_t n : options.n_gen) add({Kind::kDecode, depth, 0, n, 1}, &tests);
  }
  std::vector<std::uint32_t> cached = options.cached;
  if (cached.empty()) cached = {std::min(kUsualModule, context_tokens / 2)};
  std::erase(cached, 0u);
  for (const std::uint32_t n : cached) add({Kind::kFirstToken, n, options.n_new, 0, 1}, &tests);
  for (const std::uint32_t depth : cached)
    for (const std::uint32_t sessions : options.sessions)
      for (const std::uint32_t n : options.n_gen)
        add({Kind::kDecode, depth, 0, n, sessions}, &tests);
  if (tests.empty()) throw Failure(kUsage, "nothing is left to measure: all numbers are 0");
  for (const BenchCase& test : tests) check_window(test, context_tokens);
  return tests;
}

}  // namespace pc::cli
