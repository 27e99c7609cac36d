// What prompts import together is counted, by all processes, and proposed where it is frequent.
#include "runtime/schema/import_sets.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/reports/schema_remarks.h"
#include "runtime/schema/schema_record.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

Digest key_of(unsigned char first) {
  Digest digest{};
  digest[0] = first;
  return digest;
}

const ImportSet kAB{"a", "b"}, kABC{"a", "b", "b/c"}, kBD{"b", "d"};

TEST_CASE("counts of several processes add up") {
  const TempFolder cache;
  for (int process = 0; process < 3; ++process) {
    ImportSets sets(key_of(1), cache.path());
    sets.add(kAB);
    sets.add(kAB);
    sets.add(kABC);
    CHECK(sets.counts().n_prompts == 3u * static_cast<unsigned>(process + 1));  // at once
  }
  const ImportCounts counts = recall_imports(key_of(1), cache.path());
  CHECK(counts.n_prompts == 9);
  CHECK(counts.sets == std::map<ImportSet, std::uint64_t>{{kAB, 6}, {kABC, 3}});
  CHECK(recall_imports(key_of(2), cache.path()).n_prompts == 0);
}

TEST_CASE("threads lose no count") {
  ImportSets sets(key_of(1), "");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) sets.add(i % 2 ? kAB : kBD);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sets.counts().sets == std::map<ImportSet, std::uint64_t>{{kAB, 1000}, {kBD, 1000}});
}

TEST_CASE("a record holds the most frequent sets, and what is not one counts nothing") {
  const TempFolder cache;
  {
    ImportSets sets(key_of(1), cache.path());
    for (unsigned i = 0; i < 200; ++i)
      for (unsigned n = 0; n <= i / 50; ++n) sets.add({"m", "n" + std::to_string(i)});
    sets.add({"m", std::string(2000, 'x')});
  }
  const ImportCounts counts = recall_imports(key_of(1), cache.path());
  CHECK(counts.n_prompts == 50 + 100 + 150 + 200 + 1);
  CHECK(counts.sets.size() == 48);
  for (const auto& [set, n] : counts.sets) CHECK(n == 4);
  for (const char* body : {"prompts 1\n", "1\n", "1 prompts\nx a b\n", "1 prompts\n2  a\n",
                           "1 prompts\n2 a \n", "99999999999999999999 prompts\n", "\n"}) {
    REQUIRE(remember_record("imports", key_of(3), body, cache.path()));
    INFO(body);
    CHECK(recall_imports(key_of(3), cache.path()).sets.empty());
  }
}

TEST_CASE("without a record, many different sets take no more memory, and frequent ones stay") {
  ImportSets sets(key_of(1), "");
  for (unsigned i = 0; i < 5000; ++i) {
    sets.add({"m", "n" + std::to_string(i)});
    if (i % 10 == 0) sets.add(kAB);
  }
  const ImportCounts counts = sets.counts();
  CHECK(counts.sets.size() <= 512);
  CHECK(counts.n_prompts == 5500);
  CHECK(counts.sets.at(kAB) == 500);
}

TEST_CASE("frequent is what many prompts import, the most frequent first") {
  ImportCounts counts;
  const auto frequent = [&] { return frequent_sets(counts); };
  counts.n_prompts = 3;
  counts.sets = {{kAB, 3}};
  CHECK(frequent().empty());
  counts.n_prompts = counts.sets[kAB] = 4;
  CHECK(frequent().size() == 1);
  counts.n_prompts = 41;
  CHECK(frequent().empty());
  counts = {40, {{kAB, 9}, {kABC, 12}, {kBD, 9}, {{"x", "y"}, 10}}};
  const auto sets = frequent();
  REQUIRE(sets.size() == 3);
  CHECK(sets[0] == std::pair(kABC, std::uint64_t{12}));
  CHECK(sets[2] == std::pair(kAB, std::uint64_t{9}));
}

TEST_CASE("a schema's remarks propose a scaffold for what prompts import together") {
  const TinyCheckpoint checkpoint(29);
  const TempFolder cache;
  EngineOptions options;
  options.model_path = checkpoint.path();
  options.cache_dir = cache.path();
  options.n_threads = 2;
  const auto engine = must(Engine::open(options));
  const auto schema_with = [&](const std::string& scaffold) {
    return must(LoadedSchema::parse(
        engine,
        "<schema name='s'>Start. <module name='a'>One two.</module><module name='b'>Three four."
        "<module name='c'>Five.</module></module><module name='d' cache='false'>Six.</module>" +
            scaffold + "</schema>",
        ""));
  };
  const auto ask = [](const std::shared_ptr<LoadedSchema>& schema, const std::string& imports) {
    const auto prompt =
        must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + imports + "And?</prompt>"));
    must(must(Session::open(prompt, {}))->prefill());
  };
  const auto proposes = [](const std::shared_ptr<LoadedSchema>& schema,
                           const std::string& modules) {
    for (const std::string& remark : schema_remarks(*schema))
      if (remark.find("modules=\"" + modules + "\"") != std::string::npos) return true;
    return false;
  };
  {
    const auto schema = schema_with("");
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(proposes(schema, "a b b/c"));
      ask(schema, i % 2 ? "<a/><b><c/></b>" : "<b><c/></b><d/><a/>");
    }
    CHECK(proposes(schema, "a b b/c"));
    for (int i = 0; i < 4; ++i) {
      ask(schema, "<b><c/></b>");  // c sees b
      ask(schema, "<a/><d/>");     // d is computed in place
    }
    CHECK_FALSE(proposes(schema, "b b/c"));
    CHECK_FALSE(proposes(schema, "a"));
    CHECK(schema->import_sets().counts().n_prompts == 4);
  }
  CHECK(proposes(schema_with(""), "a b b/c"));  // after a restart
  const auto joint = schema_with("<scaffold name='j' modules='a b b/c'/>");
  CHECK_FALSE(proposes(joint, "a b b/c"));
  ask(joint, "<a/><b><c/></b>");
  CHECK(joint->import_sets().counts().n_prompts == 4);
}

}  // namespace
}  // namespace pc::test
