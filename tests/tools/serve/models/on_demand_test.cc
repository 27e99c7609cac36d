#include "tools/serve/models/on_demand.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <stdexcept>
#include <thread>

namespace pc::serve {
namespace {

using namespace std::chrono_literals;

// Counts what is there at once.
struct World {
  std::atomic<std::uint64_t> n_bytes{0}, most{0}, n_loads{0};
  std::atomic<bool> is_shut{false};  // nothing ends meanwhile
};

struct Thing {
  Thing(World* world, std::uint64_t size) : world_(world), n_bytes(size) {
    ++world_->n_loads;
    const std::uint64_t now = world_->n_bytes += size;
    for (std::uint64_t most = world_->most; now > most;)
      if (world_->most.compare_exchange_weak(most, now)) break;
  }
  ~Thing() {
    while (world_->is_shut) std::this_thread::sleep_for(1ms);
    if (world_->n_bytes % 3 == 0) std::this_thread::sleep_for(50us);  // so that others come between
    world_->n_bytes -= n_bytes;
  }

  World* world_;
  const std::uint64_t n_bytes;
};

using Things = OnDemand<Thing>;

Things::Source source(World* world, const std::string& name, std::uint64_t n_bytes) {
  return {name, n_bytes, [=] { return std::make_unique<Thing>(world, n_bytes); }};
}

std::string loaded(Things* things) {
  std::string names;
  for (const Things::Known& known : things->all())
    if (known.handle) names += known.name;
  return names;
}

TEST_CASE("what is asked for is loaded once, and the longest unused gives way") {
  World world;
  Things things({source(&world, "a", 4), source(&world, "b", 4), source(&world, "c", 4)}, 8, 1h);
  CHECK(things.take_loaded("a") == nullptr);
  CHECK(things.take("a")->n_bytes == 4);
  CHECK(things.take("b") != nullptr);
  CHECK(things.take_loaded("a") != nullptr);
  CHECK(world.n_loads == 2);
  CHECK(things.take("c") != nullptr);
  CHECK(loaded(&things) == "ac");
  CHECK(things.take("b") != nullptr);
  CHECK(loaded(&things) == "bc");
  CHECK(things.take("no such") == nullptr);
  CHECK(world.most == 8);
}

TEST_CASE("what is in use stays, and who needs its room waits so long and no longer") {
  World world;
  Things things({source(&world, "a", 4), source(&world, "b", 5)}, 8, 20ms);
  auto a = things.take("a");
  CHECK(things.take("b") == nullptr);
  CHECK(things.take("a") != nullptr);  // nobody waits for its room any more
  a.reset();
  CHECK(things.take("b") != nullptr);
  CHECK(loaded(&things) == "b");
  CHECK(world.most == 5);
}

TEST_CASE("two who want the same send one away, not one each") {
  World world;
  Things things({source(&world, "a", 4), source(&world, "b", 4), source(&world, "c", 4)}, 8, 1h);
  CHECK(things.take("a") != nullptr);
  CHECK(things.take("b") != nullptr);
  world.is_shut = true;
  std::vector<std::thread> users;
  for (int i = 0; i < 2; ++i) users.emplace_back([&] { things.take("c"); });
  while (loaded(&things) == "ab") std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);  // the second has come, most likely
  world.is_shut = false;
  for (std::thread& user : users) user.join();
  CHECK(loaded(&things) == "bc");
}

TEST_CASE("two that are always in demand take turns") {
  World world;
  Things things({source(&world, "a", 8), source(&world, "b", 8)}, 8, 1h);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i)  // so that one of them always has it
    users.emplace_back([&] {
      while (!is_over) {
        const auto a = things.take("a");
        std::this_thread::sleep_for(1ms);
      }
    });
  while (loaded(&things) != "a") std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 5; ++i) CHECK(things.take("b") != nullptr);
  is_over = true;
  for (std::thread& user : users) user.join();
  CHECK(world.most == 8);
}

TEST_CASE("what cannot be loaded is said to all who wait, and may be had later") {
  World world;
  int n_failures = 1;
  Things things({{"a", 4,
                  [&]() -> std::unique_ptr<Thing> {
                    if (n_failures-- > 0) throw std::runtime_error("no file");
                    return std::make_unique<Thing>(&world, 4);
                  }}},
                8, 1h);
  CHECK_THROWS_WITH(things.take("a"), "no file");
  CHECK(things.all()[0].n_loads == 0);
  CHECK(things.take("a") != nullptr);
  CHECK(things.all()[0].n_loads == 1);
}

TEST_CASE("whoever asks for what, and when: the budget holds, and each gets what it asked for") {
  World world;
  constexpr std::uint64_t kSizes[] = {1, 2, 3, 5, 8}, kBudget = 9;
  std::vector<Things::Source> sources;
  for (const std::uint64_t size : kSizes)
    sources.push_back(source(&world, std::to_string(size), size));
  {
    Things things(std::move(sources), kBudget, 1h);
    std::atomic<int> n_wrong{0};
    std::vector<std::thread> users;
    for (unsigned seed = 0; seed < 4; ++seed)
      users.emplace_back([&, seed] {
        std::minstd_rand random(seed + 1);
        for (int i = 0; i < 500; ++i) {
          const std::uint64_t size = kSizes[random() % std::size(kSizes)];
          const auto thing = things.take(std::to_string(size));
          n_wrong += !thing || thing->n_bytes != size;
          if (random() % 4 == 0) std::this_thread::yield();
        }
      });
    for (std::thread& user : users) user.join();
    CHECK(n_wrong == 0);
  }
  CHECK(world.most <= kBudget);
  CHECK(world.n_bytes == 0);
}

}  // namespace
}  // namespace pc::serve
