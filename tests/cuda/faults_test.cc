// A device that is not there, has no memory left or is lost, and what it does not offer: an error
// of the requests that it held, that says so; nothing leaks, and the process goes on. And how often
// a step waits for a device that is well.

#include "cuda/standin/faults.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <string>

#include "tests/support/backend_under_test.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random_plan.h"

namespace pc::test {
namespace {

namespace standin = cuda::standin;

std::string open_error(const pc_model_desc& desc, std::int32_t* status,
                       pc_backend_precision precision = PC_BACKEND_FAST) {
  pc_backend_model* model = nullptr;
  pc_backend_error e{};
  *status = backend_under_test()->model_open(&desc, 1, precision, 1, nullptr, &model, &e);
  if (*status == 0) backend_under_test()->model_close(model);
  return e.message;
}

TEST_CASE("a machine without a device says so") {
  const TinyModel model(60);
  standin::set_device_count(0);
  std::int32_t status = 0;
  const std::string message = open_error(model.desc, &status);
  standin::set_device_count(1);
  REQUIRE(status == static_cast<int>(Code::kUnsupported));
  REQUIRE(message.find("no CUDA device") != std::string::npos);
}

TEST_CASE("a device says that it has no deterministic precision, and what has it") {
  const TinyModel model(67);
  std::int32_t status = 0;
  const std::string message = open_error(model.desc, &status, PC_BACKEND_DETERMINISTIC);
  CHECK(status == static_cast<int>(Code::kUnsupported));
  CHECK(message.find("the CUDA device has no deterministic precision") != std::string::npos);
  CHECK(message.find("the CPU has it") != std::string::npos);
}

TEST_CASE("a step waits for the device where something is read, and nowhere else") {
  const TinyModel model(68);
  Random random(68);
  const auto tokens = random_tokens(random, 5, 64);
  const pc_run run{tokens.data(), 5, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 1);
  const auto waits = [&](std::uint32_t n_layers, float* logits) {
    Backend::Timeline timeline = backend.open();
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = &run;
    item.n_runs = 1;
    item.n_layers = n_layers;
    item.logits = logits;
    const std::uint64_t before = standin::counted_waits();
    backend.step({&item, 1});
    REQUIRE(item.status == 0);
    return standin::counted_waits() - before;
  };
  std::vector<float> logits(64);
  CHECK(waits(0, nullptr) == 1);        // are the rows finite?
  CHECK(waits(0, logits.data()) == 2);  // and the logits
  CHECK(waits(1, nullptr) == 1);        // keys and values are there
}

TEST_CASE("a budget that is no number of bytes is refused by name") {
  const TinyModel model(66);
  std::int32_t status = 0;
  for (const char* asked : {"-1", "+5", "1e9", "12MB", "99999999999999999999999", " 7"}) {
    INFO(asked);
    REQUIRE(setenv("PC_CUDA_MODULE_BYTES", asked, 1) == 0);
    const std::string message = open_error(model.desc, &status);
    CHECK(status == static_cast<int>(Code::kInvalidArgument));
    CHECK(message.find("PC_CUDA_MODULE_BYTES") != std::string::npos);
  }
  REQUIRE(setenv("PC_CUDA_MODULE_BYTES", "4096", 1) == 0);
  CHECK(open_error(model.desc, &status).empty());
  REQUIRE(unsetenv("PC_CUDA_MODULE_BYTES") == 0);
}

TEST_CASE("a device that fails at any call of opening is an error, and nothing leaks") {
  const TinyModel model(61);
  std::int32_t status = 0;
  const std::uint64_t before = standin::counted_calls();
  open_error(model.desc, &status);
  REQUIRE(status == 0);
  const std::uint64_t n_calls = standin::counted_calls() - before;
  REQUIRE(n_calls > 20);
  for (std::uint64_t i = 1; i <= n_calls; i += 1 + i / 40) {
    INFO("call " << i << " of " << n_calls);
    standin::fail_after(i, cudaErrorIllegalAddress);
    open_error(model.desc, &status);
    standin::heal();
    REQUIRE(standin::allocated_bytes() == 0);
    REQUIRE(standin::allocated_host_bytes() == 0);
  }
}

TEST_CASE("a device that is lost in a step fails its requests, and the next model computes") {
  const TinyModel model(62);
  Random random(62);
  const auto tokens = random_tokens(random, 90, 64);
  const pc_run run{tokens.data(), 90, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  std::vector<float> want;
  {
    Backend sound(backend_under_test(), model.desc, KvType::kF32, 1);
    want = sound.compute(sound.open(), {&run, 1});
  }
  // A module is brought to the device, and tokens behind it are computed; the call'th call fails
  // and all behind it, where call is not 0. How many calls there were.
  const auto step = [&](std::uint64_t call) {
    Backend backend(backend_under_test(), model.desc, KvType::kF32, 1);
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, 1);
    const auto encoded = runner.encode({{{tokens, 0, true}}});
    Backend::Timeline timeline = backend.open();
    const KvSegment& s = encoded.at(0).segment;
    backend.attach(timeline, {s.data, s.plane_blocks, s.first_block, 0, s.n_tokens, 0,
                              s.key_position, nullptr, 0});
    std::vector<float> logits(64);
    const pc_run behind{tokens.data(), 90, 90, 90, 1, nullptr, nullptr, 0, nullptr};
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = &behind;
    item.n_runs = 1;
    item.logits = logits.data();
    const std::uint64_t before = standin::counted_calls();
    if (call != 0) standin::fail_after(call, cudaErrorLaunchFailure);
    backend.step({&item, 1});
    CHECK(item.status == (call == 0 ? 0 : static_cast<int>(Code::kIo)));
    if (call != 0)
      CHECK(std::string(item.error.message).find(" failed while ") != std::string::npos);
    return standin::counted_calls() - before;
  };
  const std::uint64_t n_calls = step(0);
  for (std::uint64_t call = 1; call <= n_calls; call += 1 + call / 8) {
    INFO("call " << call << " of " << n_calls);
    step(call);
    standin::heal();
    Backend next(backend_under_test(), model.desc, KvType::kF32, 1);
    REQUIRE(next.compute(next.open(), {&run, 1}) == want);
  }
  REQUIRE(standin::allocated_bytes() == 0);
}

TEST_CASE("what fits neither memory is refused, and what fits goes on") {
  const TinyModel model(63);
  REQUIRE(setenv("PC_CUDA_HOST_BYTES", "0", 1) == 0);
  Random random(63);
  const auto tokens = random_tokens(random, 40, 64);
  const pc_run run{tokens.data(), 40, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  std::int32_t status = 0;
  standin::set_memory_limit(1 << 20);
  const std::string message = open_error(model.desc, &status);
  REQUIRE(status == static_cast<int>(Code::kOutOfMemory));
  REQUIRE(message.find("MiB") != std::string::npos);
  standin::set_memory_limit(standin::kMemoryLimit);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 1);
  REQUIRE(unsetenv("PC_CUDA_HOST_BYTES") == 0);
  const Backend::Timeline first = backend.open();
  const auto want = backend.compute(first, {&run, 1});
  standin::set_memory_limit(standin::allocated_bytes());
  // A module that finds no room.
  PlanRunner::Prompt none;
  std::vector<std::byte> planes(backend.geometry().state_bytes(kv_blocks(4000)));
  const KvPlanes p = dense_planes(planes.data(), backend.geometry(), kv_blocks(4000));
  Backend::Timeline second = backend.open();
  backend.attach(second, {p.data, p.plane_blocks, p.first_block, 0, 4000, 0, 0, nullptr, 0});
  std::vector<float> logits(64);
  const pc_run behind{tokens.data(), 40, 4000, 4000, 1, nullptr, nullptr, 0, nullptr};
  pc_step_item item{};
  item.timeline = second.get();
  item.runs = &behind;
  item.n_runs = 1;
  item.logits = logits.data();
  backend.step({&item, 1});
  CHECK(item.status == static_cast<int>(Code::kOutOfMemory));
  CHECK(std::string(item.error.message).find("MiB does not fit") != std::string::npos);
  // Pages that the first conversation gives back are enough for the next.
  backend.rewind(const_cast<Backend::Timeline&>(first), 0);
  CHECK(backend.compute(first, {&run, 1}) == want);
  standin::set_memory_limit(standin::kMemoryLimit);
  backend.step({&item, 1});
  CHECK(item.status == 0);
}

// A module of 4000 tokens, and 300 tokens behind it: what is said beside their logits.
struct Behind {
  std::vector<float> logits;
  std::string remark;
};
Behind compute_behind(Backend& backend, const KvPlanes& p, std::span<const std::int32_t> tokens) {
  Backend::Timeline timeline = backend.open();
  backend.attach(timeline, {p.data, p.plane_blocks, p.first_block, 0, 4000, 0, 0, nullptr, 0});
  Behind behind{std::vector<float>(64), {}};
  const pc_run run{
      tokens.data(), static_cast<std::uint32_t>(tokens.size()), 4000, 4000, 1, nullptr, nullptr, 0,
      nullptr};
  pc_step_item item{};
  item.timeline = timeline.get();
  item.runs = &run;
  item.n_runs = 1;
  item.logits = behind.logits.data();
  backend.step({&item, 1});
  behind.remark = item.error.message;
  REQUIRE(item.status == 0);
  return behind;
}

TEST_CASE("what the device has no room for is computed with in the host's memory, and it is said") {
  const TinyModel model(67);
  Random random(67);
  const auto tokens = random_tokens(random, 300, 64);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    INFO(kv_type_name(type));
    // A module goes as soon as its step is over.
    REQUIRE(setenv("PC_CUDA_MODULE_BYTES", "1", 1) == 0);
    Backend backend(backend_under_test(), model.desc, type, 1);
    REQUIRE(unsetenv("PC_CUDA_MODULE_BYTES") == 0);
    std::vector<std::byte> planes(backend.geometry().state_bytes(kv_blocks(4000)));
    const KvPlanes p = dense_planes(planes.data(), backend.geometry(), kv_blocks(4000));
    const Behind want = compute_behind(backend, p, tokens);
    CHECK(want.remark.empty());
    // From here on the device has the room that is taken, its module's not included.
    standin::set_memory_limit(0);
    const Behind module = compute_behind(backend, p, tokens);
    CHECK(module.remark.find("in the host's memory") != std::string::npos);
    CHECK(module.logits == want.logits);
    // Others have all pages of the pool but two.
    const pc_run one{tokens.data(), 1, 0, 0, 1, nullptr, nullptr, 0, nullptr};
    std::vector<Backend::Timeline> others;
    for (int i = 0; i < 62; ++i) backend.compute(others.emplace_back(backend.open()), {&one, 1});
    const Behind both = compute_behind(backend, p, tokens);
    CHECK(both.remark.find("in the host's memory") != std::string::npos);
    CHECK(both.logits == want.logits);
    standin::set_memory_limit(standin::kMemoryLimit);
    CHECK(compute_behind(backend, p, tokens).logits == want.logits);
  }
  REQUIRE(standin::allocated_host_bytes() == 0);
}

TEST_CASE("a module makes room for what computing with it wants") {
  const TinyModel model(68);
  Random random(68);
  const auto tokens = random_tokens(random, 300, 64);
  Backend roomy(backend_under_test(), model.desc, KvType::kBf16, 1);
  std::vector<std::byte> planes(roomy.geometry().state_bytes(kv_blocks(4000)));
  const KvPlanes p = dense_planes(planes.data(), roomy.geometry(), kv_blocks(4000));
  const Behind want = compute_behind(roomy, p, tokens);
  REQUIRE(setenv("PC_CUDA_MODULE_BYTES", "1", 1) == 0);
  Backend tight(backend_under_test(), model.desc, KvType::kBf16, 1);
  REQUIRE(unsetenv("PC_CUDA_MODULE_BYTES") == 0);
  const auto before = standin::allocated_bytes();
  compute_behind(tight, p, {tokens.data(), 1});  // pages, and scratch for a row
  REQUIRE(standin::allocated_bytes() > before);
  // For the module and a little more: not what 300 rows want.
  standin::set_memory_limit(standin::allocated_bytes() + planes.size() + 4096);
  const Behind got = compute_behind(tight, p, tokens);
  standin::set_memory_limit(standin::kMemoryLimit);
  CHECK(got.remark.find("in the host's memory") != std::string::npos);
  CHECK(got.logits == want.logits);
}

TEST_CASE("memory of conversations that ended is there for modules") {
  const TinyModel model(65);
  Random random(65);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 1);
  const auto tokens = random_tokens(random, 6000, 64);
  const pc_run all{tokens.data(), 6000, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  { backend.compute(backend.open(), {&all, 1}); }
  standin::set_memory_limit(standin::allocated_bytes());
  std::vector<std::byte> planes(backend.geometry().state_bytes(kv_blocks(2000)));
  const KvPlanes p = dense_planes(planes.data(), backend.geometry(), kv_blocks(2000));
  Backend::Timeline timeline = backend.open();
  backend.attach(timeline, {p.data, p.plane_blocks, 0, 0, 2000, 0, 0, nullptr, 0});
  const pc_run behind{tokens.data(), 40, 2000, 2000, 1, nullptr, nullptr, 0, nullptr};
  backend.compute(timeline, {&behind, 1});
  standin::set_memory_limit(standin::kMemoryLimit);
}

TEST_CASE("items whose modules do not fit beside each other take turns") {
  const TinyModel model(64);
  Random random(64);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 1);
  const auto tokens = random_tokens(random, 20, 64);
  const std::uint32_t n_attached = 4000;
  const pc_run behind{tokens.data(), 20, 4000, 4000, 1, nullptr, nullptr, 0, nullptr};
  std::deque<std::vector<std::byte>> planes;
  const auto attached = [&] {
    Backend::Timeline timeline = backend.open();
    auto& bytes = planes.emplace_back(backend.geometry().state_bytes(kv_blocks(n_attached)));
    for (std::size_t i = 0; i < bytes.size() / 4; ++i)
      reinterpret_cast<float*>(bytes.data())[i] = random.floats(1, 1.0f)[0];
    const KvPlanes p = dense_planes(bytes.data(), backend.geometry(), kv_blocks(n_attached));
    backend.attach(timeline, {p.data, p.plane_blocks, 0, 0, n_attached, 0, 0, nullptr, 0});
    return timeline;
  };
  const Backend::Timeline timelines[] = {attached(), attached()};
  std::vector<std::vector<float>> want;
  for (const Backend::Timeline& timeline : timelines)
    want.push_back(backend.compute(backend.fork(timeline), {&behind, 1}));
  // What both took, less a half of one of them.
  standin::set_memory_limit(standin::allocated_bytes() - planes.front().size() / 2);
  std::vector<std::vector<float>> logits(2, std::vector<float>(64));
  std::vector<pc_step_item> items(2);
  for (std::size_t i = 0; i < 2; ++i) {
    items[i].timeline = timelines[i].get();
    items[i].runs = &behind;
    items[i].n_runs = 1;
    items[i].logits = logits[i].data();
  }
  // Both have memory from before: a third one takes it.
  const Backend::Timeline third = attached();
  backend.compute(third, {&behind, 1});
  backend.step(items);
  standin::set_memory_limit(standin::kMemoryLimit);
  for (std::size_t i = 0; i < 2; ++i) {
    INFO(items[i].error.message);
    REQUIRE(items[i].status == 0);
    for (std::size_t v = 0; v < 64; ++v) REQUIRE(std::fabs(logits[i][v] - want[i][v]) <= 5e-5f);
  }
}

}  // namespace
}  // namespace pc::test
