#include "runtime/scheduler/step_time.h"

#include <catch2/catch.hpp>

#include "tests/support/random.h"

namespace pc::test {
namespace {

TEST_CASE("the time of a step is a line through those that were taken") {
  StepTime time;
  CHECK(time.tokens_within(0.1) == UINT32_MAX);  // nothing is known
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t n = random.between(1, 256);
    time.add(n, 0.010 + 0.0005 * n);
  }
  CHECK(time.tokens_within(0.1) >= 179);
  CHECK(time.tokens_within(0.1) <= 180);
  CHECK(time.tokens_within(0.010) <= 1);
  CHECK(time.tokens_within(0.001) == 0);
  // A machine that becomes twice as slow is believed.
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t n = random.between(1, 256);
    time.add(n, 0.020 + 0.001 * n);
  }
  CHECK(time.tokens_within(0.1) >= 75);
  CHECK(time.tokens_within(0.1) <= 85);
}

TEST_CASE("steps of one size say nothing of the slope: all their time is the tokens'") {
  StepTime time;
  for (int i = 0; i < 50; ++i) time.add(4, 0.02);
  CHECK(time.tokens_within(0.1001) == 20);
  StepTime flat;  // reading the weights takes all of it
  for (const std::uint32_t n : {1u, 100u, 3u, 200u}) flat.add(n, 0.05);
  CHECK(flat.tokens_within(0.1) == UINT32_MAX);
  CHECK(flat.tokens_within(0.04) == 0);
}

}  // namespace
}  // namespace pc::test
