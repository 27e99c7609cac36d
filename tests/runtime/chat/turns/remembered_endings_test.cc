// A tree of beginnings that keeps to its bytes and gives for a conversation what was found for it.
#include "runtime/chat/turns/remembered_endings.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>

using namespace pc;
using pml::Role;

namespace {

constexpr Role S = Role::kSystem, U = Role::kUser, A = Role::kAssistant;
using Roles = std::vector<Role>;

// What no other beginning or kind of contents has; some have none.
Ending made_ending(const Roles& roles, std::size_t n_turns, Contents contents) {
  if (n_turns % 5 == 4) return std::nullopt;
  std::string text = contents.odd ? "odd" : "plain";
  if (contents.in_parts) text += " parts";
  for (std::size_t i = 0; i < n_turns; ++i)
    text += static_cast<char>('0' + static_cast<int>(roles[i]));
  return text;
}

Endings made_endings(const Roles& roles, Contents contents) {
  Endings endings;
  for (std::size_t n = 1; n <= roles.size(); ++n)
    endings.push_back(std::make_shared<const Ending>(made_ending(roles, n, contents)));
  return endings;
}

std::size_t n_known(RememberedEndings* remembered, const Roles& roles, Contents contents = {}) {
  const Endings endings = remembered->find(roles, contents);
  CHECK(endings.size() == roles.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    if (!endings[i]) continue;
    ++n;
    CHECK(*endings[i] == made_ending(roles, i + 1, contents));
  }
  return n;
}

Roles random_roles(std::mt19937* random, std::size_t max_turns) {
  Roles roles(1 + (*random)() % max_turns);
  for (Role& role : roles) role = static_cast<Role>((*random)() % 3);
  return roles;
}

}  // namespace

TEST_CASE("beginnings are known to every conversation that starts so, for the same contents") {
  RememberedEndings remembered;
  CHECK(n_known(&remembered, {U, A}) == 0);
  remembered.add(Roles{S, U, A}, {}, made_endings({S, U, A}, {}));
  CHECK(n_known(&remembered, {S, U, A}) == 3);
  const std::size_t n_bytes = remembered.n_bytes();
  remembered.add(Roles{S, U, A}, {}, made_endings({S, U, A}, {}));
  CHECK(remembered.n_bytes() == n_bytes);
  CHECK(n_known(&remembered, {S, U}) == 2);
  CHECK(n_known(&remembered, {S, U, A, U, A}) == 3);
  CHECK(n_known(&remembered, {S, U, U, A}) == 2);
  CHECK(n_known(&remembered, {U, A}) == 0);
  CHECK(n_known(&remembered, {S, U, A}, {true, false}) == 0);
  CHECK(n_known(&remembered, {S, U, A}, {false, true}) == 0);
  CHECK(n_known(&remembered, {S, U, A}, {true, true}) == 0);
}

TEST_CASE("the longest beginning of what was not asked for the longest goes first") {
  const Roles old(20, U), fresh(20, A);
  RememberedEndings both;
  both.add(old, {}, made_endings(old, {}));
  both.add(fresh, {}, made_endings(fresh, {}));
  RememberedEndings remembered(both.n_bytes() * 3 / 4);
  remembered.add(fresh, {}, made_endings(fresh, {}));
  remembered.add(old, {}, made_endings(old, {}));
  const std::size_t n_left = n_known(&remembered, fresh);
  CHECK(n_left > 5);
  CHECK(n_left < 15);
  CHECK(n_known(&remembered, Roles(fresh.begin(), fresh.begin() + static_cast<int>(n_left))) ==
        n_left);
  CHECK(n_known(&remembered, old) == 20);
  // Asked for again, it stays, and the other one goes.
  CHECK(n_known(&remembered, fresh) == n_left);
  remembered.add(Roles(5, S), {}, made_endings(Roles(5, S), {}));
  CHECK(n_known(&remembered, fresh) == n_left);
  CHECK(n_known(&remembered, old) < 20);
}

TEST_CASE("an ending that is larger than all room is not kept, and harms nothing") {
  RememberedEndings remembered(10'000);
  remembered.add(Roles{U}, {}, {std::make_shared<const Ending>(std::string(20'000, 'x'))});
  CHECK(remembered.n_bytes() == 0);
  remembered.add(Roles{U}, {}, made_endings({U}, {}));
  CHECK(n_known(&remembered, {U}) == 1);
}

TEST_CASE("whatever is asked and forgotten: never another's ending, never over the bytes") {
  std::mt19937 random(3);
  for (const std::size_t max_bytes : {0, 2'000, 20'000, 1'000'000}) {
    RememberedEndings remembered(max_bytes);
    std::size_t n_hits = 0;
    for (int i = 0; i < 2000; ++i) {
      const Roles roles = random_roles(&random, 12);
      const Contents contents{random() % 2 == 0, random() % 2 == 0};
      n_hits += n_known(&remembered, roles, contents);
      remembered.add(roles, contents, made_endings(roles, contents));
      REQUIRE(remembered.n_bytes() <= max_bytes);
    }
    CHECK((n_hits > 0) == (max_bytes > 0));
  }
}

TEST_CASE("threads that ask and add at once find their own") {
  RememberedEndings remembered(20'000);
  std::vector<std::thread> threads;
  std::vector<int> n_wrong(4);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&remembered, &wrong = n_wrong[t], t] {
      std::mt19937 random(t);
      for (int i = 0; i < 1000; ++i) {
        const Roles roles = random_roles(&random, 10);
        remembered.add(roles, {}, made_endings(roles, {}));
        const Endings endings = remembered.find(roles, {});
        for (std::size_t n = 0; n < roles.size(); ++n)
          wrong += endings[n] && *endings[n] != made_ending(roles, n + 1, {});
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(n_wrong == std::vector<int>(4));
  CHECK(remembered.n_bytes() <= 20'000);
}
