#include "tools/bench/bench_case.h"

#include <algorithm>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

using Kind = BenchCase::Kind;

constexpr std::uint32_t kUsualPrompt = 512, kUsualGen = 128, kUsualModule = 1024,
                        kUsualSessions = 4;

std::vector<std::uint32_t> or_usual(const std::vector<std::uint32_t>& list, std::uint32_t usual) {
  return list.empty() ? std::vector{usual} : list;
}

void add(const BenchCase& test, std::vector<BenchCase>* tests) {
  if ((test.n_prompt != 0 || test.n_gen != 0) && test.n_sessions != 0) tests->push_back(test);
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
  const std::string prompt = std::to_string(test.n_prompt), gen = "tg" + std::to_string(test.n_gen);
  std::string name = test.n_sessions == 1 ? "" : std::to_string(test.n_sessions) + " x ";
  switch (test.kind) {
    case Kind::kPrefill:
      name += "pp" + prompt;
      break;
    case Kind::kDecode:
      name += gen;
      break;
    case Kind::kPromptThenGen:
      name += "pp" + prompt + "+" + gen;
      break;
    case Kind::kFirstToken:
      name += "ttft" + prompt;
      break;
  }
  return test.depth == 0 ? name : name + " @ d" + std::to_string(test.depth);
}

// Of a pair with a 0 the other is left, as of llama-bench's.
static BenchCase then_gen(std::uint32_t depth, const PromptThenGen& n) {
  const Kind kind = n.n_gen == 0      ? Kind::kPrefill
                    : n.n_prompt == 0 ? Kind::kDecode
                                      : Kind::kPromptThenGen;
  return {kind, depth, n.n_prompt, n.n_gen, 1};
}

std::vector<BenchCase> bench_cases(const BenchOptions& options, std::uint32_t context_tokens) {
  std::vector<BenchCase> tests;
  const auto n_gen = or_usual(options.n_gen, kUsualGen);
  for (const std::uint32_t depth : or_usual(options.depths, 0)) {
    for (const std::uint32_t n : or_usual(options.n_prompt, kUsualPrompt))
      add({Kind::kPrefill, depth, n, 0, 1}, &tests);
    for (const std::uint32_t n : n_gen) add({Kind::kDecode, depth, 0, n, 1}, &tests);
    for (const PromptThenGen& n : options.prompts_then_gen) add(then_gen(depth, n), &tests);
  }
  auto cached = or_usual(options.cached, std::min(kUsualModule, context_tokens / 2));
  std::erase(cached, 0u);
  for (const std::uint32_t n : cached) add({Kind::kFirstToken, n, options.n_new, 0, 1}, &tests);
  for (const std::uint32_t depth : cached)
    for (const std::uint32_t sessions : or_usual(options.sessions, kUsualSessions))
      for (const std::uint32_t n : n_gen) add({Kind::kDecode, depth, 0, n, sessions}, &tests);
  if (tests.empty()) throw Failure(kUsage, "nothing is left to measure: all numbers are 0");
  for (const BenchCase& test : tests) check_window(test, context_tokens);
  return tests;
}

}  // namespace pc::cli
