#include "tools/bench/bench_report.h"

#include <cstddef>

namespace pc::cli {

double tokens_of(const BenchCase& test) {
  switch (test.kind) {
    case BenchCase::Kind::kDecode:
      return double{1} * test.n_gen * test.n_sessions;
    case BenchCase::Kind::kPromptThenGen:
      return double{1} * test.n_prompt + test.n_gen;
    case BenchCase::Kind::kPrefill:
    case BenchCase::Kind::kFirstToken:
      break;
  }
  return test.n_prompt;
}

Samples rates(const BenchResult& result) {
  Samples rates;
  for (const double seconds : result.seconds) rates.push_back(tokens_of(result.test) / seconds);
  return rates;
}

Samples speed_ups(const BenchResult& result) {
  Samples ratios;
  for (std::size_t i = 0; i < result.seconds.size(); ++i)
    ratios.push_back(result.full_seconds[i] / result.seconds[i]);
  return ratios;
}

}  // namespace pc::cli
