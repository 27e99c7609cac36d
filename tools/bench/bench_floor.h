// The least time that a test takes because memory must be read: each weight that a step uses once,
// and each attention state that it sees once, at the machine's bandwidth. Computing, which takes
// longer in prefill, is not in it. What the CPU's caches may hold as a whole need not come from
// memory, and has no such floor; of a model a few times as large some stays there all the same, and
// may be faster. Pure; any thread.
#pragma once

#include <optional>

#include "tools/bench/bench_case.h"
#include "tools/bench/machine/machine.h"
#include "tools/output/json.h"

namespace pc::cli {

struct ModelBytes {
  double weights = 0;  // bytes in the file; without experts, per-layer embeddings, and an embedding
                       // that is not the output as well
  double state_token = 0;         // attention states of a token, all layers
  double window_state_token = 0;  // of those, of layers that see a window
  double window_tokens = 0;       // that those layers see
  double experts = 0;             // bytes of all experts
  double used_share = 0;          // of a layer's experts, that a token goes to
  double recurrent = 0;           // states of recurrent layers, which a step reads

  // Bytes of weights that a step of so many tokens reads: of experts those that at least one of the
  // tokens goes to, in expectation, if each is as likely.
  double read(double tokens) const;

  // Bytes of the states that the token behind `depth` others sees.
  double states(double depth) const;
};

// From the report of pc_model_inspect.
ModelBytes bytes_of_model(const Json& inspection);

// None for prefill, alone or before decoding, whose time is that of multiplications, and for a step
// that caches may hold.
std::optional<double> floor_seconds(const BenchCase& test, const ModelBytes& model,
                                    const Machine& machine);

}  // namespace pc::cli
