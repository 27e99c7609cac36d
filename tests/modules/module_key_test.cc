#include "modules/module_key.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <set>

#include "tests/modules/support.h"

namespace pc {
namespace {

TEST_CASE("the same causes have the same key") {
  CHECK(key_of(test::identity()) == key_of(test::identity()));
  CHECK(key_of(test::identity()).hex().size() == 64);
}

TEST_CASE("changing any one field changes the key, each in its own way") {
  std::map<std::string, std::string> seen{{key_of(test::identity()).hex(), "nothing"}};
  for (const auto& [name, change] : test::every_change()) {
    ModuleIdentity changed = test::identity();
    change(changed);
    const auto [it, is_new] = seen.emplace(key_of(changed).hex(), name);
    INFO(name << " collides with " << it->second);
    CHECK(is_new);
    CHECK(std::string(first_difference(causes_of(test::identity()), causes_of(changed))) != "");
    CHECK(causes_of(test::identity()) != causes_of(changed));
    CHECK(check_identity(changed).ok());
  }
}

TEST_CASE("a type's packing has a version that reaches the key") {
  CHECK(causes_of(test::identity(0, KvType::kBf16)).layout_version == 1);
  const ModuleCauses now = causes_of(test::identity(0, KvType::kQ8));
  CHECK(now.layout_version == 3);
  ModuleCauses before = now;
  before.layout_version = 2;  // outliers in keys and values
  CHECK(key_of(before).hex() != key_of(now).hex());
  CHECK(std::string(first_difference(before, now)) == "layout of K and V");
}

TEST_CASE("every byte of every digest reaches the key") {
  std::set<std::string> keys;
  for (const auto field :
       {&ModuleIdentity::weights, &ModuleIdentity::tokenizer, &ModuleIdentity::rope}) {
    for (std::size_t i = 0; i < 32; ++i) {
      ModuleIdentity changed = test::identity();
      (changed.*field)[i] ^= 0x10;
      keys.insert(key_of(changed).hex());
    }
  }
  CHECK(keys.size() == 96);
}

// What plain concatenation would confuse.
TEST_CASE("bytes that move between neighbouring fields change the key") {
  std::set<std::string> keys;
  const auto with = [&](auto change) {
    ModuleIdentity id = test::identity();
    change(id);
    keys.insert(key_of(id).hex());
  };
  const std::string texts[][2] = {
      {"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}, {std::string("ab\0c", 4), ""}};
  for (const auto& pair : texts) {
    with([&](auto& id) { id.adapter = pair[0], id.name_space = pair[1]; });
  }
  with([](auto& id) { id.weights = test::digest(2), id.tokenizer = test::digest(1); });
  with([](auto& id) { id.attend = 2, id.numerics_version = 1; });
  with([](auto& id) { id.attend = 1, id.numerics_version = 2; });
  with([](auto& id) { id.runs = {{{1, 2, 3}, 0, true}}; });
  with([](auto& id) { id.runs = {{{1, 2}, 0, true}, {{3}, 2, true}}; });
  with([](auto& id) { id.runs = {{{1}, 0, true}, {{2, 3}, 1, true}}; });
  with([](auto& id) { id.runs = {{{1}, 0, true}, {{2, 3}, 1, false}}; });
  CHECK(keys.size() == 12);
}

TEST_CASE("an identity that cannot be meant is refused, and the sentence names why") {
  const auto refusal = [](auto change) {
    ModuleIdentity id = test::identity();
    change(id);
    const Status status = check_identity(id);
    REQUIRE(!status.ok());
    CHECK(status.error().code == Code::kInvalidArgument);
    return status.error().message;
  };
  using Catch::Contains;
  CHECK(check_identity(test::identity()).ok());
  CHECK_THAT(refusal([](auto& id) { id.weights = {}; }), Contains("weights"));
  CHECK_THAT(refusal([](auto& id) { id.tokenizer = {}; }), Contains("tokenizer"));
  CHECK_THAT(refusal([](auto& id) { id.rope = {}; }), Contains("rotary"));
  for (const std::string& name : {std::string(), std::string("CPU"), std::string("a b"),
                                  std::string("cpu\0", 4), std::string(32, 'a')})
    CHECK_THAT(refusal([&](auto& id) { id.backend = name; }), Contains("name of a backend"));
  CHECK_THAT(refusal([](auto& id) { id.numerics_version = 0; }), Contains("arithmetic"));
  CHECK_THAT(refusal([](auto& id) { id.geometry = {}; }), Contains("n_layers"));
  CHECK_THAT(refusal([](auto& id) { id.geometry = KvGeometry(2, 1, 7); }), Contains("odd"));
  CHECK_THAT(refusal([](auto& id) {
               id.geometry = {{{1, 16}, {1, 10}}, KvType::kQ8};
             }),
             Contains("multiple of 4"));
  CHECK_THAT(refusal([](auto& id) { id.geometry = id.geometry.of_type(KvType{9}); }),
             Contains("type"));
  CHECK_THAT(refusal([](auto& id) { id.runs.clear(); }), Contains("no run is kept"));
  CHECK_THAT(refusal([](auto& id) { id.runs[1].tokens.clear(); }), Contains("no tokens"));
  CHECK_THAT(refusal([](auto& id) { id.runs[3].position = 4; }), Contains("overlaps"));
  CHECK_THAT(refusal([](auto& id) { id.runs[1].position = 1; }), Contains("first kept run"));
  CHECK_THAT(refusal([](auto& id) {
               id.runs[3].position = std::numeric_limits<std::int32_t>::max() - 16;
             }),
             Contains("last position"));
  CHECK_THAT(refusal([](auto& id) { id.runs[1].tokens.assign(kMaxModuleTokens + 1, 1); }),
             Contains("run 1 has more than"));
  CHECK_THAT(refusal([](auto& id) {
               id.runs = {{std::vector<std::int32_t>(kMaxModuleTokens, 1), 0, true},
                          {{1}, static_cast<std::int32_t>(kMaxModuleTokens), true}};
             }),
             Contains("kept tokens"));
}

TEST_CASE("a backend's name has small letters, digits, dots, underscores and dashes") {
  CHECK(is_backend_name("cpu-2.x_y"));
  for (const char outside : {'`', '{', '/', ':', '@', ' ', '\xE4'})
    CHECK_FALSE(is_backend_name(std::string("cpu") + outside));
}

}  // namespace
}  // namespace pc
