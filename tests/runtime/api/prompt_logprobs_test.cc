// How likely a model finds the tokens of a prompt. The oracle: pc_session_logprobs of a session
// that reads the prompt token by token.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;
using Ids = std::vector<std::int32_t>;

// Rounding of logits of order one that are summed in another order, in f32.
constexpr float kRounding = 1e-4f;

struct World {
  World() : path(checkpoint.path()), engine(options()), schema(api::Schema::plain(engine)) {}
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_dir = cache.path().c_str();
    o.precision = PC_PRECISION_EXACT;
    return o;
  }
  Ids ids(std::size_t n, std::int32_t salt = 0) const {
    Ids ids{1};
    for (std::size_t i = 1; i < n; ++i)
      ids.push_back(static_cast<std::int32_t>((i * 37 + static_cast<std::size_t>(salt)) % 650) +
                    20);
    return ids;
  }

  TinyCheckpoint checkpoint{3};
  TempFolder cache;
  std::string path;
  api::Engine engine;
  api::Schema schema;
};

api::Session scored(const api::Prompt& prompt, std::uint32_t n, std::uint32_t from = 0) {
  api::SessionOptions o;
  o.max_tokens = 4;
  api::Session session(prompt, o.set_prompt_logprobs(n, from));
  session.prefill();
  return session;
}

template <class Call>
pc_status status_of(Call&& call) {
  try {
    call();
  } catch (const api::Error& error) {
    return error.status();
  }
  return PC_OK;
}

std::vector<pc_token_logprob> top_of(const api::Session& session, std::size_t index,
                                     std::size_t n) {
  auto all = session.prompt_logprobs(index, n);
  all.erase(all.begin());
  return all;
}

void require_same(const pc_token_logprob& got, const pc_token_logprob& want) {
  REQUIRE(got.token == want.token);
  REQUIRE(std::fabs(got.logprob - want.logprob) <= kRounding);
}

// The likeliest of another summation may change places where they are as likely.
void require_same_top(const api::Session& session, std::size_t index,
                      const std::vector<pc_token_logprob>& want) {
  const auto got = top_of(session, index, want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    REQUIRE(std::fabs(got[i].logprob - want[i].logprob) <= kRounding);
    const auto same = std::find_if(want.begin(), want.end(), [&](const pc_token_logprob& w) {
      return w.token == got[i].token;
    });
    if (same != want.end()) require_same(got[i], *same);
  }
  REQUIRE(std::is_sorted(got.begin(), got.end(),
                         [](const auto& a, const auto& b) { return a.logprob > b.logprob; }));
}

TEST_CASE("each token of a prompt is as likely as it was to be drawn there") {
  const World w;
  const Ids ids = w.ids(90);
  const api::Session session = scored(api::Prompt::from_tokens(w.schema, ids), 5);
  api::Session reader(api::Prompt::from_tokens(w.schema, {ids[0]}));
  reader.prefill();
  for (std::size_t i = 1; i < ids.size(); ++i) {
    INFO(i);
    const auto all = reader.top_logprobs(w.engine.facts().vocab_size);
    const auto want = std::find_if(all.begin(), all.end(), [&](const pc_token_logprob& token) {
      return token.token == ids[i];
    });
    require_same(session.prompt_logprobs(i)[0], *want);
    require_same_top(session, i, {all.begin(), all.begin() + 5});
    reader.append_tokens({ids[i]});
  }
  CHECK(status_of([&] { (void)session.prompt_logprobs(0)[0]; }) == PC_INVALID_ARGUMENT);
  CHECK(status_of([&] { (void)session.prompt_logprobs(ids.size())[0]; }) == PC_INVALID_ARGUMENT);
  CHECK(status_of([&] { (void)top_of(session, 1, 6); }) == PC_INVALID_ARGUMENT);
  CHECK(session.fork().prompt_logprobs(7)[0].logprob == session.prompt_logprobs(7)[0].logprob);
}

TEST_CASE("a long prompt is scored in pieces as a short one's beginning, and answers as ever") {
  const World w;
  const Ids ids = w.ids(900), head(ids.begin(), ids.begin() + 60);
  const api::Prompt prompt = api::Prompt::from_tokens(w.schema, ids);
  api::Session whole = scored(prompt, 0);
  const api::Session part = scored(api::Prompt::from_tokens(w.schema, head), 0);
  for (std::size_t i = 1; i < head.size(); ++i)
    require_same(whole.prompt_logprobs(i)[0], part.prompt_logprobs(i)[0]);
  for (const std::size_t i : {511u, 512u, 513u, 899u})
    CHECK(whole.prompt_logprobs(i)[0].token == ids[i]);
  api::SessionOptions o;
  o.max_tokens = 4;
  api::Session plain(prompt, o);
  pc_token a{}, b{};
  CHECK(plain.next(a));
  CHECK(whole.next(b));
  CHECK(a.id == b.id);
  // What the prompt was stays when the answer goes on.
  CHECK(whole.prompt_logprobs(899)[0].token == ids[899]);
  CHECK(status_of([&] { (void)plain.prompt_logprobs(3)[0]; }) == PC_INVALID_ARGUMENT);
}

TEST_CASE("what stands before the tokens that are asked about is reused, and no more") {
  const World w;
  const Ids ids = w.ids(700);
  const api::Prompt prompt = api::Prompt::from_tokens(w.schema, ids);
  const api::Session fresh = scored(prompt, 2);
  {
    api::Session session(prompt);
    session.prefill();
    REQUIRE(session.keep() > 500);
  }
  const api::Session all = scored(prompt, 2);
  CHECK(all.stats().cached_tokens == 0);
  for (const std::uint32_t from : {2u, 256u, 257u, 258u, 259u, 512u, 640u, 699u, 5000u}) {
    INFO(from);
    const api::Session session = scored(prompt, 2, from);
    const std::uint64_t reused = session.stats().cached_tokens;
    CHECK(reused <= std::min<std::uint64_t>(from - 1, ids.size() - 1));
    CHECK((from < 258 || reused >= 256));
    CHECK((from < 514 || reused >= 512));
    for (std::size_t i = from; i < ids.size(); ++i) {
      require_same(session.prompt_logprobs(i)[0], fresh.prompt_logprobs(i)[0]);
      require_same_top(session, i, top_of(fresh, i, 2));
    }
    CHECK(status_of([&] { (void)session.prompt_logprobs(from - 1)[0]; }) == PC_INVALID_ARGUMENT);
  }
}

TEST_CASE("modules are used before the tokens that are asked about, and computed among them") {
  const World w;
  const api::Schema schema = api::Schema::parse(
      w.engine, "<schema name='s'><module name='m'>A tram of Oslo runs.</module></schema>");
  const api::Prompt prompt(schema, "<prompt schema='s'><m/> Where does it run?</prompt>");
  const Ids tokens = prompt.tokens();
  const std::uint64_t n_module = prompt.counts().module_tokens;
  REQUIRE(n_module > 4);
  REQUIRE(tokens.size() > n_module + 4);
  const api::Session computed = scored(prompt, 1, 2);
  CHECK(computed.stats().cached_tokens == 0);
  const auto from = static_cast<std::uint32_t>(n_module);
  const api::Session reused = scored(prompt, 1, from + 1);
  CHECK(reused.stats().cached_tokens == n_module);
  CHECK(scored(prompt, 1, from).stats().cached_tokens == 0);
  for (std::size_t i = from + 1; i < tokens.size(); ++i) {
    CHECK(reused.prompt_logprobs(i)[0].token == tokens[i]);
    require_same(reused.prompt_logprobs(i)[0],
                 computed.prompt_logprobs(i)[0]);  // the module is exact
  }
}

TEST_CASE("a batch scores each of its prompts") {
  const World w;
  const Ids one = w.ids(300), two = w.ids(40, 5);
  const api::Prompt a = api::Prompt::from_tokens(w.schema, one),
                    b = api::Prompt::from_tokens(w.schema, two);
  api::SessionOptions o;
  o.max_tokens = 1;
  o.set_prompt_logprobs(0);
  api::Session first(a, o), second(b, o);
  for (int i = 0; i < 20; ++i) api::batch_step({&first, &second});
  const api::Session first_alone = scored(a, 0), second_alone = scored(b, 0);
  for (std::size_t i = 1; i < one.size(); ++i)
    require_same(first.prompt_logprobs(i)[0], first_alone.prompt_logprobs(i)[0]);
  for (std::size_t i = 1; i < two.size(); ++i)
    require_same(second.prompt_logprobs(i)[0], second_alone.prompt_logprobs(i)[0]);
}

TEST_CASE("too many are refused, and nothing is known before the prompt is computed") {
  const World w;
  const api::Prompt prompt = api::Prompt::from_tokens(w.schema, {1, 30, 40});
  api::SessionOptions o;
  CHECK(status_of([&] { api::Session(prompt, o.set_prompt_logprobs(129)); }) ==
        PC_INVALID_ARGUMENT);
  const api::Session session(prompt, o.set_prompt_logprobs(128));
  CHECK(status_of([&] { (void)session.prompt_logprobs(1)[0]; }) == PC_INVALID_ARGUMENT);
  // One token has none, and that is no error of the session's.
  const api::Session one = scored(api::Prompt::from_tokens(w.schema, {1}), 3);
  CHECK(status_of([&] { (void)one.prompt_logprobs(0)[0]; }) == PC_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace pc::test
