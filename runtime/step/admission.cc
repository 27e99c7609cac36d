#include "runtime/step/admission.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>

namespace pc {
namespace {

Status check_gaps(const StepLimits& limits, const pc_run& run) {
  if (!run.positions) return ok();
  if (limits.has_alibi)
    return error(Code::kUnsupported, "a run whose positions have gaps, of a model with ALiBi");
  const std::span positions(run.positions, run.n_tokens);
  const bool grow = std::ranges::is_sorted(positions, std::less_equal<>());
  if (!grow || run.planes || (!positions.empty() && positions[0] != run.position))
    return error(Code::kInvalidArgument, "the positions of a run do not grow from its first");
  return ok();
}

Status check_positions(const StepLimits& limits, const pc_run& run) {
  PC_CHECK_OK(check_gaps(limits, run));
  if (!limits.n_positions) return ok();
  const std::int64_t end = run.positions && run.n_tokens != 0
                               ? std::int64_t{run.positions[run.n_tokens - 1]} + 1
                               : std::int64_t{run.position} + run.n_tokens;
  if (run.position >= 0 && end <= *limits.n_positions) return ok();
  return error(Code::kContextFull, "position " + std::to_string(end - 1) + " is beyond the " +
                                       std::to_string(*limits.n_positions) +
                                       " positions that the model learned");
}

Status check_tokens(const StepLimits& limits, const pc_run& run) {
  for (const std::int32_t token : std::span(run.tokens, run.n_tokens)) {
    if (token >= 0 && static_cast<std::uint32_t>(token) < limits.vocab_size) continue;
    return error(Code::kInvalidArgument, "token " + std::to_string(token) +
                                             " is outside the model's vocabulary of " +
                                             std::to_string(limits.vocab_size));
  }
  return ok();
}

// Do the things that are asked for beside each other go together?
Status check_wishes(const StepLimits& limits, const pc_step_item& item, std::uint32_t n_attached) {
  if (item.weights && item.first_weighted > n_attached)
    return error(Code::kInvalidArgument, "the timeline has fewer attachments");
  if (item.n_layers > limits.n_layers || (item.n_layers != 0 && (item.logits || item.ranges)))
    return error(Code::kInvalidArgument,
                 "the states of " + std::to_string(item.n_layers) + " layers are asked for alone");
  if (item.row && (item.n_layers != 0 || item.row_kind > PC_ROW_HIDDEN))
    return error(Code::kInvalidArgument, "rows are asked for that no layer has");
  return ok();
}

}  // namespace

StepLimits limits_of(const pc_model_desc& desc) {
  const pc_tensor& learned = desc.position_embedding;
  return {desc.n_layers,
          desc.d_model,
          desc.vocab_size,
          learned.data ? std::optional(learned.rows) : std::nullopt,
          desc.alibi_slopes != nullptr,
          desc.logit_softcap != 0.0f};
}

std::uint64_t count_tokens(const pc_step_item& item) {
  std::uint64_t n = 0;
  for (const pc_run& run : std::span(item.runs, item.n_runs)) n += run.n_tokens;
  return n;
}

Status admit(const StepLimits& limits, const pc_step_item& item, std::uint32_t n_attached) {
  for (const pc_run& run : std::span(item.runs, item.n_runs)) {
    PC_CHECK_OK(check_positions(limits, run));
    PC_CHECK_OK(check_tokens(limits, run));
  }
  if (count_tokens(item) == 0) return error(Code::kInvalidArgument, "there is no token to compute");
  return check_wishes(limits, item, n_attached);
}

}  // namespace pc
