// An engine on a tiny checkpoint with a plug-in such as tests/support/fake_backend.c.
#pragma once

#include <string>

#include "runtime/engine/engine.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {

// backend: a plug-in's path, or "cpu". Without a store.
inline EngineOptions fake_options(const TinyCheckpoint& checkpoint, const std::string& backend) {
  EngineOptions o;
  o.model_path = checkpoint.path();
  o.cache_mode = CacheMode::kOff;
  o.chat_template = "llama2";
  o.backend = backend;
  return o;
}

}  // namespace pc::test
