#include "tools/bench/bench_floor.h"

#include <algorithm>
#include <cmath>

namespace pc::cli {
namespace {

double number(const Json& value) {
  return static_cast<double>(value.number().value_or(0));
}

}  // namespace

double ModelBytes::read(double tokens) const {
  return weights + experts * (1 - std::pow(1 - used_share, tokens));
}

double ModelBytes::states(double depth) const {
  return (state_token - window_state_token) * depth +
         window_state_token * std::min(depth, window_tokens);
}

ModelBytes bytes_of_model(const Json& inspection) {
  ModelBytes model;
  double embedding = 0;
  bool has_output = false;  // a matrix of its own
  for (const Json& group : inspection["weights"].items()) {
    const double bytes = number(group["bytes"]);
    if (group["group"].text() == "per-layer embedding") continue;  // of which a token reads a row
    (group["group"].text() == "experts" ? model.experts : model.weights) += bytes;
    if (group["group"].text() == "embedding") embedding = bytes;
    if (group["group"].text() == "output") has_output = bytes != 0;
  }
  if (has_output) model.weights -= embedding;  // a row here, too
  if (const double n = number(inspection["experts"]); n != 0)
    model.used_share = number(inspection["experts_used"]) / n;
  model.state_token = number(inspection["kv_bytes_per_token"]);
  model.window_state_token = number(inspection["window_kv_bytes_per_token"]);
  model.window_tokens = number(inspection["window_tokens"]);
  model.recurrent = number(inspection["recurrent_bytes"]);
  return model;
}

std::optional<double> floor_seconds(const BenchCase& test, const ModelBytes& model,
                                    const Machine& machine) {
  const double shared = model.states(test.depth);
  const bool computes =
      test.kind == BenchCase::Kind::kPrefill || test.kind == BenchCase::Kind::kPromptThenGen;
  if (computes ||
      model.weights + model.experts + shared <= static_cast<double>(machine.cache_bytes))
    return std::nullopt;
  double bytes = 0;
  if (test.kind == BenchCase::Kind::kFirstToken)
    bytes = model.read(test.n_prompt) + shared + model.recurrent;
  // A step for all: what they share is read once, what each has said itself for each.
  for (std::uint32_t said = 0; test.kind == BenchCase::Kind::kDecode && said < test.n_gen; ++said)
    bytes +=
        model.read(test.n_sessions) + shared +
        test.n_sessions * (model.states(double{1} * test.depth + said) - shared + model.recurrent);
  return bytes / machine.read_bytes_per_s;
}

}  // namespace pc::cli
