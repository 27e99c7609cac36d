// Which modules are on the device: within a budget, once for each identity, brought again when they
// are wanted, and never while nobody could read them.

#include "cuda/states/module_cache.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "cuda/standin/faults.h"
#include "cuda/states/kv_files.h"
#include "tests/support/expect.h"

namespace pc::cuda {
namespace {

using test::must;

constexpr KvShape kShape{KvType::kF32, 3, 2, 4};

// A module of one run, whose bytes are its own.
struct Module {
  explicit Module(std::uint32_t n_tokens, std::uint8_t fill = 1) {
    const std::uint32_t n_blocks = (n_tokens + kFileBlockTokens - 1) / kFileBlockTokens;
    const std::size_t plane = n_blocks * file_block_bytes(kShape.type, kShape.head_dim);
    bytes.assign(2 * plane * kShape.n_kv_heads * kShape.n_layers, std::byte{fill});
    const pc_kv_segment segment{bytes.data(), n_blocks, 0, 0, n_tokens, 0, 0, nullptr, 0};
    runs = runs_of(&segment, 1);
  }
  std::vector<std::byte> bytes;
  std::vector<ModuleRun> runs;
};

std::shared_ptr<HostRoom> no_host() {
  return std::make_shared<HostRoom>(0);
}

Identity named(std::uint8_t name) {
  Identity identity{};
  identity[0] = name;
  return identity;
}

void wait_for_all(ModuleCache& cache, const std::shared_ptr<ModuleCopy>& copy) {
  for (std::uint32_t layer = 0; layer < kShape.n_layers; ++layer) must(cache.wait(copy, layer));
}

std::byte first_byte(const ModuleCopy& copy) {
  std::byte byte{};
  REQUIRE(cudaMemcpy(&byte, copy.planes().data, 1, cudaMemcpyDefault) == cudaSuccess);
  return byte;
}

void wait_until_there(const ModuleCache& cache, std::size_t bytes) {
  for (int tenth = 0; tenth < 600 && cache.bytes() != bytes; ++tenth)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  REQUIRE(cache.bytes() == bytes);
}

TEST_CASE("modules come when they are wanted, and the oldest goes where there is no room") {
  const Module a(32, 1), b(32, 2), c(32, 3);
  const std::size_t each = kShape.bytes(32);
  const auto cache = must(ModuleCache::make(kShape, 2 * each, no_host()));
  const auto first = cache->add(named(1), a.runs), second = cache->add(named(2), b.runs),
             third = cache->add(named(3), c.runs);
  REQUIRE(cache->bytes() == 0);
  for (const auto& copy : {first, second, third}) {
    must(cache->pin(copy, Room::kDevice));
    wait_for_all(*cache, copy);
    cache->unpin(copy);
  }
  REQUIRE(cache->bytes() == 2 * each);
  REQUIRE(first->planes().data == nullptr);
  must(cache->pin(first, Room::kDevice));  // instead of the second
  wait_for_all(*cache, first);
  REQUIRE(first_byte(*first) == std::byte{1});
  REQUIRE(second->planes().data == nullptr);
  must(cache->pin(second, Room::kDevice));  // instead of the third
  wait_for_all(*cache, second);
  // Both are being read. A budget is not a wall: memory is taken where the device has it.
  must(cache->pin(third, Room::kDevice));
  wait_for_all(*cache, third);
  REQUIRE(cache->bytes() == 3 * each);
  for (const auto& copy : {first, second, third}) cache->unpin(copy);
  REQUIRE(cache->bytes() == 2 * each);
  cache->drop(first, a.runs);
  cache->drop(second, b.runs);
  cache->drop(third, c.runs);
}

TEST_CASE("what is prefetched comes by itself, and not once nobody brings it") {
  const Module a(32, 1), b(32, 2);
  const std::size_t each = kShape.bytes(32);
  const auto cache = must(ModuleCache::make(kShape, each, no_host()));
  const auto first = cache->add(named(1), a.runs), second = cache->add(named(2), b.runs);
  cache->prefetch(first);
  wait_until_there(*cache, each);
  must(cache->pin(first, Room::kDevice));
  wait_for_all(*cache, first);
  CHECK(first_byte(*first) == std::byte{1});
  cache->unpin(first);
  cache->prefetch(second);  // there is room for one
  must(cache->pin(second, Room::kDevice));
  wait_for_all(*cache, second);
  cache->unpin(second);
  CHECK(first->planes().data == nullptr);
  cache->drop(first, a.runs);
  cache->prefetch(first);  // in vain, since nobody brings it: the second one stays
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  cache->drop(second, b.runs);
  CHECK(cache->bytes() == each);
  CHECK(cache->add(named(2), b.runs) == second);
  must(cache->pin(second, Room::kDevice));
  wait_for_all(*cache, second);
  CHECK(first_byte(*second) == std::byte{2});
  cache->unpin(second);
  cache->drop(second, b.runs);
}

// As an engine does whose held modules have no room for this one.
TEST_CASE("what is prefetched comes even where whoever asked lets go of it at once") {
  const std::size_t each = kShape.bytes(32);
  for (int i = 0; i < 20; ++i) {
    const Module a(32, 1);
    const auto cache = must(ModuleCache::make(kShape, each, no_host()));
    const auto copy = cache->add(named(1), a.runs);
    cache->prefetch(copy);
    cache->drop(copy, a.runs);
    REQUIRE(cache->bytes() == each);
    REQUIRE(first_byte(*copy) == std::byte{1});
  }
}

// So scripts/bench-cuda measures modules that come from the host (PC_CUDA_MODULE_BYTES=1).
TEST_CASE("with a budget of one byte a module is on the device while a step reads it, no longer") {
  const Module a(32);
  const auto cache = must(ModuleCache::make(kShape, 1, no_host()));
  const auto copy = cache->add(named(1), a.runs);
  for (int step = 0; step < 3; ++step) {
    cache->prefetch(copy);
    REQUIRE(cache->bytes() == 0);
    must(cache->pin(copy, Room::kDevice));
    wait_for_all(*cache, copy);
    REQUIRE(cache->bytes() == kShape.bytes(32));
    cache->unpin(copy);
    REQUIRE(cache->bytes() == 0);
  }
  cache->drop(copy, a.runs);
}

TEST_CASE("modules of one identity are one copy, which outlives those who brought it") {
  const Module a(40, 7), again(40, 7);
  const auto cache = must(ModuleCache::make(kShape, 1 << 20, no_host()));
  const auto copy = cache->add(named(1), a.runs);
  REQUIRE(cache->add(named(1), again.runs) == copy);
  REQUIRE(cache->add(Identity{}, again.runs) != cache->add(Identity{}, a.runs));
  cache->prefetch(copy);
  wait_until_there(*cache, kShape.bytes(copy->room()));
  cache->drop(copy, a.runs);
  must(cache->pin(copy, Room::kDevice));
  wait_for_all(*cache, copy);
  REQUIRE(first_byte(*copy) == std::byte{7});
  cache->unpin(copy);
  REQUIRE(cache->let_go(false));
  REQUIRE(cache->bytes() == 0);
  must(cache->pin(copy, Room::kDevice));  // from the other one's memory
  wait_for_all(*cache, copy);
  cache->unpin(copy);
  cache->drop(copy, again.runs);
  REQUIRE(cache->bytes() != 0);  // for whoever brings it next
  REQUIRE(cache->add(named(1), a.runs) == copy);
  cache->drop(copy, a.runs);
}

TEST_CASE("what the device has no room for is in the host's memory, until there is room") {
  const Module a(32, 1), b(32, 2), c(32, 3);
  const std::size_t each = kShape.bytes(32);
  const auto cache = must(ModuleCache::make(kShape, 2 * each, std::make_shared<HostRoom>(each)));
  const auto first = cache->add(named(1), a.runs), second = cache->add(named(2), b.runs),
             third = cache->add(named(3), c.runs);
  must(cache->pin(first, Room::kDeviceOrHost));
  wait_for_all(*cache, first);
  CHECK(!first->is_on_host());  // the device comes first
  standin::set_memory_limit(standin::allocated_bytes());
  CHECK(cache->pin(second, Room::kDevice).error().code == Code::kOutOfMemory);
  must(cache->pin(second, Room::kDeviceOrHost));
  wait_for_all(*cache, second);
  CHECK(second->is_on_host());
  CHECK(first_byte(*second) == std::byte{2});
  CHECK(cache->bytes() == each);
  // Neither has room for a third while these are read; then it takes the place of the second.
  const Status full = cache->pin(third, Room::kDeviceOrHost);
  CHECK(full.error().code == Code::kOutOfMemory);
  CHECK(full.error().message.find("PC_CUDA_HOST_BYTES") != std::string::npos);
  cache->unpin(second);
  CHECK(cache->bytes() == each);
  must(cache->pin(third, Room::kDeviceOrHost));
  wait_for_all(*cache, third);
  CHECK(third->is_on_host());
  CHECK(second->planes().data == nullptr);
  cache->unpin(third);
  must(cache->pin(third, Room::kDevice));  // there it stays as long as the device is full
  CHECK(third->is_on_host());
  cache->unpin(third);
  standin::set_memory_limit(standin::kMemoryLimit);
  must(cache->pin(third, Room::kDevice));
  wait_for_all(*cache, third);
  CHECK(!third->is_on_host());
  CHECK(first_byte(*third) == std::byte{3});
  CHECK(cache->bytes() == 2 * each);
  cache->unpin(third);
  cache->unpin(first);
  cache->drop(first, a.runs);
  cache->drop(second, b.runs);
  cache->drop(third, c.runs);
}

TEST_CASE("a module moves between the memories: where it is alone, and where others are older") {
  const Module a(32, 1), b(32, 2);
  const std::size_t each = kShape.bytes(32);
  const auto cache = must(ModuleCache::make(kShape, 8 * each, std::make_shared<HostRoom>(each)));
  const auto first = cache->add(named(1), a.runs), second = cache->add(named(2), b.runs);
  const auto use = [&](const std::shared_ptr<ModuleCopy>& copy) {
    must(cache->pin(copy, Room::kDeviceOrHost));
    wait_for_all(*cache, copy);
    const bool on_host = copy->is_on_host();
    cache->unpin(copy);
    return on_host;
  };
  must(cache->pin(first, Room::kDevice));
  must(cache->pin(first, Room::kDevice));
  CHECK_FALSE(cache->move_to_host(first));  // another reads it
  cache->unpin(first);
  CHECK(cache->move_to_host(first));
  CHECK_FALSE(cache->move_to_host(first));  // it is there
  wait_for_all(*cache, first);
  CHECK(first->is_on_host());
  CHECK(first_byte(*first) == std::byte{1});
  CHECK(cache->bytes() == 0);
  must(cache->pin(second, Room::kDevice));
  CHECK_FALSE(cache->move_to_host(second));  // there is no room for two
  CHECK_FALSE(second->is_on_host());
  CHECK(first_byte(*second) == std::byte{2});
  cache->unpin(first);
  cache->unpin(second);
  // The device has room for one. Who is used in turn stays; who is not wanted any more goes.
  standin::set_memory_limit(standin::allocated_bytes());
  CHECK(use(first));
  CHECK_FALSE(use(second));
  CHECK(use(first));
  CHECK_FALSE(use(first));  // the second was not used since
  CHECK(second->planes().data == nullptr);
  standin::set_memory_limit(standin::kMemoryLimit);
  cache->drop(first, a.runs);
  cache->drop(second, b.runs);
}

TEST_CASE("a module without tokens takes nothing and is there at once") {
  const std::vector<ModuleRun> none;
  const auto cache = must(ModuleCache::make(kShape, 1 << 20, no_host()));
  const auto copy = cache->add(named(1), none);
  must(cache->pin(copy, Room::kDevice));
  wait_for_all(*cache, copy);
  cache->unpin(copy);
  REQUIRE(cache->bytes() == 0);
  cache->drop(copy, none);
}

}  // namespace
}  // namespace pc::cuda
