#include "tools/bench/bench_plan.h"

#include <catch2/catch.hpp>

#include "tests/support/temp_folder.h"
#include "tools/output/failure.h"

using namespace pc::cli;

namespace {

using Texts = std::vector<std::string>;

Texts setups(const BenchOptions& options) {
  Texts out;
  for (const BenchSetup& s : bench_setups(options))
    out.push_back(s.model + " " + s.kv_type + " " + std::to_string(s.threads));
  return out;
}

std::string failure_of(const BenchOptions& options) {
  try {
    bench_setups(options);
  } catch (const Failure& failure) {
    CHECK(failure.exit_code == kUsage);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("each model with each type with each number of threads") {
  BenchOptions options;
  options.models = {"a,b", "c"};
  CHECK(setups(options) == Texts{"a  0", "b  0", "c  0"});
  options.models = {"a,b"};
  options.kv_types = {"bf16", "q8"};
  options.threads = {1, 2};
  CHECK(setups(options) == Texts{"a bf16 1", "a bf16 2", "a q8 1", "a q8 2", "b bf16 1", "b bf16 2",
                                 "b q8 1", "b q8 2"});
}

TEST_CASE("a path that is there is one model, whatever commas it has") {
  const pc::test::TempFolder folder;
  folder.write("a,b.gguf", "");
  BenchOptions options;
  options.models = {folder.path() + "/a,b.gguf"};
  CHECK(setups(options) == Texts{folder.path() + "/a,b.gguf  0"});
}

TEST_CASE("types of llama.cpp become ours") {
  BenchOptions options;
  options.models = {"m"};
  for (const auto& [theirs, ours] : {std::pair{"f32", "f32"},
                                     {"f16", "bf16"},
                                     {"bf16", "bf16"},
                                     {"q8_0", "q8"},
                                     {"q4_0", "q4"}}) {
    options.k_types = options.v_types = {theirs};
    CHECK(setups(options) == Texts{std::string("m ") + ours + " 0"});
  }
  options.k_types = {"f16", "bf16"};
  options.v_types = {};
  CHECK(setups(options) == Texts{"m bf16 0", "m bf16 0"});
}

TEST_CASE("unequal types of keys and values are refused by name, and types that are none here") {
  BenchOptions options;
  options.models = {"m"};
  options.k_types = {"q8_0"};
  CHECK(failure_of(options).find("keys as q8_0 with values as f16 cannot be measured") == 0);
  options.v_types = {"q8_0", "q4_0"};
  CHECK(failure_of(options).find("keys as q8_0 with values as q4_0") == 0);
  options.k_types = options.v_types = {"q5_1"};
  CHECK(failure_of(options) ==
        "attention states are never q5_1 here: give f32, bf16, q8_0 or q4_0 to -ctk and -ctv");
}

TEST_CASE("no model is an error that names the help") {
  CHECK(failure_of({}) == "--model is required; see promptcache bench --help");
}
