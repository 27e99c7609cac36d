// What was chosen is found again by whoever it was chosen for, and by nobody else; damage is no
// record.
#include "runtime/schema/answer_verdict.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "runtime/schema/schema_record.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

Digest digest_of(unsigned char first) {
  Digest digest{};
  digest[0] = first;
  return digest;
}

pml::Repair repair(const char* text) {
  return must(pml::parse_repair(text));
}

// The one file of a folder.
fs::path record_in(const std::string& dir) {
  const fs::path folder = fs::path(dir) / "answers";
  REQUIRE(std::distance(fs::directory_iterator(folder), {}) == 1);
  return fs::directory_iterator(folder)->path();
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& text) {
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(path, std::ios::binary) << text;
}

TEST_CASE("a verdict is found under its own key, and the latest one stays") {
  const TempFolder cache;
  CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
  for (const char* text : {"none", "all", "leading:16", "selected:12.5%", "attended:30%"}) {
    REQUIRE(remember_verdict(digest_of(1), repair(text), cache.path()));
    CHECK(recall_verdict(digest_of(1), cache.path()) == repair(text));
    CHECK_FALSE(recall_verdict(digest_of(2), cache.path()));
  }
}

TEST_CASE("who reads while a verdict is replaced finds the old one or the new") {
  const TempFolder cache;
  const pml::Repair one = repair("leading:16"), other = repair("attended:30%");
  REQUIRE(remember_verdict(digest_of(1), one, cache.path()));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i)
      if (!remember_verdict(digest_of(1), i % 2 ? one : other, cache.path())) break;
    done = true;
  });
  std::size_t n_wrong = 0;
  while (!done) {
    const auto found = recall_verdict(digest_of(1), cache.path());
    n_wrong += !found || (*found != one && *found != other);
  }
  writer.join();
  CHECK(n_wrong == 0);
  CHECK(recall_verdict(digest_of(1), cache.path()) == one);
}

TEST_CASE("what is not exactly a record is none") {
  const TempFolder cache;
  REQUIRE(remember_verdict(digest_of(1), repair("leading:16"), cache.path()));
  const fs::path path = record_in(cache.path());
  const std::string whole = read(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write(path, changed);
    INFO("byte " << i << " changed");
    CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
    write(path, whole.substr(0, i));
    INFO("cut there");
    CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
  }
  for (const std::string& more : {std::string("\n"), std::string(4096, ' ')}) {
    write(path, whole + more);
    CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
  }
  write(path, whole);
  CHECK(recall_verdict(digest_of(1), cache.path()));
  const fs::path other = path.parent_path() / to_hex(digest_of(2));
  fs::rename(path, other);  // another's record under this name
  CHECK_FALSE(recall_verdict(digest_of(2), cache.path()));
}

TEST_CASE("a directory that cannot be written keeps nothing, and is no error") {
  const TempFolder cache;
  cache.write("answers", "a file");
  CHECK_FALSE(remember_verdict(digest_of(1), repair("none"), cache.path()));
  CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
  CHECK_FALSE(recall_verdict(digest_of(1), cache.path() + "/missing"));
}

TEST_CASE("keys tell models, states, schemas and their modes apart, and nothing else") {
  ModuleIdentity base;
  base.weights = digest_of(1);
  base.backend = "cpu";
  pml::Layout layout;
  layout.schema = "s";
  std::set<Digest> keys{schema_record_key(base, layout)};
  const auto differs = [&](const ModuleIdentity& b, const pml::Layout& l) {
    return keys.insert(schema_record_key(b, l)).second;
  };
  ModuleIdentity other = base;
  other.weights = digest_of(2);
  CHECK(differs(other, layout));
  other = base;
  other.geometry = base.geometry.of_type(KvType::kQ8);
  CHECK(differs(other, layout));
  other = base;
  other.numerics_version = 9;
  CHECK(differs(other, layout));
  other = base;
  other.name_space = "another";  // whose checks are its own
  CHECK(differs(other, layout));
  pml::Layout changed = layout;
  changed.schema = "t";
  CHECK(differs(base, changed));
  changed = layout;
  changed.attend = pml::Attend::kSelf;
  CHECK(differs(base, changed));
  changed = layout;
  changed.positions = pml::Positions::kSchema;
  CHECK(differs(base, changed));
  changed = layout;
  changed.pieces.emplace_back();  // texts may change
  CHECK_FALSE(differs(base, changed));
}

TEST_CASE("what was chosen by tokens is no verdict any more") {
  const TempFolder cache;
  REQUIRE(remember_record("answers", digest_of(1), "repair selected:15%\n", cache.path()));
  CHECK_FALSE(recall_verdict(digest_of(1), cache.path()));
}

}  // namespace
}  // namespace pc::test
