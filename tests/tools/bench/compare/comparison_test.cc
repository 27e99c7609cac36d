#include "tools/bench/compare/comparison.h"

#include <catch2/catch.hpp>

#include "tools/output/failure.h"

using namespace pc::cli;
using Verdict = RowPair::Verdict;

namespace {

using Facts = std::map<std::string, std::string>;

ReportRow row(const std::string& test, const Samples& seconds, const Facts& facts = {}) {
  ReportRow row;
  row.test = test;
  row.tokens = 100;
  row.seconds = seconds;
  row.facts = {{"model_filename", "a/m.gguf"},
               {"n_threads", "2"},
               {"cpu_info", "X"},
               {"build_version", "1"}};
  for (const auto& [name, value] : facts) row.facts[name] = value;
  return row;
}

const Samples kFast = {1.00, 1.01, 1.02, 1.03, 1.04}, kSlow = {2.00, 2.01, 2.02, 2.03, 2.04};

}  // namespace

TEST_CASE("what takes longer is slower, and the same within the noise") {
  const Comparison c = compare_reports({row("pp", kFast), row("tg", kSlow), row("x", kFast)},
                                       {row("pp", kSlow), row("tg", kFast), row("x", kFast)});
  REQUIRE(c.pairs.size() == 3);
  CHECK(c.pairs[0].verdict == Verdict::kSlower);
  CHECK(c.pairs[0].speed.middle == Approx(0.505).margin(0.01));
  CHECK(c.pairs[1].verdict == Verdict::kFaster);
  CHECK(c.pairs[1].speed.middle == Approx(1.98).margin(0.02));
  CHECK(c.pairs[2].verdict == Verdict::kWithinNoise);
  CHECK(c.pairs[2].speed.middle == 1);
  CHECK(c.pairs[0].chance == Approx(3 * 2.0 / 252));  // corrected for three tests
  CHECK(c.samples_needed == 0);
  CHECK(c.differences.empty());
}

TEST_CASE("few samples cannot tell many tests apart, and it is said how many would") {
  std::vector<ReportRow> a, b;
  for (int i = 0; i < 7; ++i) {
    a.push_back(row("pp" + std::to_string(i), kFast));
    b.push_back(row("pp" + std::to_string(i), kSlow));
  }
  const Comparison c = compare_reports(a, b);
  for (const RowPair& pair : c.pairs) CHECK(pair.verdict == Verdict::kTooFewSamples);
  CHECK(c.samples_needed == 6);  // 7 * 2 / 252 is above 5 %, 7 * 2 / 924 is not
  CHECK(compare_reports({row("pp", {1})}, {row("pp", {9})}).samples_needed == 4);
}

TEST_CASE("parameters that vary belong to a row's name, and others do not") {
  const Facts one = {{"n_threads", "1"}}, two = {{"n_threads", "2"}};
  const Comparison c =
      compare_reports({row("pp", kFast, one), row("pp", kSlow, two)}, {row("pp", kSlow, two)});
  CHECK(c.parameters == std::vector<std::string>{"n_threads"});
  REQUIRE(c.pairs.size() == 1);
  CHECK(c.pairs[0].verdict == Verdict::kWithinNoise);
  REQUIRE(c.only_a.size() == 1);
  CHECK(parameter_values(c.only_a[0], c.parameters) == std::vector<std::string>{"1"});
  CHECK(c.differences.empty());

  const Comparison other = compare_reports({row("pp", kFast, one)}, {row("pp", kFast, two)});
  REQUIRE(other.pairs.size() == 1);
  REQUIRE(other.differences.size() == 1);
  CHECK(other.differences[0].kind == "settings");
  CHECK(other.differences[0].field == "n_threads");
}

TEST_CASE("machines, models and programs that differ are told") {
  const Comparison c = compare_reports(
      {row("pp", kFast)},
      {row("pp", kFast,
           {{"cpu_info", "Y"}, {"model_filename", "b/n.gguf"}, {"build_version", "2"}})});
  std::string told;
  for (const Difference& d : c.differences)
    told += d.kind + ":" + d.field + ":" + d.a + ":" + d.b + " ";
  CHECK(told ==
        "machines:cpu_info:X:Y models:model_filename:m.gguf:n.gguf "
        "programs:program:promptcache 1:promptcache 2 ");
  // Another folder is no other model.
  CHECK(compare_reports({row("pp", kFast)}, {row("pp", kFast, {{"model_filename", "b/m.gguf"}})})
            .differences.empty());
}

TEST_CASE("models of one name in two folders are two, and folders may end in slashes") {
  const auto of = [](const Samples& seconds, const std::string& path) {
    return row("pp", seconds, {{"model_filename", path}});
  };
  const std::vector<ReportRow> two = {of(kFast, "base/m.gguf"), of(kSlow, "tuned/m.gguf")};
  const Comparison c = compare_reports(two, two);
  CHECK(c.parameters == std::vector<std::string>{"model_filename"});
  REQUIRE(c.pairs.size() == 2);
  CHECK(parameter_values(c.pairs[1].a, c.parameters) == std::vector<std::string>{"tuned/m.gguf"});
  CHECK(c.pairs[1].a.seconds == kSlow);

  const Comparison folders = compare_reports({of(kFast, "x/a/"), of(kSlow, "x/b//")},
                                             {of(kFast, "y/a"), of(kSlow, "y/b")});
  REQUIRE(folders.pairs.size() == 2);
  CHECK(folders.pairs[0].verdict == Verdict::kWithinNoise);
  CHECK(parameter_values(folders.pairs[1].a, folders.parameters) == std::vector<std::string>{"b"});
  CHECK(folders.differences.empty());
}

TEST_CASE("a report of llama-bench can be compared with one of ours") {
  ReportRow theirs = row("pp", kFast,
                         {{"model_type", "llama 1B Q4_0"},
                          {"build_commit", "c"},
                          {"build_number", "7"},
                          {"n_batch", "2048"}});
  theirs.facts.erase("build_version");
  const Comparison c =
      compare_reports({row("pp", kFast, {{"model_type", "llama Q4_0"}})}, {theirs});
  CHECK(c.pairs.size() == 1);
  REQUIRE(c.differences.size() == 1);  // neither words for a model, nor what one alone has
  CHECK(c.differences[0].b == "llama.cpp c (7)");
}

TEST_CASE("rows that are in one report alone are kept") {
  const Comparison c =
      compare_reports({row("a", kFast), row("b", kFast)}, {row("b", kFast), row("c", kFast)});
  REQUIRE(c.only_a.size() == 1);
  CHECK(c.only_a[0].test == "a");
  REQUIRE(c.only_b.size() == 1);
  CHECK(c.only_b[0].test == "c");
}

TEST_CASE("several runs in one report count as one with more samples") {
  const Comparison c =
      compare_reports({row("a", {1, 2}), row("b", kFast), row("a", {3})}, {row("a", {4})});
  REQUIRE(c.pairs.size() == 1);
  CHECK(c.pairs[0].a.seconds == Samples{1, 2, 3});
  CHECK_THROWS_AS(
      compare_reports({row("a", Samples(1500, 1)), row("a", Samples(1500, 1))}, {row("a", {1})}),
      Failure);
}

TEST_CASE("a machine that was at work before a run is told, with the worst of its runs") {
  const Facts idle = {{"load_before", "0.90"}, {"n_cpus", "2"}};
  const Facts busy = {{"load_before", "1.10"}, {"n_cpus", "2"}};
  const Facts busier = {{"load_before", "3.5"}, {"n_cpus", "2"}};
  const Comparison c =
      compare_reports({row("pp", kFast, idle)}, {row("pp", kFast, busy), row("pp", kFast, busier)});
  CHECK_FALSE(c.busy_a);
  REQUIRE(c.busy_b);
  CHECK(c.busy_b->load == 3.5);
  CHECK(c.busy_b->n_cpus == 2);
  const Facts nowhere = {{"load_before", "3.5"}, {"n_cpus", "0"}};  // the system says not how many
  CHECK_FALSE(compare_reports({row("pp", kFast, nowhere)}, {row("pp", kFast)}).busy_a);
  CHECK_FALSE(compare_reports({row("pp", kFast)}, {row("pp", kFast)}).busy_a);  // it is not known
}
