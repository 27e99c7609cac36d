// The replay of traces: what it makes of a line, hits counted by hand and by an oracle of its own,
// and what holds of every policy.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <random>
#include <set>

#include "bench/traces/replay.h"
#include "modules/module_image.h"
#include "tests/support/temp_folder.h"

namespace pc::bench {
namespace {

const ModuleIdentity kModel = made_up_identity(KvGeometry(2, 1, 8, KvType::kBf16));
const Costs kCosts = Costs::of({100, 50}, {300, 25});  // 0.01 s, and 0.0002 s for each seen
constexpr std::uint64_t kFileBytes = 4096 + 256 * 2 * 1 * 8 * 2 * 2;  // of 256 tokens, two layers

TraceLine line(std::int64_t second, std::vector<std::uint32_t> blocks) {
  const auto n = static_cast<std::uint32_t>(blocks.size()) * kBlockTokens;
  return {second * 1'000'000'000, n, std::move(blocks)};
}

Outcome run(const Trace& trace, std::string_view policy, std::uint64_t n_files) {
  const PolicyKind* kind = find_policy(policy);
  REQUIRE(kind);
  return replay(trace, kCosts, *kind, {.budget_bytes = n_files * kFileBytes});
}

// Conversations that go on and come again, of whole blocks, so that all files are as large.
Trace random_trace(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::uint32_t>> chats(5, {0});
  std::vector<TraceLine> lines;
  std::uint32_t next = 1;
  for (int i = 0; i < 150; ++i) {
    auto& chat = chats[random() % chats.size()];
    if (random() % 6 == 0) chat = {static_cast<std::uint32_t>(random() % 2)};
    if (random() % 3 != 0 && chat.size() < 8) chat.push_back(1000 + next++);
    lines.push_back(line(40 * i, chat));
  }
  return make_trace(lines, kModel);
}

TEST_CASE("a line becomes the links that the product would keep, with the bytes of their files") {
  const Trace trace =
      make_trace({{0, 2 * 512 + 20, {7, 8, 9}}, {5, 2 * 512 + 15, {7, 8, 4}}}, kModel);
  REQUIRE(trace.requests.size() == 2);
  CHECK(trace.requests[0].links == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(trace.requests[1].links == std::vector<std::uint32_t>{0, 1, 2, 3});  // 15 are no link
  CHECK(trace.links[0].bytes == kFileBytes);
  CHECK(trace.links[4].n_tokens == 20);
  CHECK(trace.links[4].position == 1024);
  CHECK(trace.links[4].before == 3);
  CHECK(trace.links[0].before == kNoLink);
  CHECK(trace.n_tokens() == 2 * 1024 + 35);
  ModuleIdentity twenty = kModel;
  twenty.runs = {{std::vector<std::int32_t>(20, 1), 0, true}};
  CHECK(trace.links[4].bytes == ModuleImage::create(twenty).value().file_bytes());
}

TEST_CASE("the same text is the same file behind the same beginning alone") {
  const Trace trace = make_trace({line(0, {1, 5}), line(1, {2, 5}), line(2, {1, 5})}, kModel);
  CHECK(trace.links.size() == 8);
  CHECK(trace.requests[2].links == trace.requests[0].links);
  std::set<Digest> keys;
  for (const TraceLink& link : trace.links) keys.insert(link.key);
  CHECK(keys.size() == 8);
}

TEST_CASE("costs are those of the two lengths that were measured") {
  CHECK(kCosts.seconds(100, 0) == Approx(2));
  CHECK(kCosts.seconds(300, 0) == Approx(12));
  CHECK(kCosts.seconds(100, 0) + kCosts.seconds(200, 100) == Approx(kCosts.seconds(300, 0)));
}

TEST_CASE("hits by hand: two files of room for the least recently used") {
  // a, b, a, c (b goes), b (a goes), c.
  std::vector<TraceLine> lines;
  for (const std::uint32_t block : {1, 2, 1, 3, 2, 3})
    lines.push_back({static_cast<std::int64_t>(lines.size()) * 100'000'000'000, 256, {block}});
  const Trace trace = make_trace(lines, kModel);
  const Outcome o = run(trace, "lru", 2);
  CHECK(o.tokens == 6 * 256);
  CHECK(o.found_tokens == 2 * 256);
  CHECK(o.leading_tokens == 2 * 256);
  CHECK(o.written_bytes == 4 * kFileBytes);
  CHECK(o.removed_files == 2);
  CHECK(o.full_s == Approx(6 * kCosts.seconds(256, 0)));
  CHECK(o.computed_s == Approx(4 * kCosts.seconds(256, 0)));
  // With the future in view a goes for c, and b and c are found.
  CHECK(run(trace, "farthest", 2).found_tokens == 3 * 256);
}

TEST_CASE("a hole is computed, and counts twice where only a beginning is found") {
  // Of two links of one text and two of another three have room: the first text's beginning goes.
  const Trace trace = make_trace(
      {line(0, {1}), {100'000'000'000, 256, {2}}, {200'000'000'000, 256, {3}}, line(300, {1})},
      kModel);
  const Outcome o = run(trace, "lmcache-lru", 3);
  CHECK(o.found_tokens == 256);
  CHECK(o.leading_tokens == 0);
  CHECK(o.holes == 1);
  CHECK(o.full_s - o.computed_s == Approx(kCosts.seconds(256, 256)));
  CHECK(o.computed_behind_s == Approx(o.full_s));
  // A tree loses the end, and the depth that a token is worth more at keeps it.
  const Outcome leaves = run(trace, "sglang-lru", 3);
  CHECK((leaves.leading_tokens == 256 && leaves.holes == 0));
}

TEST_CASE("a use is written down once a grain") {
  std::vector<TraceLine> lines;
  const std::uint32_t blocks[] = {1, 2, 1, 3, 1};
  const std::int64_t at[] = {0, 10, 20, 30, 40};  // seconds: all within the first file's grain
  for (int i = 0; i < 5; ++i) lines.push_back({at[i] * 1'000'000'000, 256, {blocks[i]}});
  const Trace trace = make_trace(lines, kModel);
  CHECK(run(trace, "lru", 2).found_tokens == 256);  // its stamp is of 0, so it goes for the third
  CHECK(run(trace, "lmcache-lru", 2).found_tokens == 2 * 256);
}

TEST_CASE("where all has room, every policy finds all that comes again") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Trace trace = random_trace(seed);
    std::set<std::uint32_t> seen;
    std::uint64_t again = 0;
    for (const TraceRequest& request : trace.requests)
      for (const std::uint32_t link : request.links) again += seen.insert(link).second ? 0 : 256;
    for (const PolicyKind& kind : policy_kinds()) {
      const Outcome o = run(trace, kind.name, trace.links.size());
      INFO(kind.name);
      CHECK(o.found_tokens == again);
      CHECK(o.leading_tokens == again);
      CHECK(o.written_bytes == trace.n_bytes());
      CHECK((o.removed_files == 0 && o.listings == 0 && o.holes == 0 && o.refused_files == 0));
    }
  }
}

// A request has 16 files at most: where all that has room is in use, the future does not help.
TEST_CASE("nobody finds more than who knows the future, and more room is never less for him") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Trace trace = random_trace(seed);
    std::uint64_t before = 0;
    for (const std::uint64_t n_files : {20, 26, 33, 40, 60}) {
      const std::uint64_t most = run(trace, "farthest", n_files).found_tokens;
      CHECK(most >= before);
      before = most;
      for (const PolicyKind& kind : policy_kinds()) {
        INFO(kind.name << " " << n_files << " " << seed);
        const Outcome o = run(trace, kind.name, n_files);
        CHECK(o.found_tokens <= most);
        CHECK(o.leading_tokens <= o.found_tokens);
        CHECK(o.written_bytes - o.removed_files * kFileBytes <= n_files * kFileBytes);
      }
    }
  }
}

TEST_CASE("a tree has no holes while a request has room") {
  for (unsigned seed = 0; seed < 10; ++seed)
    for (const char* name : {"sglang-lru", "sglang-lfu", "sglang-slru"}) {
      const Outcome o = run(random_trace(seed), name, 20);
      CHECK(o.holes == 0);
      CHECK(o.leading_tokens == o.found_tokens);
      CHECK(o.removed_files > 0);
    }
}

// The least recently used by a list; what a request has found or written is in use.
std::uint64_t found_by_list(const Trace& trace, std::size_t n_files) {
  std::list<std::uint32_t> files;  // the last used first
  std::uint64_t found = 0;
  for (const TraceRequest& request : trace.requests) {
    std::set<std::uint32_t> in_use;
    for (const std::uint32_t link : request.links) {
      const auto at = std::ranges::find(files, link);
      if (at == files.end()) continue;
      found += 256;
      files.splice(files.begin(), files, at);
      in_use.insert(link);
    }
    for (const std::uint32_t link : request.links) {
      if (std::ranges::find(files, link) != files.end()) continue;
      for (auto at = files.end(); files.size() >= n_files && at != files.begin();)
        if (--at; !in_use.contains(*at)) at = files.erase(at);
      if (files.size() == n_files) continue;
      files.push_front(link);
      in_use.insert(link);
    }
  }
  return found;
}

TEST_CASE("the least recently used, as a list has it") {
  for (unsigned seed = 0; seed < 10; ++seed)
    for (const std::size_t n_files : {3, 9, 17, 30, 50})
      CHECK(run(random_trace(seed), "lmcache-lru", n_files).found_tokens ==
            found_by_list(random_trace(seed), n_files));
}

TEST_CASE("where there are many files some more go at once") {
  std::vector<TraceLine> lines;
  for (std::uint32_t i = 0; i < 400; ++i) lines.push_back(line(i, {i}));
  const Trace trace = make_trace(lines, kModel);
  const auto listings = [&](std::size_t many) {
    return replay(trace, kCosts, *find_policy("lru"),
                  {.budget_bytes = 640 * kFileBytes, .many_files = many})
        .listings;
  };
  CHECK(listings(1000) == 800 - 640);
  CHECK(listings(640) == 15);  // 160 files in batches of 10 and the one that comes
}

TEST_CASE("what is no line of a trace is named") {
  const test::TempFolder dir;
  const std::string path = dir.path() + "/trace.jsonl";
  const auto reads = [&](const std::string& text) {
    std::ofstream(path) << R"({"timestamp": 1, "input_length": 3, "hash_ids": [5]})"
                        << "\n"
                        << text << "\n";
    return read_trace(path);
  };
  const auto good =
      reads(R"({"timestamp": 0, "input_length": 600, "output_length": 9, "hash_ids": [5, 6]})");
  REQUIRE(good.ok());
  CHECK((good->size() == 2 && good->front().n_tokens == 600 && good->back().time_ns == 1'000'000));
  for (const char* bad : {"{", "[]", R"({"timestamp": 0, "input_length": 600, "hash_ids": [5]})",
                          R"({"timestamp": 0, "input_length": 5})",
                          R"({"timestamp": 0, "input_length": 5, "hash_ids": [-1]})",
                          R"({"timestamp": "x", "input_length": 5, "hash_ids": [1]})"}) {
    const auto read = reads(bad);
    REQUIRE(!read.ok());
    CHECK_THAT(read.error().message, Catch::Contains(path + ":2"));
  }
  CHECK(read_trace(dir.path() + "/none").error().code == Code::kNotFound);
}

TEST_CASE("the published trace, where it is there: what comes again is found") {
  const char* shared = std::getenv("PC_SHARED_DIR");
  const std::string path =
      std::string(shared ? shared : "../shared") + "/assets/traces/mooncake_synthetic.jsonl";
  const auto lines = read_trace(path);
  if (!lines.ok() && lines.error().code == Code::kNotFound) {
    std::printf("skipped: no trace %s (PC_SHARED_DIR)\n", path.c_str());
    return;
  }
  REQUIRE(lines.ok());
  CHECK(lines->size() == 3993);
  std::set<std::uint32_t> seen;
  std::uint64_t again = 0;
  for (const TraceLine& l : *lines)
    for (std::uint32_t i = 0; i < l.blocks.size(); ++i)
      if (!seen.insert(l.blocks[i]).second)
        again += std::min(kBlockTokens, l.n_tokens - i * kBlockTokens);
  const Trace trace = make_trace(*lines, kModel);
  const std::uint64_t found =
      replay(trace, kCosts, *find_policy("worth"), {.budget_bytes = trace.n_bytes()}).found_tokens;
  CHECK(found <= again);
  CHECK(found + 16 * lines->size() > again);  // ends of fewer than 16 tokens are no files
}

}  // namespace
}  // namespace pc::bench
