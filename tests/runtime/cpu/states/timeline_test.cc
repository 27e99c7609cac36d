// Timelines against lists: appended, forked and rewound at random, each holds what a list of
// its tokens holds, row by row, and nothing else.

#include "runtime/cpu/states/timeline.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <span>

#include "runtime/cpu/states/kv_row.h"
#include "tests/support/alloc_faults.h"
#include "tests/support/random.h"

namespace pc::test {
namespace {

// Two layers of two shapes.
const KvGeometry kGeometry({{2, 4}, {1, 6}}, KvType::kF32);

// What a token's key is to be: nothing like another's.
float mark(std::int32_t token, std::uint32_t layer, std::uint32_t head, bool value) {
  return static_cast<float>(token * 8 + static_cast<std::int32_t>(layer * 4 + head * 2 + value));
}

struct Row {
  std::int32_t token, position, key_position;
  friend bool operator==(const Row&, const Row&) = default;
};

void write(const std::vector<KvSlot>& slots, std::span<const Row> rows) {
  REQUIRE(slots.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t layer = 0; layer < kGeometry.n_layers(); ++layer) {
      for (std::uint32_t head = 0; head < kGeometry.n_kv_heads(layer); ++head) {
        const KvPlanes& p = slots[i].planes;
        const KvHead shape = kGeometry.head(layer);
        const std::vector<float> key(shape.dims, mark(rows[i].token, layer, head, false)),
            value(shape.dims, mark(rows[i].token, layer, head, true));
        write_kv_row(shape, slots[i].token, key.data(), value.data(), p.keys(layer, head),
                     p.values(layer, head));
      }
    }
  }
}

// The rows of a segment, for which every plane must agree; those behind its end are zeros,
// unless they lie in planes that a run brought, or the timeline was rewound and has not gone on.
void read(const KvSegment& s, bool may_hold_more, std::vector<Row>* rows) {
  const std::uint32_t end = may_hold_more ? s.n_tokens : kv_blocks(s.n_tokens) * kKvBlockTokens;
  for (std::uint32_t row = 0; row < end; ++row) {
    const auto at = [&](std::uint32_t layer, std::uint32_t head, bool value, std::size_t d) {
      const KvHead shape = kGeometry.head(layer);
      const std::byte* block = (value ? s.values(layer, head) : s.keys(layer, head)) +
                               row / kKvBlockTokens * shape.block_bytes();
      const std::uint32_t t = row % kKvBlockTokens;
      float x = 0;
      const std::size_t index = value ? t * shape.dims + d : d * kKvBlockTokens + t;
      std::memcpy(&x, block + index * sizeof x, sizeof x);
      return x;
    };
    const bool there = row < s.n_tokens;
    const auto token = static_cast<std::int32_t>(at(0, 0, false, 0) / 8);
    bool right = true;
    for (std::uint32_t layer = 0; layer < 2; ++layer)
      for (std::uint32_t head = 0; head < kGeometry.n_kv_heads(layer); ++head)
        for (const bool value : {false, true})
          for (std::size_t d = 0; d < kGeometry.head(layer).dims; ++d)
            right &= at(layer, head, value, d) == (there ? mark(token, layer, head, value) : 0.0f);
    REQUIRE(right);
    const auto i = static_cast<std::int32_t>(row);
    const std::int32_t step = there && s.positions ? s.positions[row] - s.position : i;
    if (there) rows->push_back({token, s.position + step, s.key_position + step});
  }
}

// A timeline and what it should hold.
struct Pair {
  Timeline timeline{kGeometry};
  std::vector<Row> rows;
  std::uint32_t n_attached = 0;
  bool rewound = false;  // and not gone on

  template <class IsForeign>
  void check(const IsForeign& is_foreign) const {
    REQUIRE(timeline.n_tokens() == rows.size());
    REQUIRE(timeline.n_attached() == n_attached);
    std::vector<KvSegment> segments;
    timeline.add_segments(&segments);
    REQUIRE(segments.size() >= n_attached);
    std::vector<Row> held;
    for (std::size_t i = n_attached; i < segments.size(); ++i) {
      REQUIRE(segments[i].n_tokens != 0);
      read(segments[i], is_foreign(segments[i].data) || (rewound && i + 1 == segments.size()),
           &held);
    }
    REQUIRE(held == rows);
    check_copy(std::span(segments).subspan(n_attached));
  }

  // What is read out of it, from a part's start over all parts that go on behind it, is what it
  // holds; from anywhere else nothing is read.
  void check_copy(std::span<const KvSegment> parts) const {
    if (parts.empty()) return;
    const std::size_t pick = rows.size() % parts.size();
    std::uint32_t first = 0, n = 0;
    for (std::size_t i = 0; i < pick; ++i) first += parts[i].n_tokens;
    for (std::size_t i = pick; i < parts.size(); ++i) {
      const auto at = parts[pick].position + static_cast<std::int32_t>(n);
      if (n % kKvBlockTokens != 0 || parts[i].position != at || parts[i].positions) break;
      n += parts[i].n_tokens;
    }
    const auto n_all = static_cast<std::uint32_t>(rows.size());
    std::vector<std::byte> memory(kGeometry.state_bytes(kv_blocks(n_all + 1)));
    const KvPlanes planes = dense_planes(memory.data(), kGeometry, kv_blocks(n_all + 1));
    if (parts[pick].positions) {
      CHECK_FALSE(timeline.read(first, 1, planes));
      return;
    }
    REQUIRE(timeline.read(first, n, planes));
    const KvSegment copy{
        {planes.data, &kGeometry, planes.plane_blocks, 0}, 0, n, parts[pick].position, 0};
    std::vector<Row> read_rows;
    read(copy, true, &read_rows);
    for (std::uint32_t i = 0; i < n; ++i) REQUIRE(read_rows[i].token == rows[first + i].token);
    CHECK_FALSE(timeline.read(first, n_all - first + 1, planes));
    if (parts[pick].n_tokens > 1) CHECK_FALSE(timeline.read(first + 1, 1, planes));
    if (first + n < n_all) CHECK_FALSE(timeline.read(first, n + 1, planes));
  }
};

// Appends a run, in pieces or at once, where it belongs or in planes of its own.
class Appender {
 public:
  explicit Appender(Random& random) : random_(random) {}

  void append(Pair& pair) {
    const std::uint32_t n = random_.between(1, random_.chance(0.2) ? 700 : 40);
    std::int32_t position = pair.rows.empty() ? 0 : pair.rows.back().position + 1;
    std::int32_t key_position = pair.rows.empty() ? 0 : pair.rows.back().key_position + 1;
    if (random_.chance(0.3)) position += 5;
    if (random_.chance(0.2)) key_position = 0;
    const std::vector<std::int32_t> ids(n);
    pc_run run{ids.data(), n,       position, key_position, random_.chance(0.7),
               nullptr,    nullptr, 0,        nullptr};
    pc_kv_planes planes{};
    if (random_.chance(0.2)) {
      memory_.emplace_back(kGeometry.state_bytes(kv_blocks(n)));
      const KvPlanes p = dense_planes(memory_.back().data(), kGeometry, kv_blocks(n));
      planes = {p.data, p.plane_blocks, p.first_block};
      run.planes = &planes;
    }
    std::vector<std::int32_t> positions;
    if (!run.planes && random_.chance(0.2)) {
      for (std::uint32_t i = 0, at = 0; i < n; ++i, at += random_.between(1, 3))
        positions.push_back(position + static_cast<std::int32_t>(at));
      run.positions = positions.data();
    }
    for (std::uint32_t done = 0; done < n;) {
      const std::uint32_t piece = random_.chance(0.5) ? n - done : random_.between(1, n - done);
      std::vector<Row> rows;
      for (std::uint32_t i = 0; i < piece; ++i) {
        const auto step = positions.empty() ? static_cast<std::int32_t>(done + i)
                                            : positions[done + i] - position;
        rows.push_back({++last_token_, position + step, key_position + step});
      }
      std::vector<KvSlot> slots;
      pair.timeline.append(run, done, piece, &slots);
      write(slots, rows);
      pair.rows.insert(pair.rows.end(), rows.begin(), rows.end());
      done += piece;
    }
  }

  // Are these planes that a run brought?
  bool brought(const std::byte* data) const {
    return std::ranges::any_of(memory_, [&](const auto& m) { return m.data() == data; });
  }

 private:
  Random& random_;
  std::int32_t last_token_ = 0;  // of all timelines: each token once
  std::deque<std::vector<std::byte>> memory_;
};

TEST_CASE("timelines hold what lists hold, whatever is forked and rewound") {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    INFO("round " << round);
    Appender appender(random);
    std::deque<Pair> pairs(1);
    for (int i = 0; i < 60; ++i) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(pairs.size()));
      Pair& pair = pairs[at];
      const double what = random.uniform();
      if (what < 0.45) {
        appender.append(pair);
        pair.rewound = false;
      } else if (what < 0.65) {
        pairs.push_back(Pair(pair));
      } else if (what < 0.85) {
        const auto n = random.below(static_cast<std::uint32_t>(pair.rows.size()) + 10);
        const bool all_attached = random.chance(0.5);
        pair.n_attached = all_attached ? pair.n_attached : pair.n_attached / 2;
        pair.timeline.rewind(n, all_attached ? UINT32_MAX : pair.n_attached);
        pair.rewound |= n < pair.rows.size();
        if (n < pair.rows.size()) pair.rows.resize(n);
      } else if (what < 0.95 || pairs.size() == 1) {
        pair.timeline.attach({});
        ++pair.n_attached;
      } else {
        pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(at));
      }
      for (const Pair& p : pairs)
        p.check([&](const std::byte* data) { return appender.brought(data); });
    }
  }
}

// Does append() find memory, where the n-th allocation fails?
bool appends(Timeline& timeline, const pc_run& run, long n, std::vector<KvSlot>* slots) {
  bool whole = true;
  fail_allocation(n, AllocFault::kOnce);
  try {
    timeline.append(run, 0, run.n_tokens, slots);
  } catch (const std::bad_alloc&) {
    whole = false;
  }
  stop_failing();
  return whole;
}

TEST_CASE("an append that finds no memory leaves nothing behind, once it is rewound") {
  Random random(2);
  for (int round = 0; round < 30; ++round) {
    INFO("round " << round);
    Appender appender(random);
    const auto brought = [&](const std::byte* data) { return appender.brought(data); };
    Pair pair;
    for (std::uint32_t i = random.below(4); i-- > 0;) appender.append(pair);
    const Pair fork = random.chance(0.5) ? pair : Pair();
    if (random.chance(0.5) && !pair.rows.empty()) {
      pair.rows.resize(random.below(static_cast<std::uint32_t>(pair.rows.size())));
      pair.timeline.rewind(static_cast<std::uint32_t>(pair.rows.size()), 0);
      pair.rewound = true;
    }
    const auto n_tokens = random.between(1, 600);
    const std::vector<std::int32_t> ids(n_tokens);
    std::vector<std::int32_t> positions;
    std::vector<Row> rows;
    const std::int32_t first = pair.rows.empty() ? 0 : pair.rows.back().position + 1;
    const std::int32_t key = pair.rows.empty() ? 0 : pair.rows.back().key_position + 1;
    const bool has_gaps = random.chance(0.3);
    for (std::uint32_t i = 0; i < n_tokens; ++i) {
      const auto step = static_cast<std::int32_t>(has_gaps ? 2 * i : i);
      positions.push_back(first + step);
      rows.push_back({static_cast<std::int32_t>(1000000 + i), first + step, key + step});
    }
    const pc_run run{ids.data(),
                     n_tokens,
                     first,
                     key,
                     random.chance(0.7),
                     nullptr,
                     has_gaps ? positions.data() : nullptr,
                     0,
                     nullptr};
    std::vector<KvSlot> slots;
    for (long n = 0; !appends(pair.timeline, run, n, &slots); ++n) {
      slots = {};
      pair.timeline.rewind(static_cast<std::uint32_t>(pair.rows.size()), UINT32_MAX);
      pair.check(brought);
    }
    write(slots, rows);
    pair.rows.insert(pair.rows.end(), rows.begin(), rows.end());
    pair.rewound = false;
    pair.check(brought);
    fork.check(brought);
  }
}

TEST_CASE("no page is kept for a part that finds no memory") {
  Timeline timeline(kGeometry);
  std::vector<KvSlot> slots;
  slots.reserve(1024);
  const std::vector<std::int32_t> ids(256);
  const pc_run page{ids.data(), 256, 0, 0, 0, nullptr, nullptr, 0, nullptr};
  timeline.append(page, 0, 256, &slots);
  const long n_live = n_live_allocations();
  for (long n = 0; !appends(timeline, page, n, &slots); ++n) {
    INFO("allocation " << n);
    REQUIRE(n < 10);
    CHECK(n_live_allocations() == n_live);
  }
}

TEST_CASE("a timeline grows by pages, and its parts by what they say") {
  Timeline timeline(kGeometry);
  std::vector<KvSegment> segments;
  timeline.add_segments(&segments);
  CHECK(segments.empty());
  std::vector<KvSlot> slots;
  const std::vector<std::int32_t> ids(600);
  timeline.append({ids.data(), 600, 10, 10, 1, nullptr, nullptr, 0, nullptr}, 0, 600, &slots);
  timeline.add_segments(&segments);
  REQUIRE(segments.size() == 3);  // 256, 256, 88
  CHECK(segments[1].position == 266);
  CHECK(segments[2].n_tokens == 88);
  // A run that does not extend starts on a block of its own, in the same page.
  timeline.append({ids.data(), 3, 610, 610, 0, nullptr, nullptr, 0, nullptr}, 0, 3, &slots);
  segments.clear();
  timeline.add_segments(&segments);
  REQUIRE(segments.size() == 4);
  CHECK(segments[3].data == segments[2].data);
  CHECK(segments[3].first_block == segments[2].first_block + 6);
  timeline.rewind(0, 0);
  segments.clear();
  timeline.add_segments(&segments);
  CHECK(segments.empty());
}

}  // namespace
}  // namespace pc::test
