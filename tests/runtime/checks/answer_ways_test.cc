// Which way a check of answers chooses, from figures that are given.
#include "runtime/checks/answer_ways.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/expect.h"

namespace pc::test {
namespace {

AnswerWay way(const std::string& repair, double kept, std::uint64_t ttft_us,
              bool in_slots = false) {
  AnswerWay made{.way = {must(pml::parse_repair(repair)), in_slots}};
  made.kept = kept;
  made.ttft_us = ttft_us;
  made.same_tokens = 0.9;
  made.passes = passes(made);
  return made;
}

std::string best(const std::vector<AnswerWay>& ways, std::optional<bool> in_slots) {
  const AnswerWay* const found = best_way(ways, in_slots);
  if (!found) return "";
  return (found->way.in_slots ? "slots " : "") + pml::to_string(found->way.repair);
}

TEST_CASE("the fastest that keeps the answers is best, whatever share of tokens others keep") {
  std::vector<AnswerWay> ways = {way("none", 0.9, 100), way("selected:15%", 0.82, 300),
                                 way("attended:15%", 0.95, 400), way("all", 0.97, 1000)};
  ways[1].same_tokens = 0.99;  // and loses answers
  ways[0].same_tokens = 0.80;
  CHECK(best(ways, false) == "none");
  ways[0] = way("none", 0.7, 100);
  CHECK(best(ways, false) == "attended:15%");
  ways[2] = way("attended:15%", 0.7, 400);
  CHECK(best(ways, false) == "all");
}

TEST_CASE("where all is computed anew, rounding alone changes answers, and it passes") {
  CHECK(passes(way("all", 0.5, 1000)));
  CHECK_FALSE(passes(way("leading:64", 0.84, 1000)));
  CHECK(passes(way("leading:64", kLeastKept, 1000)));
}

TEST_CASE("of ways that take the same time, the one that keeps more is best") {
  std::vector<AnswerWay> ways = {way("leading:16", 0.9, 100), way("selected:15%", 0.95, 104),
                                 way("attended:15%", 1, 106), way("all", 1, 1000)};
  CHECK(best(ways, false) == "selected:15%");
  ways[0].kept = 0.95;
  ways[0].same_tokens = 0.99;
  CHECK(best(ways, false) == "leading:16");
}

TEST_CASE("ways in slots stand beside the schema's own") {
  const std::vector<AnswerWay> ways = {way("none", 0.2, 100), way("attended:30%", 0.9, 700),
                                       way("all", 1, 1000), way("none", 0.7, 100, true),
                                       way("attended:15%", 0.9, 400, true)};
  CHECK(best(ways, false) == "attended:30%");
  CHECK(best(ways, true) == "slots attended:15%");
  CHECK(best(ways, std::nullopt) == "slots attended:15%");
  CHECK(best({ways[0], ways[2], ways[3]}, true).empty());
}

}  // namespace
}  // namespace pc::test
