// The states of recurrent layers at the places that a timeline goes back to.
#include "runtime/cpu/states/recurrent_states.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <vector>

using namespace pc;

namespace {

constexpr std::size_t kNumbers = 3;

// A step of n tokens behind `first`: every number of its state is that of its tokens.
void step(RecurrentStates& states, std::uint32_t first, std::uint32_t n) {
  std::fill_n(states.next(), kNumbers, static_cast<float>(first + n));
  states.commit(first + n, static_cast<std::int32_t>(first + n), false);
  states.end_step(first, n);
}

}  // namespace

TEST_CASE("before any token there are zeros, and without numbers every place is one") {
  const RecurrentStates states(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) CHECK(states.now()[i] == 0.0f);
  CHECK(states.nearest(5, 0) == 0);
  RecurrentStates none(0);
  CHECK_FALSE(none.has_numbers());
  CHECK(none.nearest(5, 0) == 5);
  none.end_step(0, 5);
  none.rewind(3, 0);
}

TEST_CASE("a place where several tokens began is kept, one of a single token until the next") {
  RecurrentStates states(kNumbers);
  step(states, 0, 10);
  for (std::uint32_t i = 10; i < 20; ++i) step(states, i, 1);
  step(states, 20, 5);
  step(states, 25, 1);
  CHECK(states.nearest(26, 0) == 26);
  CHECK(states.nearest(25, 0) == 25);
  CHECK(states.nearest(24, 0) == 20);
  CHECK(states.nearest(19, 0) == 0);
  states.rewind(20, 0);
  CHECK(states.now()[0] == 20.0f);
  step(states, 20, 1);
  CHECK(states.now()[2] == 21.0f);
}

TEST_CASE("places are few, and the first token's is among them") {
  RecurrentStates states(kNumbers);
  for (std::uint32_t i = 0; i < 100; ++i) step(states, 2 * i, 2);
  std::size_t n = 0;
  for (std::uint32_t place = 0; place <= 200; ++place) n += states.nearest(place, 0) == place;
  CHECK(n <= RecurrentStates::kPlaces + 2);
  CHECK(states.nearest(1, 0) == 0);
  CHECK(states.nearest(200, 0) == 200);
  CHECK(states.nearest(198, 0) == 198);
}

TEST_CASE("a fork goes its own way, and sweeps of one step leave no places") {
  RecurrentStates states(kNumbers);
  step(states, 0, 4);
  RecurrentStates fork = states;
  step(fork, 4, 1);
  CHECK(states.now()[0] == 4.0f);
  CHECK(fork.now()[0] == 5.0f);
  std::fill_n(states.next(), kNumbers, 6.0f);
  states.commit(6, 6, false);
  std::fill_n(states.next(), kNumbers, 8.0f);
  states.commit(8, 8, false);
  states.end_step(4, 4);
  CHECK(states.nearest(7, 0) == 4);
  CHECK(states.now()[0] == 8.0f);
}

TEST_CASE("a copy of a timeline whose sweep failed writes a block of its own") {
  RecurrentStates states(kNumbers);
  step(states, 0, 4);
  states.next();  // fails, and is not rewound
  RecurrentStates fork = states;
  step(states, 4, 1);
  step(fork, 4, 2);
  CHECK(states.now()[0] == 5.0f);
  CHECK(fork.now()[0] == 6.0f);
}

TEST_CASE("token after token takes no memory") {
  RecurrentStates states(kNumbers);
  step(states, 0, 4);
  std::set<const float*> blocks;
  for (std::uint32_t i = 4; i < 40; ++i) {
    step(states, i, 1);
    blocks.insert(states.now());
  }
  CHECK(blocks.size() <= 3);
  RecurrentStates fork = states;
  step(fork, 40, 1);
  step(states, 40, 2);
  CHECK(fork.now()[0] == 41.0f);
  CHECK(states.now()[0] == 42.0f);
}

TEST_CASE("a step that failed goes back to where it began") {
  RecurrentStates states(kNumbers);
  step(states, 0, 4);
  std::fill_n(states.next(), kNumbers, 6.0f);
  states.commit(6, 6, false);
  states.next();  // of a sweep that fails
  states.rewind(4, 0);
  CHECK(states.now()[0] == 4.0f);
  step(states, 4, 3);
  CHECK(states.now()[0] == 7.0f);
}

TEST_CASE("places that are to be kept stay behind their step, a few of them") {
  RecurrentStates states(kNumbers);
  for (std::uint32_t n = 1; n <= 20; ++n) {
    std::fill_n(states.next(), kNumbers, static_cast<float>(n));
    states.commit(n, n, true);
  }
  states.end_step(0, 20);
  step(states, 20, 1);
  step(states, 21, 1);
  for (std::uint32_t i = 0; i < RecurrentStates::kPlaces; ++i) {
    const float* const kept = states.at(20 - i);
    REQUIRE(kept);
    CHECK(kept[0] == static_cast<float>(20 - i));
  }
  CHECK(states.at(22)[0] == 22.0f);
  // However many a step brings: no more than these, where it began, and its end.
  for (std::uint32_t n = 1; n + RecurrentStates::kPlaces <= 20; ++n) CHECK_FALSE(states.at(n));
  CHECK(states.at(0)[0] == 0.0f);
}

TEST_CASE("rows come behind what is attached in front of them, in order of position") {
  const pc_layer layer{};
  pc_model_desc desc{};
  desc.n_layers = 1;
  desc.layers = &layer;
  const StateMapShape shape(desc, 1);
  const float link[] = {1, 1, 1}, first[] = {2, 2, 2}, second[] = {3, 3, 3};
  RecurrentStates states(kNumbers);
  states.attach(30, AttachedMap{second, &shape});
  states.attach(0, AttachedMap{link, nullptr});
  states.attach(10, AttachedMap{first, &shape});
  std::vector<AttachedMap> maps;
  CHECK(states.next_attached() == 0);
  const auto numbers = [&] {
    std::vector<const float*> all;
    for (const AttachedMap& map : maps) all.push_back(map.numbers);
    maps.clear();
    return all;
  };
  states.pass(20, &maps);
  CHECK(numbers() == std::vector<const float*>{link, first});
  CHECK(states.next_attached() == 30);
  states.pass(40, &maps);
  CHECK(numbers() == std::vector<const float*>{second});
  states.pass_again();  // the sweep begins anew
  states.pass(40, &maps);
  CHECK(numbers() == std::vector<const float*>{link, first, second});
  std::fill_n(states.next(), kNumbers, 5.0f);
  states.commit(5, 45, false);
  states.end_step(0, 5);
  CHECK(states.at(5)[0] == 5.0f);
  CHECK(states.is_behind(45));
  CHECK_FALSE(states.is_behind(44));
  RecurrentStates fork = states;

  // Where an attachment goes that rows came behind, these go as well.
  CHECK(states.nearest(5, 3) == 5);
  CHECK(states.nearest(5, 2) == 0);
  states.rewind(0, 2);
  states.pass(40, &maps);
  CHECK(numbers() == std::vector<const float*>{link, second});
  CHECK(fork.at(5)[0] == 5.0f);
  CHECK(fork.next_attached() == RecurrentStates::kAnywhere);
}

TEST_CASE("what has no map wants states behind it") {
  const float link[] = {1, 1, 1};
  RecurrentStates states(kNumbers);
  states.attach(0, std::nullopt);
  CHECK_FALSE(states.knows(20));
  CHECK(states.knows(0));
  CHECK_FALSE(states.nearest(0, 1));
  CHECK(states.nearest(0, 0) == 0);
  states.attach(10, AttachedMap{link, nullptr});
  CHECK(states.knows(20));
  CHECK_FALSE(states.knows(10));
  std::vector<AttachedMap> maps;
  states.pass(20, &maps);
  REQUIRE(maps.size() == 1);
  CHECK(maps[0].numbers == link);
}
