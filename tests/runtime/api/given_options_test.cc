// Zeros that are meant, and zeros that are not given.

#include <catch2/catch.hpp>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

struct World {
  explicit World(std::uint32_t context = 0)
      : path(checkpoint.path()), engine(options(context)), schema(api::Schema::plain(engine)) {}

  api::EngineOptions options(std::uint32_t context) const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_mode = PC_CACHE_OFF;
    o.context_tokens = context;
    return o;
  }
  std::vector<std::int32_t> answer(const pc_session_options& o) const {
    api::Session session(prompt(), o);
    std::vector<std::int32_t> ids;
    session.generate([&](const pc_token& token) {
      if (token.id >= 0) ids.push_back(token.id);
    });
    return ids;
  }
  api::Prompt prompt() const { return api::Prompt::from_text(schema, "A tram of Oslo"); }

  TinyCheckpoint checkpoint{3};
  std::string path;
  api::Engine engine;
  api::Schema schema;
};

api::SessionOptions hot() {
  api::SessionOptions o;
  o.temperature = 3.0f;
  o.seed = 7;
  o.max_tokens = 8;
  return o;
}

pc_status status_of(const World& world, const pc_session_options& o) {
  pc_session* session = nullptr;
  pc_error error{};
  const pc_status status = pc_session_open(world.prompt().get(), &o, &session, &error);
  pc_session_close(session);
  return status;
}

TEST_CASE("a top-p of 0 takes the likeliest where it is given, and is all where it is not") {
  const World world;
  api::SessionOptions greedy;
  greedy.max_tokens = 8;
  const auto likeliest = world.answer(greedy), all = world.answer(hot());
  REQUIRE(likeliest != all);
  CHECK(world.answer(hot().set_top_p(0)) == likeliest);
  api::SessionOptions zero = hot();
  zero.top_p = 0;
  CHECK(world.answer(zero) == all);
  CHECK(world.answer(hot().set_top_p(1)) == all);
  api::SessionOptions least = hot();
  least.min_p = 1;
  CHECK(world.answer(least) == likeliest);
  api::SessionOptions one = hot();
  one.top_k = 1;
  CHECK(world.answer(one) == likeliest);
}

TEST_CASE("of no tokens the prompt is computed, and nothing is drawn") {
  const World world;
  api::SessionOptions o;
  api::Session session(world.prompt(), o.set_max_tokens(0));
  pc_token token{-1, "", 0};
  CHECK_FALSE(session.next(token));
  CHECK(token.id == -1);
  CHECK(session.stats().finish == PC_FINISH_LENGTH);
  CHECK(session.stats().generated_tokens == 0);
  CHECK(session.stats().prompt_tokens == world.prompt().counts().tokens);
  CHECK(session.logits().size() == world.engine.facts().vocab_size);
  // It goes on as after any answer; each answer is as long.
  session.append_text(" and Vienna");
  CHECK_FALSE(session.next(token));
  CHECK(session.stats().finish == PC_FINISH_LENGTH);
  api::Session fork = session.fork();
  CHECK_FALSE(fork.next(token));
  CHECK(fork.stats().generated_tokens == 0);
}

TEST_CASE("a step of a batch draws nothing for who wants no tokens") {
  const World world;
  api::SessionOptions none, two;
  two.max_tokens = 2;
  api::Session a(world.prompt(), none.set_max_tokens(0)), b(world.prompt(), two);
  std::vector<api::BatchToken> steps = api::batch_step({&a, &b});
  while (steps[0].status == PC_PENDING) steps = api::batch_step({&a, &b});
  CHECK(steps[0].status == PC_DONE);
  CHECK(a.stats().finish == PC_FINISH_LENGTH);
  CHECK(a.stats().generated_tokens == 0);
}

TEST_CASE("a prompt that fills the window has room for no token") {
  const World any;
  const auto n = static_cast<std::uint32_t>(any.prompt().counts().tokens);
  const World world(n);
  api::SessionOptions none, one, cut;
  one.max_tokens = 1;
  cut.cut_to_window = 1;
  CHECK(status_of(world, none.set_max_tokens(0)) == PC_OK);
  CHECK(world.answer(none).empty());
  CHECK(status_of(world, one) == PC_CONTEXT_FULL);
  CHECK(status_of(world, cut) == PC_CONTEXT_FULL);
  CHECK(status_of(world, cut.set_max_tokens(0)) == PC_OK);
}

TEST_CASE("drafts are the library's choice, so many at most, or none where 0 is given") {
  const World world;
  const pc_token_bias one_word{400, 100.0f};
  const auto answer = [&](api::SessionOptions o) {
    o.max_tokens = 40;
    o.bias = &one_word;
    o.n_bias = 1;
    api::Session session(world.prompt(), o);
    session.generate([](const pc_token&) {});
    return session.stats();
  };
  const pc_session_stats all = answer({}), some = answer(api::SessionOptions().set_max_draft(1)),
                         none = answer(api::SessionOptions().set_max_draft(0));
  CHECK(all.right_drafts > 25);
  CHECK(all.drafted_tokens >= all.right_drafts);
  CHECK((some.right_drafts > 10 && some.right_drafts <= 20));
  CHECK(none.drafted_tokens == 0);
  for (const pc_session_stats& stats : {all, some, none}) CHECK(stats.generated_tokens == 40);
}

TEST_CASE("a repetition penalty of 0 is refused where it is given, and so are unknown bits") {
  const World world;
  api::SessionOptions o;
  CHECK(status_of(world, o) == PC_OK);
  CHECK(status_of(world, o.set_repetition_penalty(0)) == PC_INVALID_ARGUMENT);
  CHECK(status_of(world, o.set_repetition_penalty(1)) == PC_OK);
  o.given |= 0x80000000u;
  CHECK(status_of(world, o) == PC_UNSUPPORTED);
  pc_engine_options engine = world.options(0);
  engine.given = 0x80000000u;
  pc_engine* opened = nullptr;
  CHECK(pc_engine_open(&engine, &opened, nullptr) == PC_UNSUPPORTED);
  engine.given = PC_GIVEN_CHAT_TIME;
  engine.chat_time = 0;
  CHECK(pc_engine_open(&engine, &opened, nullptr) == PC_OK);
  pc_engine_close(opened);
}

}  // namespace
}  // namespace pc::test
