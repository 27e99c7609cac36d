// The fuzz target of the module reader as a plain test: seeded inputs.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

TEST_CASE("seeded inputs to the module reader") {
  std::mt19937 random(20240607);
  std::vector<std::uint8_t> input;
  for (int i = 0; i < 20000; ++i) {
    input.assign(1 + random() % 40, 0);
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
    // Most changes to the first 768 bytes: the header, the tables.
    for (std::size_t at = 1; at < input.size(); at += 3) {
      if (random() % 8 != 0) input[at] %= 3;
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  SUCCEED("no promise was broken");
}

}  // namespace
