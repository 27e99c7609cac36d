// Packed weights whose file is cut short while a step computes from it: the step's items fail, and
// their timelines are as they were.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/mapped_file.h"  // guard_mappings
#include "runtime/backend/cpu_backend.h"
#include "tests/support/packed_model.h"
#include "tests/support/plan_runner.h"

namespace pc::test {
namespace {

struct Asked {
  pc_backend_timeline* timeline;
  std::int32_t position;
  std::vector<std::int32_t> tokens;
};

// What became of each.
std::vector<pc_step_item> step(Backend& backend, const std::vector<Asked>& asked) {
  std::vector<pc_run> runs;
  std::vector<pc_step_item> items;
  runs.reserve(asked.size());
  for (const Asked& one : asked) {
    runs.push_back({one.tokens.data(), static_cast<std::uint32_t>(one.tokens.size()), one.position,
                    one.position, 1, nullptr, nullptr, 0, nullptr});
    items.push_back({});
    items.back().timeline = one.timeline;
    items.back().runs = &runs.back();
    items.back().n_runs = 1;
  }
  backend.step(items);
  return items;
}

// Has it a token of this number?
bool has_token(const Backend& backend, pc_backend_timeline* timeline, std::uint32_t number) {
  std::vector<std::byte> room(backend.geometry().state_bytes(1));
  const pc_kv_planes planes = seam_planes(dense_planes(room.data(), backend.geometry(), 1));
  return cpu_backend()->timeline_read(timeline, number, 1, &planes, nullptr) == 0;
}

TEST_CASE("a step on packed weights that are cut short fails, and no timeline has its tokens") {
  if (!simd::selected_kernels()->matmul_packed) return;  // nothing is packed
  REQUIRE(guard_mappings().ok());
  PackedModel model(41, simd::Type::kQ4_1);
  Backend backend(cpu_backend(), model.desc, KvType::kBf16, 2, Precision::kFast, &model.pack);
  REQUIRE(backend.remark() == "");  // else it says why nothing is packed
  const Backend::Timeline first = backend.open(), second = backend.open();
  for (const pc_step_item& item : step(backend, {{first.get(), 0, {1}}, {second.get(), 0, {2}}}))
    REQUIRE(item.status == 0);
  REQUIRE(has_token(backend, first.get(), 0));
  REQUIRE(::truncate(model.packed_file().c_str(), 0) == 0);
  // Runs of their own, so that they can be read by themselves.
  for (const pc_step_item& item :
       step(backend, {{first.get(), 16, {3}}, {second.get(), 32, {4, 5}}})) {
    CHECK(item.status == static_cast<std::int32_t>(Code::kIo));
    CHECK(std::string(item.error.message).find("packed weights was cut short") !=
          std::string::npos);
  }
  CHECK_FALSE(has_token(backend, first.get(), 1));
  CHECK_FALSE(has_token(backend, second.get(), 1));
}

}  // namespace
}  // namespace pc::test
