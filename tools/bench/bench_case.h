// What `promptcache bench` measures: one test and its name, and the tests that a command line asks
// for. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/opening/options.h"

namespace pc::cli {

struct BenchCase {
  enum class Kind {
    kPrefill,        // n_prompt tokens are computed
    kDecode,         // each of n_sessions conversations goes on by n_gen tokens
    kPromptThenGen,  // n_prompt tokens are computed, and n_gen decoded behind them
    kFirstToken,  // of a prompt with n_prompt tokens behind a module of `depth`, and without reuse
  };
  Kind kind = Kind::kPrefill;
  std::uint32_t depth = 0;  // tokens that are there before the clock starts
  std::uint32_t n_prompt = 0, n_gen = 0, n_sessions = 1;

  // Positions that it takes.
  std::uint64_t context_tokens() const;
};

// As llama-bench writes it: "pp512", "tg128 @ d2048", "pp512+tg128"; and "ttft32 @ d1024", "4 x
// tg128 @ d1024".
std::string name_of(const BenchCase& test);

// In the order in which they are to be run, llama-bench's as it has them, ours behind: batches
// last, since an engine that was asked by several threads goes on to compute on one of its own.
// Throws Failure for a test that does not fit the context window, and where nothing is left to
// measure.
std::vector<BenchCase> bench_cases(const BenchOptions& options, std::uint32_t context_tokens);

}  // namespace pc::cli
