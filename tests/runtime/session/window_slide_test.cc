// What is left of a conversation when some of it goes: beside one that never had it.
#include "runtime/session/window_slide.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "runtime/scheduler/task.h"
#include "runtime/schema/encoder.h"
#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr float kRounding = 1e-4f;  // of logits of about one

Tokens some_tokens(std::uint32_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens;
  for (; n > 0; --n) tokens.push_back(static_cast<TokenId>(300 + random() % 300));
  return tokens;
}

// A chain and its timeline, by hand.
class Conversation {
 public:
  explicit Conversation(const Apartment& home)
      : schema_(home.schema),
        timeline_(must(schema_->engine().backend().timeline())),
        chain_(schema_->identity()) {}

  void read(const Tokens& tokens) {
    chain_.append(tokens, end_);
    end_ += static_cast<Position>(tokens.size());
    std::vector<pc_run> runs;
    chain_.add_missing(&runs);
    logits_.resize(schema_->engine().model().desc.vocab_size);
    Task task({.timeline = &timeline_, .runs = runs, .logits = logits_.data()});
    must(schema_->engine().scheduler().compute(task, {}));
    chain_.computed();
  }

  void attach_module() {
    const auto prompt = must(LoadedPrompt::parse(schema_, "<prompt schema='s'><doc/>A.</prompt>"));
    Encoder encoder(schema_->engine().scheduler(), schema_->engine().store());
    auto acquired = must(schema_->acquire(*prompt->modules.back(), encoder, nullptr));
    const ResidentHandle resident =
        must(schema_->engine().backend().resident(std::move(acquired.module)));
    const std::uint32_t n = resident->module().segment(0, 0).n_tokens;
    must(timeline_.attach(resident, {0, 0, n, end_, nullptr}));
    chain_.attach(resident->module().key(), 0, n, end_);
    end_ += static_cast<Position>(n);
  }

  void slide(const Gone& gone) {
    Slid slid = must(slide_window(
        {schema_->engine().backend(), schema_->identity(), timeline_, chain_}, gone, end_));
    timeline_ = std::move(slid.timeline);
    chain_ = std::move(slid.chain);
    end_ = gone.moved(end_);
  }

  Position end() const { return end_; }
  std::span<const float> logits() const { return logits_; }

 private:
  std::shared_ptr<LoadedSchema> schema_;
  BackendTimeline timeline_;
  Chain chain_;
  Position end_ = 0;
  std::vector<float> logits_;
};

float apart(const Conversation& a, const Conversation& b) {
  float most = 0;
  for (std::size_t i = 0; i < b.logits().size(); ++i)
    most = std::max(most, std::fabs(a.logits()[i] - b.logits()[i]));
  return most;
}

TEST_CASE("where nothing goes, nothing changes") {
  Apartment home;
  Conversation slid(home), stays(home);
  for (Conversation* c : {&slid, &stays}) {
    c->read(some_tokens(300, 1));
    c->attach_module();
    c->read(some_tokens(37, 2));
  }
  for (int times = 0; times < 3; ++times) {
    slid.slide(Gone());
    const Tokens more = some_tokens(21, 3 + static_cast<std::uint32_t>(times));
    slid.read(more);
    stays.read(more);
    REQUIRE(slid.end() == stays.end());
    REQUIRE(apart(slid, stays) <= kRounding);
  }
}

TEST_CASE("what has not seen what goes is as if that had never been") {
  Apartment home;
  const std::uint32_t n_first = GENERATE(1u, 16u, 100u, 300u), n_gone = GENERATE(3u, 16u, 270u);
  Conversation slid(home), fresh(home);
  slid.read(some_tokens(n_first, 1));
  fresh.read(some_tokens(n_first, 1));
  const Position begin = slid.end();
  slid.read(some_tokens(n_gone, 2));
  slid.attach_module();  // a module sees nothing of a conversation
  fresh.attach_module();
  slid.slide(Gone({{begin, begin + static_cast<Position>(n_gone)}}));
  REQUIRE(slid.end() == fresh.end());
  slid.read(some_tokens(40, 3));
  fresh.read(some_tokens(40, 3));
  CHECK(apart(slid, fresh) <= kRounding);
  // And again, from what was held already: all but the first tokens and the module.
  const Position module_end = fresh.end() - 40;
  slid.slide(Gone({{module_end, module_end + 40}}));
  slid.read(some_tokens(9, 4));
  Conversation anew(home);
  anew.read(some_tokens(n_first, 1));
  anew.attach_module();
  anew.read(some_tokens(9, 4));
  REQUIRE(slid.end() == anew.end());
  CHECK(apart(slid, anew) <= kRounding);
}

TEST_CASE("a piece that moves in the store is what a window that slid has left") {
  Apartment home;
  const Tokens first = some_tokens(70, 1), gone = some_tokens(41, 2), stays = some_tokens(145, 3),
               last = some_tokens(9, 4);
  Tokens said = first, left = first;
  said.insert(said.end(), gone.begin(), gone.end());
  for (Tokens* text : {&said, &left}) text->insert(text->end(), stays.begin(), stays.end());
  left.insert(left.end(), last.begin(), last.end());
  const auto read = [&](const Tokens& tokens) {
    SessionOptions o;
    o.max_tokens = 1;
    o.moves = true;
    auto session = must(Session::open(must(LoadedPrompt::of_tokens(home.schema, tokens)), o));
    must(session->prefill());
    return session;
  };
  CHECK(must(read(said)->keep()) == said.size());
  const auto moved = read(left);
  CHECK(moved->stats().moved_tokens == stays.size());
  Conversation slid(home);
  slid.read(said);
  slid.slide(Gone({{70, 70 + 41}}));
  slid.read(last);
  REQUIRE(static_cast<std::size_t>(slid.end()) == left.size());
  float most = 0;
  for (std::size_t i = 0; i < slid.logits().size(); ++i)
    most = std::max(most, std::fabs(slid.logits()[i] - moved->logits()[i]));
  CHECK(most <= kRounding);
}

TEST_CASE("what has seen what goes remembers it") {
  Apartment home;
  Conversation slid(home), fresh(home);
  slid.read(some_tokens(20, 1));
  slid.read(some_tokens(60, 2));
  slid.read(some_tokens(50, 3));
  slid.slide(Gone({{20, 80}}));
  fresh.read(some_tokens(20, 1));
  fresh.read(some_tokens(50, 3));
  slid.read(some_tokens(5, 4));
  fresh.read(some_tokens(5, 4));
  CHECK(apart(slid, fresh) > 10 * kRounding);
}

}  // namespace
}  // namespace pc::test
