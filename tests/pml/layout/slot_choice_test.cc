// Slots are where a module's states are, as far as that tells modules apart.

#include "pml/layout/slot_choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pml/layout/layout_builder.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/random.h"

namespace pc::pml {
namespace {

using namespace pc::test;

struct Fixture {
  FakeTokenizer tokenizer;
  TextEncoder encoder = tokenizer.encoder(bracket_chat(), true);
  using States = std::set<std::pair<std::string, std::uint32_t>>;  // module, slot
  std::size_t n_asked = 0;

  Layout layout_of(std::size_t n_stand_ins, const std::string& modules) const {
    std::string text = "<schema name='s' attend='slots'>";
    for (std::size_t i = 0; i < n_stand_ins; ++i)
      text += "<stand-in>s" + std::to_string(i) + "</stand-in>";
    for (const char module : modules)
      text += std::string("<module name='") + module + "'>" + module + "1</module>";
    return must(lay_out(must(parse_schema(text + "</schema>")), encoder));
  }

  // The slot of each module of a prompt that imports these, where such states are there.
  std::map<std::string, std::uint32_t> slots(const Layout& layout, const std::string& imports,
                                             const States& there) {
    std::string prompt = "<prompt schema='s'>";
    for (const char module : imports) prompt += std::string("<") + module + "/>";
    const auto is_stored = [&](const JobSpec& job) {
      ++n_asked;
      return there.contains({layout.modules[job.subject].name, job.n_stand_ins});
    };
    StoredStates stored;
    stored.in_slot = is_stored;
    const Plan plan =
        must(resolve(must(parse_prompt(prompt + "?</prompt>")), layout, encoder, stored));
    std::map<std::string, std::uint32_t> slots;
    for (const JobSpec& job : plan.jobs)
      if (job.subject != kRoot) slots[layout.modules[job.subject].name] = job.n_stand_ins;
    return slots;
  }
};

using Slots = std::map<std::string, std::uint32_t>;

TEST_CASE_METHOD(Fixture, "modules keep the slots in which they are, in any order and company") {
  const Layout layout = layout_of(3, "abcd");
  CHECK(slots(layout, "abc", {}) == Slots{{"a", 0}, {"b", 1}, {"c", 2}});
  const States kept = {{"a", 0}, {"b", 1}, {"c", 2}};
  CHECK(slots(layout, "cab", kept) == Slots{{"a", 0}, {"b", 1}, {"c", 2}});
  CHECK(slots(layout, "cb", kept) == Slots{{"b", 1}, {"c", 2}});
  // One that is not there takes what is left.
  CHECK(slots(layout, "dab", kept) == Slots{{"a", 0}, {"b", 1}, {"d", 2}});
  CHECK(slots(layout, "bdc", kept) == Slots{{"b", 1}, {"c", 2}, {"d", 0}});
}

TEST_CASE_METHOD(Fixture, "two modules that are in one slot alone are told apart all the same") {
  const Layout layout = layout_of(3, "abc");
  CHECK(slots(layout, "ab", {{"a", 0}, {"b", 0}}) == Slots{{"a", 0}, {"b", 1}});
  CHECK(slots(layout, "ba", {{"a", 0}, {"b", 0}}) == Slots{{"a", 1}, {"b", 0}});
}

TEST_CASE_METHOD(Fixture, "where all are in their places' slots nothing else is asked for") {
  const Layout layout = layout_of(3, "abc");
  slots(layout, "abc", {{"a", 0}, {"b", 1}, {"c", 2}});
  CHECK(n_asked == 3);
}

TEST_CASE_METHOD(Fixture, "a schema's own modules are no stand-ins that are chosen between") {
  const Layout layout = layout_of(0, "abc");
  CHECK(slots(layout, "cba", {{"c", 2}}) == Slots{{"a", 2}, {"b", 1}, {"c", 0}});
  CHECK(n_asked == 0);
}

TEST_CASE_METHOD(Fixture, "slots are told apart, and what is there is found, whatever is there") {
  Random random(GENERATE(range(1, 60)));
  const std::string modules = "abcdefgh";
  const std::uint32_t last = random.between(1, 6);
  const Layout layout = layout_of(last, modules);
  States there;
  for (const char module : modules)
    for (std::uint32_t slot = 0; slot <= last; ++slot)
      if (random.chance(0.25)) there.insert({std::string(1, module), slot});
  std::string imports = modules.substr(0, random.between(1, 8));
  for (std::size_t i = imports.size() - 1; i > 0; --i)
    std::swap(imports[i], imports[random.below(static_cast<std::uint32_t>(i + 1))]);
  const Slots chosen = slots(layout, imports, there);
  REQUIRE(chosen.size() == imports.size());
  std::map<std::uint32_t, std::size_t> users;
  for (const auto& [module, slot] : chosen) ++users[slot];
  const std::size_t most = (imports.size() + last) / (last + 1);
  for (const auto& [slot, n] : users) CHECK(n <= most);
  for (std::size_t i = 0; i < imports.size(); ++i) {
    const std::string module(1, imports[i]);
    const auto place = static_cast<std::uint32_t>(i % (last + 1));
    if (there.contains({module, place})) CHECK(chosen.at(module) == place);
    // Of what is computed anew no states are in a slot that has room.
    if (there.contains({module, chosen.at(module)})) continue;
    for (std::uint32_t slot = 0; slot <= last; ++slot)
      CHECK((users[slot] == most || !there.contains({module, slot})));
  }
}

}  // namespace
}  // namespace pc::pml
