#include "runtime/model/shape/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

namespace pc {
namespace {

// ---- reading ----

// Schemes that are known and refused, each with the reason.
struct Refusal {
  std::string_view type;
  std::string_view reason;
};
constexpr std::array<Refusal, 2> kRefusals{{
    {"dynamic", "its frequencies depend on the prompt's length, so cached keys would go stale"},
    {"ntk", "it is not one of the schemes of the reference"},
}};

Error refuse_type(JsonView where, std::string_view type) {
  std::string what = "RoPE type \"" + std::string(type) + "\" is not supported";
  for (const Refusal& refusal : kRefusals) {
    if (refusal.type == type) what += " (" + std::string(refusal.reason) + ")";
  }
  return where.error(
      Code::kUnsupported,
      what + "; supported are default, linear, llama3, yarn, longrope and proportional");
}

Result<std::optional<double>> optional_number(JsonView object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return std::optional<double>();
  PC_TRY(const double number, value->number());
  return std::optional(number);
}

Result<double> required_number(JsonView object, std::string_view key) {
  PC_TRY(const JsonView value, object.member(key));
  return value.number();
}

Status read_linear(JsonView scaling, RopeConfig* rope) {
  PC_TRY(rope->factor, required_number(scaling, "factor"));
  return ok();
}

Status read_llama3(JsonView scaling, RopeConfig* rope) {
  PC_TRY(rope->factor, required_number(scaling, "factor"));
  PC_TRY(rope->low_freq_factor, required_number(scaling, "low_freq_factor"));
  PC_TRY(rope->high_freq_factor, required_number(scaling, "high_freq_factor"));
  return ok();
}

Status read_yarn(JsonView scaling, double context_tokens, RopeConfig* rope) {
  PC_TRY(rope->factor, scaling.number_or("factor", context_tokens / rope->original_context));
  PC_TRY(rope->attention_factor, optional_number(scaling, "attention_factor"));
  PC_TRY(rope->mscale, optional_number(scaling, "mscale"));
  PC_TRY(rope->mscale_all_dim, optional_number(scaling, "mscale_all_dim"));
  PC_TRY(rope->beta_fast, scaling.number_or("beta_fast", 0));
  PC_TRY(rope->beta_slow, scaling.number_or("beta_slow", 0));
  if (rope->beta_fast == 0) rope->beta_fast = 32;  // the reference takes 0 for absent
  if (rope->beta_slow == 0) rope->beta_slow = 1;
  PC_TRY(rope->truncate, scaling.boolean_or("truncate", true));
  return ok();
}

Result<std::vector<double>> read_factors(JsonView scaling, std::string_view key) {
  PC_TRY(const JsonView list, scaling.member(key));
  if (!list.is_array()) return list.error(Code::kCorrupt, "is no list of numbers");
  std::vector<double> factors;
  for (std::size_t i = 0; i < list.size(); ++i) {
    PC_TRY(const double factor, list.at(i).number());
    factors.push_back(factor);
  }
  return factors;
}

Status read_longrope(JsonView scaling, double context_tokens, RopeConfig* rope) {
  PC_TRY(rope->factor, scaling.number_or("factor", context_tokens / rope->original_context));
  PC_TRY(rope->attention_factor, optional_number(scaling, "attention_factor"));
  PC_TRY(rope->short_factors, read_factors(scaling, "short_factor"));
  PC_TRY(rope->long_factors, read_factors(scaling, "long_factor"));
  return ok();
}

// The object in config.json that describes the scheme, in either of its dialects; nothing
// if the scheme is the default.
Result<std::optional<JsonView>> find_scaling(JsonView config, std::string_view layer_kind) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const auto found = config.find(key);
    if (!found) continue;
    if (!found->is_object()) return found->error(Code::kCorrupt, "is not an object");
    if (found->size() == 0) continue;
    if (found->find("full_attention") || found->find("sliding_attention")) {
      if (!layer_kind.empty()) return found->find(layer_kind);
      return found->error(Code::kUnsupported, "gives each kind of layer a RoPE of its own");
    }
    return found;
  }
  return std::optional<JsonView>();
}

// ---- computing ----

bool is_positive(double x) {
  return std::isfinite(x) && x > 0;
}

double plain_inv_freq(double theta, std::size_t pair, std::uint32_t dims) {
  return std::pow(theta, -2.0 * static_cast<double>(pair) / dims);
}

// The base of HunYuan's frequencies is stretched once and for all.
Result<double> stretched_theta(const RopeConfig& c, std::uint32_t dims) {
  if (c.type != "alpha") return c.theta;
  const double theta = c.theta * std::pow(c.alpha, dims / (dims - 2.0));
  if (dims > 2 && is_positive(c.alpha) && is_positive(theta)) return theta;
  return error(Code::kUnsupported, "alpha of RoPE is out of range");
}

// Stretches long waves by the factor, keeps short ones, and blends those between.
double llama3_inv_freq(const RopeConfig& c, double inv_freq) {
  const double wavelength = 2 * std::numbers::pi / inv_freq;
  if (wavelength < c.original_context / c.high_freq_factor) return inv_freq;
  if (wavelength > c.original_context / c.low_freq_factor) return inv_freq / c.factor;
  const double share = (c.original_context / wavelength - c.low_freq_factor) /
                       (c.high_freq_factor - c.low_freq_factor);
  return (1 - share) * inv_freq / c.factor + share * inv_freq;
}

// The (fractional) dimension that turns `rotations` times within the original context.
double yarn_dimension(const RopeConfig& c, double rotations, std::uint32_t dims) {
  return dims * std::log(c.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(c.theta));
}

struct YarnRamp {
  double low, high;
};

YarnRamp yarn_ramp(const RopeConfig& c, std::uint32_t dims) {
  double low = yarn_dimension(c, c.beta_fast, dims);
  double high = yarn_dimension(c, c.beta_slow, dims);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1.0);
  return {low, low == high ? high + 0.001 : high};
}

double yarn_inv_freq(const RopeConfig& c, const YarnRamp& ramp, std::size_t pair, double inv_freq) {
  const double t =
      std::clamp((static_cast<double>(pair) - ramp.low) / (ramp.high - ramp.low), 0.0, 1.0);
  return inv_freq / c.factor * t + inv_freq * (1 - t);
}

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_scale(const RopeConfig& c) {
  if (c.attention_factor) return *c.attention_factor;
  if (c.mscale.value_or(0) != 0 && c.mscale_all_dim.value_or(0) != 0) {
    return yarn_mscale(c.factor, *c.mscale) / yarn_mscale(c.factor, *c.mscale_all_dim);
  }
  return yarn_mscale(c.factor, 1);
}

double longrope_scale(const RopeConfig& c) {
  if (c.attention_factor) return *c.attention_factor;
  return c.factor <= 1 ? 1.0 : std::sqrt(1 + std::log(c.factor) / std::log(c.original_context));
}

Status check_numbers(const RopeConfig& c) {
  const bool yarn = c.type == "yarn" || c.type == "longrope", llama3 = c.type == "llama3";
  const char* bad = nullptr;
  if (!is_positive(c.theta) || (yarn && c.theta <= 1)) bad = "rope_theta";
  if (!is_positive(c.factor)) bad = "factor";
  if ((yarn || llama3) && !is_positive(c.original_context))
    bad = "original_max_position_embeddings";
  if (yarn && (!is_positive(c.beta_fast) || !is_positive(c.beta_slow)))
    bad = "beta_fast or beta_slow";
  if (llama3 && !(is_positive(c.low_freq_factor) && c.high_freq_factor > c.low_freq_factor)) {
    bad = "low_freq_factor or high_freq_factor";
  }
  if (!bad) return ok();
  return error(Code::kUnsupported,
               std::string(bad) + " of RoPE type \"" + c.type + "\" is out of range");
}

// One divisor for each pair, where there are any.
Status check_factors(const std::vector<double>& factors, std::uint32_t dims, bool required) {
  if ((factors.empty() && !required) || factors.size() == dims / 2) return ok();
  return error(Code::kUnsupported, "RoPE has " + std::to_string(factors.size()) +
                                       " frequency factors for " + std::to_string(dims / 2) +
                                       " pairs of dimensions");
}

// int(head_dim * factor), which has to be even to make pairs.
Result<std::uint32_t> rotated_dims(const RopeConfig& c, std::uint32_t head_dim) {
  const double dims = c.partial_rotary_factor * head_dim;
  if (!(dims >= 2 && dims <= head_dim) || static_cast<std::uint32_t>(dims) % 2 != 0) {
    return error(Code::kUnsupported, "partial_rotary_factor " +
                                         std::to_string(c.partial_rotary_factor) + " of head_dim " +
                                         std::to_string(head_dim) +
                                         " is not a positive even number of dimensions");
  }
  return static_cast<std::uint32_t>(dims);
}

// All pairs of the head, of which the first few turn, as fast as if all did.
Result<Rope> proportional_rope(const RopeConfig& config, std::uint32_t head_dim) {
  if (!(config.partial_rotary_factor > 0 && config.partial_rotary_factor <= 1))
    return error(Code::kUnsupported, "partial_rotary_factor is not in (0, 1]");
  const auto n_turning =
      static_cast<std::size_t>(std::floor(config.partial_rotary_factor * head_dim / 2));
  Rope rope;
  rope.dims = head_dim;
  for (std::size_t i = 0; i < head_dim / 2; ++i)
    rope.inv_freq.push_back(
        i < n_turning ? plain_inv_freq(config.theta, i, head_dim) / config.factor : 0.0);
  return rope;
}

}  // namespace

Result<RopeConfig> read_rope_config(JsonView config, std::uint32_t context_tokens,
                                    double default_theta, std::string_view layer_kind) {
  RopeConfig rope;
  rope.theta = default_theta;
  PC_TRY(rope.theta, config.number_or("rope_theta", rope.theta));
  PC_TRY(rope.partial_rotary_factor, config.number_or("partial_rotary_factor", 1));
  PC_TRY(const auto scaling, find_scaling(config, layer_kind));
  if (!scaling) return rope;

  PC_TRY(const std::string old_name, scaling->string_or("type", rope.type));
  PC_TRY(rope.type, scaling->string_or("rope_type", old_name));
  PC_TRY(rope.theta, scaling->number_or("rope_theta", rope.theta));
  PC_TRY(rope.partial_rotary_factor,
         scaling->number_or("partial_rotary_factor", rope.partial_rotary_factor));
  // Beside the scheme's own the outer field counts first, as in the reference.
  PC_TRY(rope.original_context,
         scaling->number_or("original_max_position_embeddings", context_tokens));
  PC_TRY(rope.original_context,
         config.number_or("original_max_position_embeddings", rope.original_context));
  if (rope.type == "su") rope.type = "longrope";    // its name in the first files
  if (rope.type == "mrope") rope.type = "default";  // text is at the same place in all dimensions
  if (rope.type == "default") return rope;
  if (rope.type == "linear") {
    PC_CHECK_OK(read_linear(*scaling, &rope));
  } else if (rope.type == "llama3") {
    PC_CHECK_OK(read_llama3(*scaling, &rope));
  } else if (rope.type == "yarn") {
    PC_CHECK_OK(read_yarn(*scaling, context_tokens, &rope));
  } else if (rope.type == "longrope") {
    PC_CHECK_OK(read_longrope(*scaling, context_tokens, &rope));
  } else if (rope.type == "proportional") {
    PC_TRY(rope.factor, scaling->number_or("factor", 1));
  } else if (rope.type == "dynamic" && scaling->find("alpha")) {  // and so the same at any length
    rope.type = "alpha";
    PC_TRY(rope.alpha, required_number(*scaling, "alpha"));
  } else {
    return refuse_type(*scaling, rope.type);
  }
  return rope;
}

Result<Rope> compute_rope(const RopeConfig& config, std::uint32_t head_dim,
                          std::uint32_t opened_context) {
  PC_CHECK_OK(check_numbers(config));
  if (config.type == "proportional") return proportional_rope(config, head_dim);
  Rope rope;
  PC_TRY(rope.dims, rotated_dims(config, head_dim));
  const bool yarn = config.type == "yarn", longrope = config.type == "longrope";
  const YarnRamp ramp = yarn ? yarn_ramp(config, rope.dims) : YarnRamp{};
  const std::vector<double>& table =
      opened_context > config.original_context ? config.long_factors : config.short_factors;
  PC_CHECK_OK(check_factors(config.frequency_factors, rope.dims, false));
  PC_CHECK_OK(check_factors(table, rope.dims, longrope));
  PC_TRY(const double theta, stretched_theta(config, rope.dims));
  for (std::size_t i = 0; i < rope.dims / 2; ++i) {
    double f = plain_inv_freq(theta, i, rope.dims);
    if (config.type == "linear") f /= config.factor;
    if (config.type == "llama3") f = llama3_inv_freq(config, f);
    if (yarn) f = yarn_inv_freq(config, ramp, i, f);
    if (longrope) f /= table[i];
    if (!config.frequency_factors.empty()) f /= config.frequency_factors[i];
    if (!is_positive(f)) {
      return error(Code::kUnsupported,
                   "RoPE frequency " + std::to_string(i) + " is not a positive number");
    }
    rope.inv_freq.push_back(f);
  }
  if (yarn) rope.scale = yarn_scale(config);
  if (longrope) rope.scale = longrope_scale(config);
  if (!is_positive(rope.scale))
    return error(Code::kUnsupported, "RoPE's attention factor is not a positive number");
  return rope;
}

}  // namespace pc
