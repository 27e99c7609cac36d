#include "tools/bench/bench_floor.h"

#include <catch2/catch.hpp>

using namespace pc::cli;
using Kind = BenchCase::Kind;

namespace {

Json inspection(std::uint64_t output_bytes) {
  const auto group = [](const char* name, std::uint64_t bytes) {
    return Json::object().set("group", name).set("bytes", bytes);
  };
  Json weights = Json::array();
  weights.push(group("embedding", 300))
      .push(group("per-layer embedding", 7000))
      .push(group("attention", 1000))
      .push(group("output", output_bytes));
  return Json::object()
      .set("weights", weights)
      .set("kv_bytes_per_token", 40u)
      .set("window_kv_bytes_per_token", 30u)
      .set("window_tokens", 10u);
}

const ModelBytes kPlain{1000, 40};
const Machine kMachine{"", 100, 1};

}  // namespace

TEST_CASE("an embedding counts where it is the output, those of layers never") {
  CHECK(bytes_of_model(inspection(0)).weights == 1300);
  CHECK(bytes_of_model(inspection(500)).weights == 1500);
}

TEST_CASE("layers with a window see no more of the states than that") {
  const ModelBytes model = bytes_of_model(inspection(0));
  CHECK(model.states(8) == 8 * 40);
  CHECK(model.states(100) == 10 * (100 + 3 * 10));
}

TEST_CASE("a first token reads the weights and the module once") {
  CHECK(floor_seconds({Kind::kFirstToken, 25, 32, 0, 1}, kPlain, kMachine) == 1000 + 25 * 40);
}

TEST_CASE("of experts a step reads those that its tokens go to") {
  ModelBytes model;
  model.weights = 100;
  model.experts = 800;
  model.used_share = 0.25;
  CHECK(model.read(1) == 300);
  CHECK(model.read(2) == Approx(100 + 800 * (1 - 0.75 * 0.75)));
  CHECK(model.read(1000) == Approx(900));
}

TEST_CASE("each step of decoding reads the weights and what was said before") {
  CHECK(floor_seconds({Kind::kDecode, 0, 0, 3, 1}, kPlain, kMachine) ==
        3 * 1000 + (0 + 1 + 2) * 40);
  CHECK(floor_seconds({Kind::kDecode, 5, 0, 3, 1}, kPlain, kMachine) ==
        3 * 1000 + (5 + 6 + 7) * 40);
}

TEST_CASE("a batch reads the weights and the module once for all") {
  CHECK(floor_seconds({Kind::kDecode, 5, 0, 3, 8}, kPlain, kMachine) ==
        3 * 1000 + 3 * 5 * 40 + 8 * (0 + 1 + 2) * 40);
}

TEST_CASE("prefill has no floor of memory") {
  CHECK(!floor_seconds({Kind::kPrefill, 0, 512, 0, 1}, kPlain, kMachine));
  CHECK(!floor_seconds({Kind::kPromptThenGen, 0, 512, 3, 1}, kPlain, kMachine));
}

TEST_CASE("what caches may hold has no floor of memory") {
  const BenchCase decode{Kind::kDecode, 25, 0, 3, 1}, first{Kind::kFirstToken, 25, 32, 0, 1};
  for (const BenchCase& test : {decode, first}) {
    CHECK(!floor_seconds(test, kPlain, {"", 1000 + 25 * 40, 1}));
    CHECK(floor_seconds(test, kPlain, {"", 1000 + 25 * 40 - 1, 1}));
    CHECK(floor_seconds(test, kPlain, {"", 0, 1}));  // not known
  }
}
