// What a step promises, on a device that computes nothing: every token of an item once and in
// order or an error of that item, sweeps within their limit, and an item that fails, however,
// fails alone and leaves its timeline as it was.

#include "runtime/step/stepper.h"

#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <vector>

#include "tests/runtime/step/fake_device.h"
#include "tests/support/alloc_faults.h"
#include "tests/support/random.h"

namespace pc::test {
namespace {

constexpr auto kNone = static_cast<std::int32_t>(Code::kOk);
constexpr auto kInvalid = static_cast<std::int32_t>(Code::kInvalidArgument);
constexpr auto kCancelled = static_cast<std::int32_t>(Code::kCancelled);
constexpr auto kNotFinite = static_cast<std::int32_t>(Code::kNotFinite);
constexpr auto kOutOfMemory = static_cast<std::int32_t>(Code::kOutOfMemory);

// An item with everything that it borrows. Stays where it is.
struct Asked {
  explicit Asked(std::int32_t id, std::int32_t module = 0) : timeline{id, module, {}} {
    item.timeline = &timeline;
  }
  Asked(const Asked&) = delete;

  void add_run(std::vector<std::int32_t> tokens, std::int32_t position) {
    ids.push_back(std::move(tokens));
    runs.push_back({ids.back().data(), static_cast<std::uint32_t>(ids.back().size()), position,
                    position, 1, nullptr, nullptr, 0, nullptr});
    item.runs = runs.data();
    item.n_runs = static_cast<std::uint32_t>(runs.size());
  }
  void want_logits() { item.logits = logits.data(); }
  void want_rows(std::uint64_t first, std::uint32_t kind) {
    item.row = take_row;
    item.row_user = this;
    item.first_row = first;
    item.row_kind = kind;
  }
  static void take_row(void* user, std::uint64_t token, const float* values) {
    auto* const asked = static_cast<Asked*>(user);
    asked->row_tokens.push_back(token);
    asked->row_values.push_back({values[0], values[1]});
    if (asked->cancelled_by_row == token) asked->cancel = 1;
  }

  std::uint64_t n_tokens() const { return count_tokens(item); }
  // Token `number` of all runs.
  std::int32_t token(std::uint64_t number) const {
    for (const auto& run : ids) {
      if (number < run.size()) return run[number];
      number -= run.size();
    }
    return -1;
  }
  bool has(std::int32_t first, std::int32_t end) const {
    return std::ranges::any_of(ids, [&](const auto& run) {
      return std::ranges::any_of(run, [&](std::int32_t id) { return id >= first && id < end; });
    });
  }

  pc_backend_timeline timeline;
  std::size_t n_before = 0;  // tokens of the timeline
  std::deque<std::vector<std::int32_t>> ids;
  std::vector<pc_run> runs;
  std::vector<float> logits = std::vector<float>(FakeDevice::kVocab, -1.0f);
  std::vector<pc_layer_range> ranges;  // none are wanted where there are none
  std::uint64_t weights = 0;
  std::int32_t cancel = 0;
  std::uint64_t cancelled_by_row = UINT64_MAX;
  std::vector<std::uint64_t> row_tokens;
  std::vector<std::pair<float, float>> row_values;
  pc_step_item item{};
};

std::vector<pc_step_item> items_of(const std::deque<Asked>& asked) {
  std::vector<pc_step_item> items;
  for (const Asked& one : asked) items.push_back(one.item);
  return items;
}

void ask(Random& random, Asked* asked) {
  for (std::uint32_t i = random.below(4); i-- > 0;) {
    std::vector<std::int32_t> tokens(random.chance(0.1) ? 0 : random.between(1, 12));
    for (std::int32_t& id : tokens) id = static_cast<std::int32_t>(random.below(50));
    if (random.chance(0.1) && !tokens.empty()) {
      const std::int32_t odd[] = {50, 51, 52, 53, 54, 60, 64, -1};
      tokens[random.below(static_cast<std::uint32_t>(tokens.size()))] = odd[random.below(8)];
    }
    asked->add_run(tokens, static_cast<std::int32_t>(random.below(100)));
  }
  asked->timeline.tokens.resize(random.below(3));
  asked->n_before = asked->timeline.tokens.size();
  if (random.chance(0.2)) asked->item.n_layers = random.between(1, FakeDevice::kLayers);
  const bool whole = asked->item.n_layers == 0;
  if (whole && random.chance(0.7)) asked->want_logits();
  if (whole && random.chance(0.3)) asked->want_rows(random.below(20), random.below(2));
  if (whole && random.chance(0.2)) {
    asked->ranges.resize(FakeDevice::kLayers + 1);
    asked->item.ranges = asked->ranges.data();
  }
  if (random.chance(0.2)) {
    asked->item.weights = &asked->weights;
    asked->item.first_weighted = random.below(3);  // the timeline has one attachment
  }
  asked->cancel = random.chance(0.1);
  if (random.chance(0.5)) asked->item.cancel = &asked->cancel;
}

// What becomes of it where the device works.
std::int32_t expected(const Asked& asked, bool caps_logits) {
  const pc_step_item& item = asked.item;
  if (asked.n_tokens() == 0 || asked.has(-1, 0) || asked.has(64, 65)) return kInvalid;
  if (item.weights && item.first_weighted > 1) return kInvalid;
  if (item.cancel && asked.cancel != 0) return kCancelled;
  if (item.n_layers != 0 || item.ranges) return kNone;
  if (asked.has(FakeDevice::kBroken, FakeDevice::kBroken + FakeDevice::kLayers + 1))
    return kNotFinite;
  if (!caps_logits) return kNone;
  const std::uint64_t first = item.row && item.row_kind == PC_ROW_LOGITS ? item.first_row
                              : item.logits                              ? asked.n_tokens() - 1
                                                                         : UINT64_MAX;
  for (std::uint64_t i = first; i < asked.n_tokens(); ++i)
    if (asked.token(i) == FakeDevice::kBrokenLogits) return kNotFinite;
  return item.logits && asked.token(asked.n_tokens() - 1) == FakeDevice::kBrokenLogits ? kNotFinite
                                                                                       : kNone;
}

void require_untouched(const Asked& asked) {
  REQUIRE(asked.timeline.tokens.size() == asked.n_before);
}

// All of its tokens, once, and all that was asked for of them.
void require_computed(const Asked& asked) {
  const auto& tokens = asked.timeline.tokens;
  const std::uint64_t n = asked.n_tokens();
  REQUIRE(tokens.size() == asked.n_before + n);
  for (std::uint64_t i = 0; i < n; ++i) {
    REQUIRE(tokens[asked.n_before + i].id == asked.token(i));
    REQUIRE(tokens[asked.n_before + i].n_computed == 1);
  }
  const auto id = static_cast<float>(asked.timeline.id);
  if (asked.item.logits) {
    CHECK(asked.logits[0] == id);
    CHECK(asked.logits[1] == static_cast<float>(tokens.size() - 1));
  }
  if (asked.item.row) {
    REQUIRE(asked.row_tokens.size() == n - std::min(n, asked.item.first_row));
    for (std::size_t i = 0; i < asked.row_tokens.size(); ++i) {
      REQUIRE(asked.row_tokens[i] == asked.item.first_row + i);
      REQUIRE(asked.row_values[i].first == id);
      REQUIRE(asked.row_values[i].second ==
              static_cast<float>(asked.n_before + asked.item.first_row + i));
    }
  }
  for (const pc_layer_range& range : asked.ranges) CHECK(range.largest == static_cast<float>(n));
  if (asked.item.weights) CHECK(asked.weights == n);
}

TEST_CASE("random steps: every item is computed once and in order, or has its error") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const bool caps_logits = random.chance(0.5);
    const std::uint32_t max_rows = random.between(1, 40);
    FakeDevice device;
    device.max_modules = random.between(1, 3);
    Stepper stepper(FakeDevice::limits(caps_logits), max_rows, device);
    for (int step = 0; step < 2; ++step) {  // the second as if the first had not been
      std::deque<Asked> asked;
      for (std::uint32_t n = random.below(9); n-- > 0;) {
        asked.emplace_back(static_cast<std::int32_t>(n), static_cast<std::int32_t>(n % 4));
        ask(random, &asked.back());
      }
      std::vector<pc_step_item> items = items_of(asked);
      stepper.step(items);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        INFO("item " << i << ": " << items[i].error.message);
        REQUIRE(items[i].status == expected(asked[i], caps_logits));
        REQUIRE((items[i].status == 0) == (items[i].error.message[0] == '\0'));
        items[i].status == 0 ? require_computed(asked[i]) : require_untouched(asked[i]);
      }
    }
    for (const std::uint32_t n_rows : device.sweeps) REQUIRE(n_rows <= max_rows);
    INFO(device.wrong);
    REQUIRE(device.wrong == nullptr);
  }
}

// Runs a step of three items, one of which is broken, whose calls fail as `prepare` says.
template <class Prepare>
void run_faulty(Prepare prepare, std::deque<Asked>* asked, std::vector<pc_step_item>* items,
                FakeDevice* device) {
  Stepper stepper(FakeDevice::limits(true), 8, *device);
  for (std::int32_t id = 0; id < 3; ++id) {
    Asked& one = asked->emplace_back(id, id);
    one.timeline.tokens.resize(2);
    one.n_before = 2;
    one.add_run({1, 2, 3, 4, 5}, 0);
    one.add_run({6, id == 1 ? FakeDevice::kBroken + 2 : 7}, 50);
    one.want_logits();
    if (id == 2) one.want_rows(1, PC_ROW_LOGITS);
  }
  *items = items_of(*asked);
  prepare();
  stepper.step(*items);
}

TEST_CASE("whichever call of the device fails, items fail by it or are computed as ever") {
  FakeDevice sound;
  {
    std::deque<Asked> asked;
    std::vector<pc_step_item> items;
    run_faulty([] {}, &asked, &items, &sound);
  }
  REQUIRE(sound.n_calls > 20);
  for (const auto fault :
       {FakeDevice::Fault::kLost, FakeDevice::Fault::kNoMemory, FakeDevice::Fault::kThrows}) {
    for (long call = 1; call <= sound.n_calls; ++call) {
      INFO("call " << call << ", fault " << static_cast<int>(fault));
      FakeDevice device;
      device.fault = fault;
      std::deque<Asked> asked;
      std::vector<pc_step_item> items;
      run_faulty([&] { device.fail_at = call; }, &asked, &items, &device);
      const auto code =
          fault == FakeDevice::Fault::kLost ? static_cast<std::int32_t>(Code::kIo) : kOutOfMemory;
      int n_failed = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (items[i].status == 0)
          require_computed(asked[i]);
        else
          require_untouched(asked[i]);
        n_failed += items[i].status == code;
        REQUIRE((items[i].status == 0 || items[i].status == code ||
                 (i == 1 && items[i].status == kNotFinite)));
      }
      REQUIRE(n_failed > 0);
      INFO(device.wrong);
      REQUIRE(device.wrong == nullptr);
    }
  }
}

TEST_CASE("whichever allocation fails, every timeline is whole or as it was") {
  for (long n = 0;; ++n) {
    FakeDevice device;
    std::deque<Asked> asked;
    std::vector<pc_step_item> items;
    bool threw = false;
    try {
      run_faulty([n] { fail_allocation(n, AllocFault::kOnward); }, &asked, &items, &device);
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    const bool failed = allocation_failed();
    stop_failing();
    INFO("allocation " << n);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!threw && items[i].status == 0)
        require_computed(asked[i]);
      else
        require_untouched(asked[i]);
    }
    REQUIRE(device.wrong == nullptr);
    if (!failed) break;
    REQUIRE(n < 1000);
  }
}

TEST_CASE("numbers that are not finite name the layer and the token, and spoil no neighbour") {
  FakeDevice device;
  Stepper stepper(FakeDevice::limits(false), 16, device);
  std::deque<Asked> asked;
  const std::vector<std::int32_t> tokens[] = {
      {1, 2}, {1, FakeDevice::kBroken + 3, FakeDevice::kBroken + 1}, {FakeDevice::kBroken}, {3}};
  for (std::int32_t id = 0; id < 4; ++id) {
    asked.emplace_back(id).add_run(tokens[id], 10 * id);
    asked.back().want_logits();
    asked.back().item.weights = &asked.back().weights;
  }
  std::vector<pc_step_item> items = items_of(asked);
  stepper.step(items);
  CHECK(device.sweeps == std::vector<std::uint32_t>{7});
  CHECK(device.n_passes == 2);
  CHECK(items[1].status == kNotFinite);
  CHECK(std::string(items[1].error.message) ==
        "the model computed numbers that are not finite: they begin in layer 1 of 4, for the "
        "token at position 12");
  CHECK(items[2].status == kNotFinite);
  CHECK(std::string(items[2].error.message) ==
        "the model computed numbers that are not finite: they begin in the embedding, for the "
        "token at position 20");
  for (const std::size_t i : {0, 3}) {
    CHECK(items[i].status == 0);
    require_computed(asked[i]);
  }
}

TEST_CASE("who is cancelled between sweeps has no more of them, and others go on") {
  FakeDevice device;
  Stepper stepper(FakeDevice::limits(false), 4, device);
  std::deque<Asked> asked;
  for (std::int32_t id = 0; id < 2; ++id) {
    asked.emplace_back(id).add_run({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0);
    asked.back().want_logits();
    asked.back().item.cancel = &asked.back().cancel;
  }
  device.at_layer = [&](int sweep, std::uint32_t layer) {
    if (sweep == 1 && layer == 2) asked[0].cancel = 1;
  };
  std::vector<pc_step_item> items = items_of(asked);
  stepper.step(items);
  CHECK(items[0].status == kCancelled);
  require_untouched(asked[0]);
  CHECK(items[1].status == 0);
  require_computed(asked[1]);
  // Of its ten tokens two never become rows.
  CHECK(device.sweeps == std::vector<std::uint32_t>{4, 4, 4, 4, 2});
}

TEST_CASE("who is cancelled while its rows are handed out gets no more of them") {
  FakeDevice device;
  Stepper stepper(FakeDevice::limits(false), 100, device);
  std::deque<Asked> asked;
  asked.emplace_back(0).add_run(std::vector<std::int32_t>(80, 1), 0);
  asked.back().want_rows(0, PC_ROW_HIDDEN);
  asked.back().cancelled_by_row = 40;
  asked.back().item.cancel = &asked.back().cancel;
  std::vector<pc_step_item> items = items_of(asked);
  stepper.step(items);
  CHECK(items[0].status == kCancelled);
  CHECK(asked[0].row_tokens.size() == 64);  // those that are read at once
  require_untouched(asked[0]);
}

TEST_CASE("sweeps are full, but where items cannot share one") {
  FakeDevice device;
  device.max_modules = 1;
  Stepper stepper(FakeDevice::limits(false), 10, device);
  std::deque<Asked> asked;
  const struct {
    std::int32_t module;
    std::uint32_t n, n_layers;
  } kinds[] = {{0, 3, 0}, {0, 12, 0}, {1, 2, 0}, {1, 2, 2}, {1, 1, 2}, {1, 1, 3}};
  for (const auto& kind : kinds) {
    asked.emplace_back(static_cast<std::int32_t>(asked.size()), kind.module)
        .add_run(std::vector<std::int32_t>(kind.n, 1), 0);
    asked.back().item.n_layers = kind.n_layers;
  }
  std::vector<pc_step_item> items = items_of(asked);
  stepper.step(items);
  CHECK(device.sweeps == std::vector<std::uint32_t>{10, 5, 2, 3, 1});
  for (const Asked& one : asked) require_computed(one);
  CHECK(device.wrong == nullptr);
}

TEST_CASE("a sweep without memory is tried again while there is room, until it handed out") {
  const auto step = [](long fail_at, int n_rooms, bool measures) {
    FakeDevice device;
    device.fault = FakeDevice::Fault::kNoMemory;
    device.n_rooms = n_rooms;
    Stepper stepper(FakeDevice::limits(false), 10, device);
    std::deque<Asked> asked;
    asked.emplace_back(7).add_run({1, 2, 3}, 0);
    asked.back().want_logits();
    if (measures) asked.back().ranges.resize(FakeDevice::kLayers + 1);
    if (measures) asked.back().item.ranges = asked.back().ranges.data();
    std::vector<pc_step_item> items = items_of(asked);
    device.fail_at = fail_at;
    stepper.step(items);
    if (items[0].status == 0) require_computed(asked[0]);
    if (items[0].status != 0) require_untouched(asked[0]);
    return items[0].status;
  };
  // Calls: join, append, begin_sweep, compute, look, finish_pass.
  CHECK(step(3, 1, false) == kNone);
  CHECK(step(4, 1, false) == kNone);
  CHECK(step(4, 0, false) == kOutOfMemory);
  CHECK(step(6, 1, false) == kOutOfMemory);
  CHECK(step(5, 1, true) == kNone);         // behind the embedding
  CHECK(step(6, 1, true) == kOutOfMemory);  // one range had been handed out
}

TEST_CASE("what an earlier sweep handed out does not keep a later one from being tried again") {
  FakeDevice device;
  device.fault = FakeDevice::Fault::kNoMemory;
  device.n_rooms = 1;
  device.fail_at = 10;  // compute of the second sweep, behind 6 calls of the first
  Stepper stepper(FakeDevice::limits(false), 2, device);
  std::deque<Asked> asked;
  asked.emplace_back(7).add_run({1, 2, 3}, 0);
  std::vector<pc_step_item> items = items_of(asked);
  stepper.step(items);
  CHECK(items[0].status == kNone);
  CHECK(device.n_rooms == 0);
  require_computed(asked[0]);
}

}  // namespace
}  // namespace pc::test
