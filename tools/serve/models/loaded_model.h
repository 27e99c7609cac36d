// A model in memory, and what plans and encodes for it.
//
// Owner. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/serve/models/idle_work.h"
#include "tools/serve/models/on_demand.h"
#include "tools/serve/models/planner.h"
#include "tools/serve/models/served_model.h"

namespace pc::serve {

struct LoadedModel {
  // is_idle: as IdleWork has it. schemas: outlives it.
  LoadedModel(promptcache::Engine engine, std::string id, SchemasOf* schemas,
              std::function<bool()> is_idle)
      : model(std::move(engine), std::move(id), schemas),
        idle(std::move(is_idle)),
        planner(model, &idle) {}
  ~LoadedModel() {
    if (on_end) on_end(*this);
  }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const ServedModel model;
  IdleWork idle;
  Planner planner;
  std::function<void(const LoadedModel&)> on_end = {};  // throws nothing
};

using Models = OnDemand<LoadedModel>;
using ModelHandle = Models::Handle;

}  // namespace pc::serve
