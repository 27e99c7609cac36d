// What `model verify --probe` adds to the check of the files: the model reads a text.
#pragma once

#include "tools/opening/options.h"
#include "tools/output/json.h"

namespace pc::cli {

// The reports of pc_model_probe as the options say and in exact precision (`as_run`,
// `exact`), and how far each instruction set of this CPU moves the logits of a short
// prompt from the exact ones (`instruction_sets`); `ok`.
Json probe(const Options& options);

std::string probe_text(const Json& report);

}  // namespace pc::cli
