// What tasks visit: every row all of its views, each key once, and shared bytes once for all who
// share them.

#include "cuda/attention/attention_plan.h"

#include <catch2/catch.hpp>
#include <map>

#include "tests/support/random.h"

namespace pc::cuda {
namespace {

constexpr KvShape kShape{KvType::kBf16, 2, 4, 64};

// (row, byte address, key) -> how often the row's tasks visit it.
using Visited = std::map<std::tuple<std::uint32_t, const std::byte*, std::uint32_t>, int>;

Visited visited(const AttentionPlan& plan) {
  Visited seen;
  for (const AttentionPlan::Tasks* all : {&plan.plain, &plan.tiles, &plan.few}) {
    for (const Task& task : all->tasks) {
      REQUIRE(task.n_rows <= all->most_rows);
      for (std::uint32_t v = task.first_visit; v < task.end_visit; ++v) {
        const Visit& visit = plan.visits[v];
        REQUIRE(plan.uses[visit.first_use].first_row <= task.first_row);
        REQUIRE(plan.uses[visit.end_use - 1].end_row >= task.first_row + task.n_rows);
        for (std::uint32_t r = 0; r < task.n_rows; ++r)
          for (std::uint32_t key = visit.begin; key < visit.end; ++key)
            ++seen[{task.first_row + r, visit.planes.data, key}];
      }
    }
  }
  return seen;
}

TEST_CASE("every row visits each key of its views as often as it has it") {
  test::Random random(71);
  std::vector<std::byte> memory(16);
  for (int round = 0; round < 200; ++round) {
    INFO("round " << round);
    const std::uint32_t group = random.between(1, 5);
    AttentionPlan plan(kShape, kShape.n_kv_heads * group, random.between(1, 200),
                       random.chance(0.7));
    const std::vector<std::uint32_t> hidden(40);
    std::vector<TimelineRows> timelines;
    Visited want;
    std::uint32_t row = 0;
    for (std::uint32_t t = random.between(1, 6); t-- > 0;) {
      TimelineRows& rows = timelines.emplace_back(TimelineRows{row, random.between(1, 150), {}});
      row += rows.n;
      for (std::uint32_t v = random.between(1, 6); v-- > 0;) {
        const std::uint32_t begin = random.below(3) * 50;
        View view{{memory.data() + random.below(4), 1000},
                  begin,
                  begin + random.between(1, 300),
                  static_cast<std::int32_t>(random.below(1000)),
                  0,
                  nullptr,
                  {}};
        if (random.chance(0.2)) view.hidden = &hidden;
        rows.views.push_back(view);
        for (std::uint32_t r = rows.first; r < row; ++r)
          for (std::uint32_t key = view.begin; key < view.end; ++key)
            ++want[{r, view.planes.data, key}];
      }
    }
    const bool merge_all = random.chance(0.3);
    plan.make(timelines, merge_all);
    REQUIRE(visited(plan) == want);
    // Rows without results to merge are written by one task, the others by none.
    std::vector<int> whole(row);
    for (const AttentionPlan::Tasks* all : {&plan.plain, &plan.tiles, &plan.few})
      for (const Task& task : all->tasks)
        for (std::uint32_t r = 0; r < task.n_rows; ++r)
          whole[task.first_row + r] += task.first_partial == kWhole;
    for (std::uint32_t r = 0; r < row; ++r) {
      const bool merged = plan.first_of_row[r + 1] != plan.first_of_row[r];
      REQUIRE(whole[r] == (merged ? 0 : 1));
      REQUIRE((merged || !merge_all));
    }
  }
}

TEST_CASE("sixteen requests behind one document read it once") {
  std::vector<std::byte> memory(64);
  AttentionPlan plan(kShape, kShape.n_kv_heads, 132, true);
  std::vector<TimelineRows> timelines;
  for (std::uint32_t t = 0; t < 16; ++t) {
    timelines.push_back({t, 1, {}});
    const auto place = static_cast<std::int32_t>(100 * (t % 2));  // at two places
    timelines.back().views.push_back({{memory.data(), 4096}, 0, 4096, place, 0, nullptr, {}});
    timelines.back().views.push_back({{memory.data() + t + 1, 64}, 0, 9, 4200, 4200, nullptr, {}});
  }
  plan.make(timelines, false);
  std::uint64_t keys = 0;
  for (const Task& task : plan.few.tasks)
    for (std::uint32_t v = task.first_visit; v < task.end_visit; ++v)
      keys += plan.visits[v].end - plan.visits[v].begin;
  REQUIRE(keys == 4096 + 16 * 9);
  REQUIRE(plan.moves.size() == 2);
}

}  // namespace
}  // namespace pc::cuda
