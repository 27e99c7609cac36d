#include "runtime/model/shape/rope.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/support/fixture.h"  // golden

using namespace pc;
using namespace pc::test;

namespace {

Result<Rope> rope_of(const std::string& config, std::uint32_t head_dim = 64) {
  PC_TRY(const JsonDocument document, JsonDocument::parse(config, "config.json"));
  PC_TRY(const RopeConfig rope, read_rope_config(document.root(), 4096));
  return compute_rope(rope, head_dim, 4096);
}

void refused(const std::string& config, const std::string& part) {
  INFO(config);
  const auto rope = rope_of(config);
  REQUIRE_FALSE(rope.ok());
  CHECK_THAT(rope.error().message, Catch::Contains(part));
}

}  // namespace

TEST_CASE("frequencies and attention factors are those of transformers") {
  const auto fixture = JsonDocument::read_file(golden("models/rope.json"));
  REQUIRE(fixture.ok());
  const JsonView rows = fixture->root();
  REQUIRE(rows.size() > 20);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JsonView row = rows.at(i);
    INFO(i);
    const auto context =
        static_cast<std::uint32_t>(*row.member("max_position_embeddings")->integer());
    const auto head_dim = static_cast<std::uint32_t>(*row.member("head_dim")->integer());
    const auto config = read_rope_config(row, context);
    REQUIRE(config.ok());
    // The context that is opened, where a scheme asks for it.
    const auto opened = static_cast<std::uint32_t>(*row.integer_or("seq_len", context));
    const auto rope = compute_rope(*config, head_dim, opened);
    REQUIRE(rope.ok());

    const JsonView expected = *row.member("inv_freq");
    REQUIRE(rope->inv_freq.size() == expected.size());
    REQUIRE(rope->dims == 2 * expected.size());
    CHECK(rope->scale == Approx(*row.member("attention_factor")->number()).epsilon(1e-12));
    for (std::size_t j = 0; j < expected.size(); ++j) {
      // The reference computes in f32: a power, a few products and differences.
      CHECK(rope->inv_freq[j] == Approx(*expected.at(j).number()).epsilon(2e-6));
    }
  }
}

TEST_CASE("both dialects say the same") {
  const auto old_dialect =
      rope_of(R"({"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0, )"
              R"("original_max_position_embeddings": 1024}})");
  const auto new_dialect =
      rope_of(R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4, )"
              R"("original_max_position_embeddings": 1024}})");
  const auto outside = rope_of(R"({"rope_theta": 1e6, "original_max_position_embeddings": 1024, )"
                               R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0}})");
  REQUIRE(old_dialect.ok());
  CHECK(old_dialect->inv_freq == new_dialect->inv_freq);
  CHECK(old_dialect->inv_freq == outside->inv_freq);
  CHECK(old_dialect->scale == outside->scale);
  CHECK(rope_of("{}")->inv_freq ==
        rope_of(R"({"rope_scaling": null, "rope_theta": 10000})")->inv_freq);
  CHECK(rope_of(R"({"rope_scaling": {"type": "default"}})")->inv_freq == rope_of("{}")->inv_freq);
}

TEST_CASE("a part of the head may be rotated") {
  const auto rope = rope_of(R"({"partial_rotary_factor": 0.25})");
  CHECK(rope->dims == 16);
  CHECK(rope->inv_freq.size() == 8);
  refused(R"({"partial_rotary_factor": 0})", "partial_rotary_factor");
  refused(R"({"partial_rotary_factor": 1.5})", "partial_rotary_factor");
  refused(R"({"partial_rotary_factor": -1})", "partial_rotary_factor");
  refused(R"({"partial_rotary_factor": 0.05})", "even");
}

TEST_CASE("LongRoPE's table is chosen by the context that is opened") {
  const std::string text = R"({"rope_scaling": {"type": "su", "short_factor": [1, 2], )"
                           R"("long_factor": [4, 8], "original_max_position_embeddings": 1024}})";
  const auto document = JsonDocument::parse(text, "config.json");
  const auto config = read_rope_config(document->root(), 4096);
  REQUIRE(config.ok());
  const auto at_most = compute_rope(*config, 4, 1024), beyond = compute_rope(*config, 4, 1025);
  REQUIRE(at_most.ok());
  REQUIRE(beyond.ok());
  CHECK(at_most->inv_freq == std::vector<double>{1, 0.01 / 2});
  CHECK(beyond->inv_freq == std::vector<double>{0.25, 0.01 / 8});
  CHECK(at_most->scale == beyond->scale);
  CHECK(at_most->scale == Approx(std::sqrt(1 + std::log(4.0) / std::log(1024.0))));
  CHECK_FALSE(compute_rope(*config, 8, 1024).ok());  // four pairs, two factors
}

TEST_CASE("of a proportional RoPE a share of the pairs turns, as fast as if all did") {
  const auto rope = rope_of(R"({"rope_parameters": {"rope_type": "proportional", "rope_theta": 16,)"
                            R"( "partial_rotary_factor": 0.6, "factor": 2}})",
                            8);
  REQUIRE(rope.ok());
  CHECK(rope->dims == 8);
  CHECK(rope->inv_freq == std::vector<double>{1 / 2.0, 0.5 / 2, 0, 0});  // 2.4 pairs
  CHECK(rope->scale == 1);
  refused(R"({"rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 1.5}})",
          "partial_rotary_factor");
}

TEST_CASE("other schemes are refused by their names") {
  for (const char* type : {"dynamic", "axial", ""}) {
    refused(R"({"rope_scaling": {"type": ")" + std::string(type) + R"(", "factor": 2}})",
            "RoPE type \"" + std::string(type) + "\"");
  }
  refused(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})", "length");
  refused(R"({"rope_parameters": {"full_attention": {"rope_type": "default"}}})", "kind of layer");
}

TEST_CASE("numbers that give no frequencies are refused") {
  refused(R"({"rope_theta": 0})", "rope_theta");
  refused(R"({"rope_theta": -1e4})", "rope_theta");
  refused(R"({"rope_theta": "10000"})", "number");
  refused(R"({"rope_theta": 1e300, "partial_rotary_factor": 1, "rope_scaling": {"type": "linear", )"
          R"("factor": 1e300}})",
          "frequency");
  refused(R"({"rope_scaling": {"type": "linear"}})", "factor");
  refused(R"({"rope_scaling": {"type": "linear", "factor": 0}})", "factor");
  refused(R"({"rope_scaling": []})", "object");
  refused(
      R"({"rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 0}})",
      "original");
  refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "attention_factor": -1}})",
          "attention factor");
  refused(R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}})", "rope_theta");
  refused(R"({"rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 4, )"
          R"("high_freq_factor": 4}})",
          "high_freq_factor");
  refused(R"({"rope_scaling": {"type": "llama3", "factor": 2}})", "low_freq_factor");
}
