// A format that has been asked for many conversations answers as one that never was: for every
// published template of the shared assets, in any order, from any thread.
#include "runtime/chat/turns/own_chat_format.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "runtime/chat/turns/turn_texts.h"
#include "tests/support/published_templates.h"

using namespace pc;
using pml::Role;

namespace {

constexpr Role U = Role::kUser, A = Role::kAssistant;
using Roles = std::vector<Role>;

constexpr std::string_view kChatml =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' "
    "}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const ChatClock kClock = ChatClock::at(1721990645);

// Half of them as a chat grows, which most templates have; half of any roles.
std::vector<Roles> random_conversations(std::mt19937* random, std::size_t n) {
  std::vector<Roles> all(n);
  for (Roles& roles : all) {
    const bool is_chat = (*random)() % 2 == 0;
    if (is_chat && (*random)() % 2 == 0) roles.push_back(Role::kSystem);
    const std::size_t n_turns = 1 + (*random)() % 8;
    for (std::size_t i = 0; i < n_turns; ++i)
      roles.push_back(is_chat ? (i % 2 == 0 ? U : A) : static_cast<Role>((*random)() % 3));
  }
  return all;
}

Result<pml::TurnTexts> fresh(const ChatProgram& program, const Roles& roles) {
  ChatOptions options;
  options.clock = kClock;
  return turn_texts(program, roles, options);
}

bool same(const Result<pml::TurnTexts>& a, const Result<pml::TurnTexts>& b) {
  if (a.ok() != b.ok()) return false;
  return a.ok() ? *a == *b
                : a.error().code == b.error().code && a.error().message == b.error().message;
}

Roles alternating(std::size_t n) {
  Roles roles(n, U);
  for (std::size_t i = 1; i < n; i += 2) roles[i] = A;
  return roles;
}

}  // namespace

TEST_CASE("what is remembered changes no answer: every published template, in random order") {
  const auto templates = test::published_templates();
  if (!templates) {
    WARN("skipped: no chat_templates/templates.json in PC_SHARED_DIR");
    return;
  }
  std::mt19937 random(11);
  std::size_t n_ok = 0, n_all = 0;
  for (const test::PublishedTemplate& published : *templates) {
    INFO(published.name);
    const pml::ChatFormat format = OwnChatFormat(published.program, kClock).today();
    // Room for a few turns only: endings are forgotten all the time.
    RememberedEndings few(3000);
    ChatOptions options;
    options.clock = kClock;
    for (const Roles& roles : random_conversations(&random, 8)) {
      const auto expected = fresh(published.program, roles);
      CHECK(same(format.turns(roles), expected));
      CHECK(same(turn_texts(published.program, roles, options, &few), expected));
      n_ok += expected.ok();
      ++n_all;
    }
  }
  CHECK(n_ok * 2 > n_all);
}

TEST_CASE("a chat that grows asks for the endings of its new turns alone") {
  const auto program = ChatProgram::parse(kChatml, {});
  REQUIRE(program.ok());
  RememberedEndings remembered;
  REQUIRE(turn_texts(*program, alternating(5), {}, &remembered).ok());
  for (const bool odd : {false, true}) {
    const Endings known = remembered.find(alternating(7), {odd, false});
    for (std::size_t i = 0; i < 7; ++i) CHECK((known[i] != nullptr) == (i < 5));
  }
  // Endings that the template does not write show that it is not run for them again.
  RememberedEndings made;
  for (const bool odd : {false, true})
    made.add(alternating(5), {odd, false},
             Endings(5, std::make_shared<const Ending>("<|im_end|>")));
  const auto texts = turn_texts(*program, alternating(7), {}, &made);
  REQUIRE(texts.ok());
  CHECK(texts->turns[4].close == "<|im_end|>");
  CHECK(texts->turns[5].close == "<|im_end|>\n");
}

TEST_CASE("threads that ask one format at once are answered as if alone") {
  const auto program = ChatProgram::parse(kChatml, {});
  REQUIRE(program.ok());
  const pml::ChatFormat format = OwnChatFormat(*program, kClock).today();
  std::vector<std::thread> threads;
  std::vector<int> n_wrong(4);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t % 2);  // two and two of them ask the same at the same time
      for (const Roles& roles : random_conversations(&random, 60))
        n_wrong[t] += !same(format.turns(roles), fresh(*program, roles));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(n_wrong == std::vector<int>(4));
}

TEST_CASE("a format stays of its day, and the next one is of another") {
  const auto program = ChatProgram::parse(
      "[{{ strftime_now('%d %b') }}]{% for m in messages %}{{ m.content }}{% endfor %}", {});
  REQUIRE(program.ok());
  std::time_t time = 1721990645;
  const OwnChatFormat own(*program, ChatClock([&time] { return ChatClock::at(time).now(); }));
  const pml::ChatFormat first = own.today(), running = own.running();
  const Roles one = {U}, two = {U, U};
  CHECK(first.turns(one)->turns[0].open == "[26 Jul]");
  CHECK(running.turns(one)->turns[0].open == "[26 Jul]");
  time += 86400;
  CHECK(first.turns(one)->turns[0].open == "[26 Jul]");
  CHECK(first.turns(two)->turns[0].open == "[26 Jul]");  // for roles that it was not asked before
  CHECK(own.today().turns(one)->turns[0].open == "[27 Jul]");
  CHECK(running.turns(one)->turns[0].open == "[27 Jul]");
}
