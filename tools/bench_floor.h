// The least time that a test takes because memory must be read: each weight that a step uses once,
// and each attention state that it sees once, at the machine's bandwidth. Computing, which takes
// longer in prefill, is not in it. Pure; any thread.
//
// A model of a few megabytes stays in the CPU's caches, and may be faster than that.
#pragma once

#include <optional>

#include "tools/bench_case.h"
#include "tools/json.h"

namespace pc::cli {

struct ModelBytes {
  double weights = 0;      // as the file has them; of an embedding that is not the output, none
  double state_token = 0;  // attention states of a token, all layers
  double layers = 0, window_layers = 0;
  double window_tokens = 0;  // that those layers see

  // Of the states that the token behind `depth` others sees.
  double states(double depth) const;
};

// From the report of pc_model_inspect.
ModelBytes bytes_of_model(const Json& inspection);

// None for prefill, whose time is that of multiplications.
std::optional<double> floor_seconds(const BenchCase& test, const ModelBytes& model,
                                    double bytes_per_s);

}  // namespace pc::cli
