// Who sees which segment: every row visits every segment of its timeline once, and rows that
// see the same bytes are visited together.

#include "runtime/cpu/attention/segment_uses.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <set>

#include "tests/support/random.h"

namespace pc::test {
namespace {

constexpr std::uint32_t kTile = 8;

KvSegment segment_at(const std::byte* data, std::uint32_t n_tokens, std::int32_t position,
                     std::uint32_t first_block = 0) {
  KvSegment s;
  s.data = data;
  s.first_block = first_block;
  s.n_tokens = n_tokens;
  s.position = position;
  return s;
}

TEST_CASE("every row visits every segment of its timeline once, and blocks are counted") {
  Random random(3);
  const std::vector<std::byte> bytes(64);
  SegmentUses uses;  // one for all plans, as an executor has it
  for (int round = 0; round < 500; ++round) {
    std::deque<std::vector<KvSegment>> segments;
    std::vector<TimelineRows> timelines;
    const std::uint32_t n_timelines = random.between(1, 9);
    std::uint32_t row = 0;
    for (std::uint32_t t = 0; t < n_timelines; ++t) {
      segments.emplace_back();
      for (std::uint32_t i = random.below(6); i-- > 0;)
        segments.back().push_back(segment_at(&bytes[random.below(4)], random.between(1, 60),
                                             static_cast<std::int32_t>(random.below(100)),
                                             random.below(3)));
      const std::uint32_t n = random.chance(0.3) ? random.between(1, 30) : 1;
      timelines.push_back({row, n, segments.back()});
      row += n;
    }
    uses.plan(timelines, kTile);
    std::map<std::pair<std::uint32_t, const KvSegment*>, int> seen;
    REQUIRE(uses.n_tiles() == (row + kTile - 1) / kTile);
    for (std::uint32_t tile = 0; tile < uses.n_tiles(); ++tile) {
      std::uint64_t blocks = 0;
      for (const SegmentUses::Visit& visit : uses.visits(tile)) {
        REQUIRE(visit.first_row >= tile * kTile);
        REQUIRE(visit.end_row <= std::min(row, (tile + 1) * kTile));
        REQUIRE(visit.first_block == blocks);
        std::uint64_t longest = 0;
        std::uint32_t next = visit.first_row;  // rows of a visit have no gap
        for (std::uint32_t u = visit.first_use; u < visit.end_use; ++u) {
          const SegmentUses::Use use = uses.use_in(visit, u);
          REQUIRE(use.first_row == next);
          REQUIRE(use.segment->data == uses.use(visit.first_use).segment->data);
          REQUIRE(use.segment->first_block == uses.use(visit.first_use).segment->first_block);
          longest = std::max<std::uint64_t>(longest, kv_blocks(use.segment->n_tokens));
          for (std::uint32_t r = use.first_row; r < use.end_row; ++r) ++seen[{r, use.segment}];
          next = use.end_row;
        }
        REQUIRE(next == visit.end_row);
        blocks += longest;
      }
      REQUIRE(uses.n_blocks(tile) == blocks);
    }
    std::size_t n_pairs = 0;
    for (const TimelineRows& t : timelines)
      for (const KvSegment& s : t.segments)
        for (std::uint32_t r = t.first; r < t.first + t.n; ++r) {
          ++n_pairs;
          REQUIRE(seen[{r, &s}] == 1);
        }
    REQUIRE(seen.size() == n_pairs);
  }
}

TEST_CASE("rows that share a module visit its runs together, wherever each has placed it") {
  const std::vector<std::byte> bytes(64);
  std::deque<std::vector<KvSegment>> segments;
  std::vector<TimelineRows> timelines;
  for (std::uint32_t t = 0; t < 5; ++t) {
    segments.push_back({segment_at(&bytes[20 + t], 10, 0),
                        segment_at(&bytes[0], 100, static_cast<std::int32_t>(10 * t)),
                        segment_at(&bytes[0], 100, 200 - static_cast<std::int32_t>(t), 7)});
    if (t % 2 == 1) std::swap(segments.back()[1], segments.back()[2]);
    timelines.push_back({t, 1, segments.back()});
  }
  SegmentUses uses;
  uses.plan(timelines, kTile);
  REQUIRE(uses.n_tiles() == 1);
  std::multiset<std::uint32_t> n_rows;
  for (const SegmentUses::Visit& visit : uses.visits(0))
    n_rows.insert(visit.end_row - visit.first_row);
  CHECK(n_rows == std::multiset<std::uint32_t>{1, 1, 1, 1, 1, 5, 5});
  CHECK(uses.n_blocks(0) == 5 * 1 + 2 * 7);
}

TEST_CASE("one timeline's visits come in its order, a module that it has twice included") {
  const std::vector<std::byte> bytes(8);
  const std::vector<KvSegment> segments = {segment_at(&bytes[5], 3, 0), segment_at(&bytes[2], 3, 3),
                                           segment_at(&bytes[2], 3, 6), segment_at(&bytes[0], 3, 9),
                                           segment_at(&bytes[2], 3, 12)};
  const TimelineRows rows{0, 2, segments};
  SegmentUses uses;
  uses.plan({&rows, 1}, kTile);
  REQUIRE(uses.visits(0).size() == segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i)
    CHECK(uses.use(uses.visits(0)[i].first_use).segment == &segments[i]);
}

}  // namespace
}  // namespace pc::test
