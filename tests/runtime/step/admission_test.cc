// What is wrong with an item before any work: each limit, and what is just within it.

#include "runtime/step/admission.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pc::test {
namespace {

constexpr StepLimits kLimits{4, 8, 64, std::nullopt, false, false};

struct Asked {
  explicit Asked(std::vector<std::int32_t> ids, std::int32_t position = 0)
      : tokens(std::move(ids)) {
    run = {tokens.data(),
           static_cast<std::uint32_t>(tokens.size()),
           position,
           position,
           1,
           nullptr,
           nullptr,
           0,
           nullptr};
    item.runs = &run;
    item.n_runs = 1;
  }
  Asked(const Asked&) = delete;
  Code code(const StepLimits& limits = kLimits, std::uint32_t n_attached = 1) const {
    const Status status = admit(limits, item, n_attached);
    return status.ok() ? Code::kOk : status.error().code;
  }
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  pc_run run{};
  pc_step_item item{};
};

Code code_of_gaps(std::vector<std::int32_t> positions, bool has_alibi = false,
                  bool with_planes = false) {
  Asked asked(std::vector<std::int32_t>(positions.size(), 1), 5);
  const pc_kv_planes planes{};
  asked.positions = std::move(positions);
  asked.run.positions = asked.positions.data();
  if (with_planes) asked.run.planes = &planes;
  StepLimits limits = kLimits;
  limits.has_alibi = has_alibi;
  return asked.code(limits);
}

TEST_CASE("tokens are the vocabulary's, and there are some") {
  CHECK(Asked({0, 63}).code() == Code::kOk);
  CHECK(Asked({0, 64}).code() == Code::kInvalidArgument);
  CHECK(Asked({-1}).code() == Code::kInvalidArgument);
  CHECK(Asked({}).code() == Code::kInvalidArgument);
  Asked none({1});
  none.item.n_runs = 0;
  CHECK(none.code() == Code::kInvalidArgument);
  const Status status = admit(kLimits, Asked({70}).item, 0);
  CHECK(status.error().message == "token 70 is outside the model's vocabulary of 64");
}

TEST_CASE("positions are among those that the model learned, where it did") {
  StepLimits limits = kLimits;
  CHECK(Asked({1, 2}, 1000).code(limits) == Code::kOk);
  limits.n_positions = 10;
  CHECK(Asked({1, 2}, 8).code(limits) == Code::kOk);
  CHECK(Asked({1, 2}, 9).code(limits) == Code::kContextFull);
  CHECK(Asked({1}, -1).code(limits) == Code::kContextFull);
  CHECK(Asked({1, 2}, INT32_MAX).code(limits) == Code::kContextFull);
  const Asked far({1, 2}, 9);
  CHECK(admit(limits, far.item, 0).error().message ==
        "position 10 is beyond the 10 positions that the model learned");
  Asked gaps({1, 2}, 3);
  gaps.positions = {3, 10};
  gaps.run.positions = gaps.positions.data();
  CHECK(gaps.code(limits) == Code::kContextFull);
  gaps.positions[1] = 9;
  CHECK(gaps.code(limits) == Code::kOk);
}

TEST_CASE("positions with gaps grow from the run's own") {
  CHECK(code_of_gaps({5, 6, 9}) == Code::kOk);
  CHECK(code_of_gaps({5, 5}) == Code::kInvalidArgument);
  CHECK(code_of_gaps({5, 4}) == Code::kInvalidArgument);
  CHECK(code_of_gaps({6, 7}) == Code::kInvalidArgument);
  CHECK(code_of_gaps({5, 6}, true) == Code::kUnsupported);
  CHECK(code_of_gaps({5, 6}, false, true) == Code::kInvalidArgument);
}

TEST_CASE("what is asked for goes together") {
  float logits[64];
  pc_layer_range ranges[5] = {};
  std::uint64_t weights[1] = {};
  const auto sink = [](void*, std::uint64_t, const float*) {};
  Asked asked({1});
  asked.item.n_layers = 4;
  CHECK(asked.code() == Code::kOk);
  asked.item.n_layers = 5;
  CHECK(asked.code() == Code::kInvalidArgument);
  asked.item.n_layers = 2;
  asked.item.logits = logits;
  CHECK(asked.code() == Code::kInvalidArgument);
  asked.item.logits = nullptr;
  asked.item.ranges = ranges;
  CHECK(asked.code() == Code::kInvalidArgument);
  asked.item.ranges = nullptr;
  asked.item.row = sink;
  CHECK(asked.code() == Code::kInvalidArgument);
  asked.item.n_layers = 0;
  CHECK(asked.code() == Code::kOk);
  asked.item.row_kind = PC_ROW_HIDDEN + 1;
  CHECK(asked.code() == Code::kInvalidArgument);
  asked.item.row = nullptr;
  asked.item.weights = weights;
  asked.item.first_weighted = 1;
  CHECK(asked.code(kLimits, 1) == Code::kOk);
  CHECK(asked.code(kLimits, 0) == Code::kInvalidArgument);
}

TEST_CASE("a model's limits are its description's") {
  pc_model_desc desc{};
  desc.n_layers = 3;
  desc.d_model = 16;
  desc.vocab_size = 100;
  CHECK(!limits_of(desc).n_positions);
  CHECK(!limits_of(desc).has_alibi);
  CHECK(!limits_of(desc).caps_logits);
  const float numbers[1] = {1.0f};
  desc.position_embedding = {numbers, PC_DTYPE_F32, 77, 16};
  desc.alibi_slopes = numbers;
  desc.logit_softcap = 30.0f;
  const StepLimits limits = limits_of(desc);
  CHECK(limits.n_layers == 3);
  CHECK(limits.d_model == 16);
  CHECK(limits.vocab_size == 100);
  CHECK(limits.n_positions == 77u);
  CHECK(limits.has_alibi);
  CHECK(limits.caps_logits);
}

}  // namespace
}  // namespace pc::test
