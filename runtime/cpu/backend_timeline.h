// What the seam calls a timeline, as the CPU has it.
#pragma once

#include <memory>

#include "modules/kv.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/layers/made_map.h"
#include "runtime/cpu/states/recurrent_states.h"
#include "runtime/cpu/states/timeline.h"

struct pc_backend_timeline {
  pc::Timeline timeline;
  const pc::KvGeometry* stored;  // of modules, borrowed from the model
  pc::RecurrentStates recurrent;
  // Of the run that is computed, where a map of it is asked for; a fork goes on without it.
  std::shared_ptr<pc::MadeMap> made = {};
};
