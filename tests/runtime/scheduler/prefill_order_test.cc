// Whose prefill goes first, and that the bound of the header holds whatever comes.

#include "runtime/scheduler/prefill_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "tests/support/random_plan.h"

namespace pc::test {
namespace {

TEST_CASE("who has the least left goes first, and of two with as much the older") {
  std::vector<WaitingPrefill> waiting = {{.n_left = 9000, .number = 1},
                                         {.n_left = 20, .number = 2},
                                         {.n_left = 300, .number = 3},
                                         {.n_left = 20, .number = 4}};
  const std::optional<PrefillTurn> turn = prefill_turn(waiting);
  REQUIRE(turn);
  CHECK(turn->first == 1);
  CHECK(turn->oldest == 0);
  CHECK_FALSE(prefill_turn({}));
}

TEST_CASE("the oldest of a client that was behind often enough has the turn") {
  std::vector<WaitingPrefill> waiting = {{.n_left = 9000, .number = 1, .n_behind = kMostBehind - 1},
                                         {.n_left = 20, .number = 2, .n_behind = 100}};
  CHECK(prefill_turn(waiting)->first == 1);
  waiting[0].n_behind = kMostBehind;
  CHECK(prefill_turn(waiting)->first == 0);
}

TEST_CASE("the client that was given least has the turn, however long its prompts are") {
  const std::vector<WaitingPrefill> waiting = {
      {.n_left = 5, .number = 1, .client = 7, .share = 11, .n_behind = 100},
      {.n_left = 9000, .number = 2, .client = 8, .share = 10},
      {.n_left = 800, .number = 3, .client = 8, .share = 10}};
  CHECK(prefill_turn(waiting)->first == 2);
  CHECK(prefill_turn(waiting)->oldest == 1);
}

TEST_CASE("room goes to what fits into it, then to what shares modules, then to the shortest") {
  std::vector<WaitingPrefill> waiting = {{.n_left = 400, .number = 1, .shares = true},
                                         {.n_left = 90, .number = 2, .shares = true},
                                         {.n_left = 20, .number = 3},
                                         {.n_left = 300, .number = 4}};
  std::vector<std::size_t> order;
  while (const std::optional<std::size_t> next = next_prefill(waiting, 100)) {
    waiting[*next].taken = true;
    order.push_back(*next);
  }
  CHECK(order == std::vector<std::size_t>{1, 2, 0, 3});
}

std::uint64_t steps_of(std::uint64_t n_tokens, std::uint64_t room) {
  return (n_tokens + room - 1) / room;
}

// A scheduler of prefill alone, in which work comes at random.
struct Simulation {
  struct Work {
    WaitingPrefill prefill;
    std::uint64_t n_turns = 0;     // of its client since it came
    std::uint64_t most_turns = 0;  // by the header
  };
  static constexpr std::uint32_t kLeastRoom = 16;

  void come(std::uint64_t client, std::uint64_t n_tokens) {
    std::uint64_t n = steps_of(n_tokens, kLeastRoom);
    for (const Work& work : works)
      if (work.prefill.client == client) n += steps_of(work.prefill.n_left, kLeastRoom);
    works.push_back(
        {{.n_left = n_tokens, .number = ++n_come, .client = client}, 0, (kMostBehind + 1) * n});
  }
  void take(std::size_t i, std::uint32_t& room) {
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, waiting[i].n_left));
    works[i].prefill.n_left -= n;
    shares[waiting[i].client] += n;
    waiting[i].taken = true;
    room -= n;
  }
  void step(std::uint32_t room) {
    waiting.clear();
    for (const Work& work : works) {
      waiting.push_back(work.prefill);
      waiting.back().share = shares[work.prefill.client];
    }
    const std::optional<PrefillTurn> turn = prefill_turn(waiting);
    if (!turn) return;
    ++works[turn->oldest].prefill.n_behind;
    works[turn->first].prefill.n_behind = 0;
    for (Work& work : works)
      if (work.prefill.client == waiting[turn->first].client) ++work.n_turns;
    for (std::optional<std::size_t> next = turn->first; next && room > 0;
         next = next_prefill(waiting, room))
      take(*next, room);
    for (const Work& work : works) late += work.n_turns > work.most_turns;
    std::erase_if(works, [](const Work& work) { return work.prefill.n_left == 0; });
  }

  std::vector<Work> works;
  std::vector<WaitingPrefill> waiting;  // [works]
  std::uint64_t shares[3] = {};         // [clients]
  std::uint64_t n_come = 0;
  std::size_t late = 0;
};

TEST_CASE("nobody waits for more turns of its client than the header says") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    INFO("round " << round);
    Random random(round);
    Simulation simulation;
    // More comes than there is room for, most of it short.
    for (int step = 0; step < 300; ++step) {
      if (step % 60 == 0) simulation.come(random.below(3), random.between(100, 200));
      for (std::uint32_t n = random.below(3); n-- > 0;)
        simulation.come(random.below(3), random.between(2, 64));
      simulation.step(Simulation::kLeastRoom + random.below(16));
    }
    CHECK(simulation.late == 0);
  }
}

TEST_CASE("a long prompt among short ones without end takes what the header says, and no less") {
  Simulation simulation;
  simulation.come(0, 160);
  const std::uint64_t number = simulation.n_come;
  int n_steps = 0;
  const auto waits = [&] {
    return std::ranges::any_of(simulation.works, [&](const Simulation::Work& work) {
      return work.prefill.number == number;
    });
  };
  for (; waits() && n_steps < 1000; ++n_steps) {
    simulation.come(0, Simulation::kLeastRoom);
    simulation.step(Simulation::kLeastRoom);
  }
  // Nine pieces, each behind four others'; the tenth is as short as theirs, and older.
  CHECK(n_steps == 9 * (kMostBehind + 1) + 1);
}

}  // namespace
}  // namespace pc::test
