#include "tools/bench/bench_case.h"

#include <catch2/catch.hpp>

#include "tools/output/failure.h"

using namespace pc::cli;
using Kind = BenchCase::Kind;

namespace {

std::vector<std::string> names(const BenchOptions& options, std::uint32_t context = 8192) {
  std::vector<std::string> names;
  for (const BenchCase& test : bench_cases(options, context)) names.push_back(name_of(test));
  return names;
}

std::string failure_of(const BenchOptions& options, std::uint32_t context) {
  try {
    bench_cases(options, context);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("tests are named as llama-bench names them") {
  CHECK(name_of({Kind::kPrefill, 0, 512, 0, 1}) == "pp512");
  CHECK(name_of({Kind::kPrefill, 2048, 512, 0, 1}) == "pp512 @ d2048");
  CHECK(name_of({Kind::kDecode, 0, 0, 128, 1}) == "tg128");
  CHECK(name_of({Kind::kDecode, 1024, 0, 128, 4}) == "4 x tg128 @ d1024");
  CHECK(name_of({Kind::kPromptThenGen, 0, 512, 128, 1}) == "pp512+tg128");
  CHECK(name_of({Kind::kPromptThenGen, 64, 16, 8, 1}) == "pp16+tg8 @ d64");
  CHECK(name_of({Kind::kFirstToken, 1024, 32, 0, 1}) == "ttft32 @ d1024");
}

TEST_CASE("what is measured where nothing is asked for") {
  CHECK(names({}) == Names{"pp512", "tg128", "ttft32 @ d1024", "4 x tg128 @ d1024"});
  CHECK(names({}, 1000) == Names{"pp512", "tg128", "ttft32 @ d500", "4 x tg128 @ d500"});
}

TEST_CASE("lists are combined, and batches come last") {
  BenchOptions options;
  options.n_prompt = {16, 32};
  options.n_gen = {8};
  options.depths = {0, 64};
  options.cached = {128, 256};
  options.sessions = {2, 3};
  CHECK(names(options) == Names{"pp16", "pp32", "tg8", "pp16 @ d64", "pp32 @ d64", "tg8 @ d64",
                                "ttft32 @ d128", "ttft32 @ d256", "2 x tg8 @ d128",
                                "3 x tg8 @ d128", "2 x tg8 @ d256", "3 x tg8 @ d256"});
}

TEST_CASE("0 leaves a measure out, and leaving all out is an error") {
  BenchOptions options;
  options.n_prompt = {0};
  options.sessions = {0};
  CHECK(names(options) == Names{"tg128", "ttft32 @ d1024"});
  options.cached = {0};
  CHECK(names(options) == Names{"tg128"});
  options.n_gen = {0};
  CHECK(failure_of(options, 8192).find("nothing is left") != std::string::npos);
}

TEST_CASE("what does not fit the context window is refused before anything is measured") {
  BenchOptions options;
  options.n_gen = {0};
  options.cached = {0};
  options.depths = {100};
  CHECK(failure_of(options, 613).empty());  // 100 + 512, and the answer's first token
  CHECK(failure_of(options, 612) == "pp512 @ d100 takes 613 tokens, the context window has 612");
  options.depths = {0};
  CHECK(failure_of(options, 513).empty());
  options.depths = {4'294'967'295u};
  CHECK(!failure_of(options, 4'294'967'295u).empty());
}
