// What a step of a model costs at least on this machine: every matrix and every
// state it sees read once, every multiply-add done at the peak of the type that
// the weights allow, memory and arithmetic perfectly overlapped. Exponentials,
// unpacking, norms and barriers are not in it.
#pragma once

#include "bench/machine.h"
#include "runtime/engine/engine.h"

namespace pc::bench {

struct Work {
  double layer_bytes = 0, head_bytes = 0;  // weights that all tokens read, as the file holds them
  double layer_macs = 0, head_macs = 0;    // a token; the head's only for the last one
  double expert_bytes = 0;                 // of all layers' experts
  double used_share = 0;                   // of its layers' experts that a token reads
  double kv_bytes = 0;                     // a cached token
  double attention_macs = 0;               // a pair of a query and a key, all layers and heads
  bool quantised = false;                  // weights, so that integers may multiply
  bool kv_int8 = false;                    // cached states likewise
};

Work work_of(const Engine& engine);

struct Floor {
  double memory_ms = 0, compute_ms = 0;
  double ms() const { return memory_ms > compute_ms ? memory_ms : compute_ms; }
};

// Of n new tokens after `depth` present ones.
Floor floor_of(const Work& work, const Machine& machine, double n, double depth);

}  // namespace pc::bench
