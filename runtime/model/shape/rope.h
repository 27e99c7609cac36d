// Rotary position embedding: from a configuration to inverse frequencies.
//
// Frequencies are computed in double, once, and do not depend on the length of the
// prompt (docs/adr/0001-positions.md); a scheme in which they would is refused by its
// name. LongRoPE has two tables. The context window that the model is opened with
// decides between them, never a prompt: a window up to the original context takes the
// short table, a larger one the long table.
//
// Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"

namespace pc {

struct RopeConfig {
  std::string type = "default";  // default, linear, llama3, yarn, longrope,
                                 // proportional, alpha
  double theta = 10000;
  double partial_rotary_factor = 1;  // share of a head's dimensions that is rotated
  double factor = 1;                 // of the context's length; not of default
  double original_context = 0;       // tokens before the extension; llama3, yarn, longrope
  double alpha = 1;                  // alpha: theta is theta * alpha^(dims / (dims - 2))
  double low_freq_factor = 0, high_freq_factor = 0;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn: rotations within original_context
  bool truncate = true;                              // yarn: ramp between whole dimensions
  std::optional<double> attention_factor;            // yarn, longrope: of cos and sin, where given
  std::optional<double> mscale, mscale_all_dim;      // yarn: another way to say it
  std::vector<double> short_factors, long_factors;   // longrope: [dims / 2] frequency divisors
  std::vector<double> frequency_factors;             // any type: [dims / 2] further divisors, or {}
};

struct Rope {
  std::uint32_t dims = 0;        // rotated leading dimensions of a head, even
  double scale = 1;              // of cos and sin
  std::vector<double> inv_freq;  // [dims / 2] radians a position
};

// The share that gives so many of a head's dimensions, of which the rest is cut off. Half of one
// more, since a quotient may round down.
constexpr double rotary_share(std::uint32_t dims, std::uint32_t head_dim) {
  return dims == head_dim ? 1.0 : (dims + 0.5) / head_dim;
}

// From config.json's root, in either dialect: rope_parameters, or rope_theta
// and rope_scaling. `context_tokens` is max_position_embeddings.
// `layer_kind`: where rope_parameters describes kinds of layers, whose it is
// ("full_attention"); "" refuses such a file.
// Errors: kUnsupported names the scheme; kCorrupt the field.
Result<RopeConfig> read_rope_config(JsonView config, std::uint32_t context_tokens,
                                    double default_theta = 10000, std::string_view layer_kind = "");

// `opened_context`: the context window that the model is opened with.
// Errors: kUnsupported where the numbers give no usable frequencies.
Result<Rope> compute_rope(const RopeConfig& config, std::uint32_t head_dim,
                          std::uint32_t opened_context);

}  // namespace pc
