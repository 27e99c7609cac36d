#include "modules/tiers/courier.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What a trip waits for, without end, until the test lets it go.
struct Gate {
  std::atomic<bool> is_open{false};
  std::atomic<int> n_there{0};
  void wait() {
    ++n_there;
    while (!is_open) std::this_thread::sleep_for(1ms);
  }
};

TEST_CASE("a trip is made once, and its results are there") {
  Courier courier;
  const auto n = std::make_shared<int>(0);
  for (int i = 0; i < 100; ++i) CHECK(courier.run([n](Courier::Pulse&) { ++*n; }));
  CHECK(*n == 100);
  CHECK_FALSE(courier.is_away());
}

TEST_CASE("many may send one courier, and each trip is made by itself") {
  Courier courier;
  const auto n = std::make_shared<int>(0);  // not atomic: one at a time
  std::vector<std::thread> senders;
  for (int t = 0; t < 4; ++t)
    senders.emplace_back([&] {
      for (int i = 0; i < 50; ++i) courier.run([n](Courier::Pulse&) { ++*n; });
    });
  for (std::thread& sender : senders) sender.join();
  CHECK(*n == 200);
}

TEST_CASE("who sends a courier that does not come back waits no longer than its patience") {
  const auto gate = std::make_shared<Gate>();
  Courier courier;
  const auto begin = Clock::now();
  CHECK_FALSE(courier.run([gate](Courier::Pulse&) { gate->wait(); }));
  CHECK(Clock::now() - begin >= Courier::kPatience);
  CHECK(courier.is_away());
  // Nobody waits for it again, and nothing is sent after it.
  const auto again = Clock::now();
  CHECK_FALSE(courier.run([](Courier::Pulse&) {}));
  CHECK_FALSE(courier.send([](Courier::Pulse&) {}));
  CHECK(Clock::now() - again < Courier::kPatience);
  gate->is_open = true;
  while (courier.is_away()) std::this_thread::sleep_for(1ms);
  CHECK(courier.run([](Courier::Pulse&) {}));
}

TEST_CASE("one that gets on is waited for, however long it takes") {
  Courier courier;
  const auto begin = Clock::now();
  CHECK(courier.run([](Courier::Pulse& pulse) {
    for (int i = 0; i < 6; ++i) {
      std::this_thread::sleep_for(Courier::kPatience / 4);
      CHECK(pulse.beat());
    }
  }));
  CHECK(Clock::now() - begin > Courier::kPatience);
}

TEST_CASE("a trip that nobody waits for any more is told so") {
  Courier courier;
  const auto told = std::make_shared<std::atomic<bool>>(false);
  int n_asked = 0;
  CHECK_FALSE(courier.run(
      [told](Courier::Pulse& pulse) {
        while (pulse.beat()) std::this_thread::sleep_for(1ms);
        *told = true;
      },
      [&] { return ++n_asked < 3; }));
  while (!*told) std::this_thread::sleep_for(1ms);
  CHECK(courier.run([](Courier::Pulse&) {}));
}

TEST_CASE("a courier can go while its trip hangs, and what the trip owns lives on") {
  const auto gate = std::make_shared<Gate>();
  {
    Courier courier;
    CHECK(courier.send([gate](Courier::Pulse&) { gate->wait(); }));
    while (gate->n_there == 0) std::this_thread::sleep_for(1ms);
  }
  CHECK(gate.use_count() > 1);
  gate->is_open = true;
  while (gate.use_count() > 1) std::this_thread::sleep_for(1ms);
}

TEST_CASE("a trip that fails for want of memory comes back without a result") {
  Courier courier;
  CHECK(courier.run([](Courier::Pulse&) { throw std::bad_alloc(); }));
  CHECK(courier.run([](Courier::Pulse&) {}));
}

}  // namespace
}  // namespace pc::test
