// `run` without a schema: a question, and texts that it is about.
//
// Each text is a module, so that the next question about it finds it computed; several stand in
// slots (docs/PML.md, 4.7), mended as a check of answers chose, or as is known to keep answers.
// Threads: one at a time. Throws as tools/opening/open.h does.
#pragma once

#include <promptcache/promptcache.hpp>

#include "tools/opening/options.h"

namespace pc::cli {

// In one user turn, as the model's own chat format writes it: options.files, an empty line behind
// each, and the question, options.prompts. For a model without a chat format the texts and the
// question are a text that it continues; a remark says so.
promptcache::Prompt ask_question(const promptcache::Engine& engine, const Options& options);

}  // namespace pc::cli
