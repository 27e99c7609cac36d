#include <algorithm>

#include "tools/bench/compare/comparison_text.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"

namespace pc::cli {
namespace {

// Beyond the noise, and by more than so many percent.
bool slower_by(const RowPair& pair, double percent) {
  return pair.verdict == RowPair::Verdict::kSlower && pair.speed.middle < 1 - percent / 100;
}

}  // namespace

ExitCode bench_compare(const Options& options) {
  const BenchCompareOptions& own = options.bench_compare;
  const Document a = read_document(own.files.front()), b = read_document(own.files.back());
  const Comparison comparison =
      compare_reports(read_report(a.text, a.name), read_report(b.text, b.name));
  if (comparison.pairs.empty())
    throw Failure(kFailure, "no test of " + a.name + " is in " + b.name +
                                ": measure both with the same -p, -n, -pg and -d");
  print(options.json ? json_of(comparison).dump() + "\n" : text_of(comparison, {a.name, b.name}));
  const bool fails =
      own.fail_slower &&
      std::any_of(comparison.pairs.begin(), comparison.pairs.end(),
                  [&](const RowPair& pair) { return slower_by(pair, *own.fail_slower); });
  return fails ? kFailure : kSuccess;
}

}  // namespace pc::cli
