// What has to be computed once so that prompts can reuse it: one EncodeJob for
// each stored module in each context (its own text, its nested modules
// excluded), one for the schema's anonymous text, and one for each scaffold.
//
// A job is one causal pass over runs of tokens at increasing positions: a
// token sees every token of the pass at a smaller position. Runs marked
// `keep` go into the job's module file; the others, the module's context, are
// seen but not stored: the text before it, placeholders in parameters, the
// opening of the turn that a prompt imports it in, and, with attend=schema,
// other modules.
//
// The local position of a kept row is its position in the pass less the
// position of the first kept run: the first kept token is at local position 0.
//
// Pure and deterministic. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pml/layout/contexts.h"  // JobSpec
#include "pml/layout/layout.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// Tokens that are contiguous in position.
struct JobRun {
  Tokens tokens;
  Position position = 0;  // of tokens[0] in this pass
  bool keep = false;
  std::uint32_t piece = 0;  // index into Layout::pieces; meaningful where keep
};

inline constexpr char kTogether[] = "the prompt's modules together";

struct EncodeJob {
  std::string name;                 // "europe/paris"; "" is the anonymous text; "scaffold s";
                                    // kTogether of all modules of a prompt
  Attend attend = Attend::kPrefix;  // of slots: prefix; stand-ins are text as any other
  bool scaffold = false;
  std::uint32_t subject = 0;  // as in JobSpec
  std::uint32_t n_stand_ins = 0;
  std::vector<JobRun> runs;  // positions strictly increase; no two overlap
};

inline bool is_together(const EncodeJob& job) {
  return job.scaffold && job.subject == kNone;
}

EncodeJob make_job(const Layout& layout, const JobSpec& spec);

// The jobs of a schema's modules where no prompt opens a turn around them, in
// an order in which neighbours share the longest beginnings, so that an encoder
// which keeps its last pass need not compute them again. Modules with
// cache="false" have no job.
std::vector<JobSpec> plan_encoding(const Layout& layout);
std::vector<EncodeJob> make_jobs(const Layout& layout, const std::vector<JobSpec>& specs);

}  // namespace pc::pml
