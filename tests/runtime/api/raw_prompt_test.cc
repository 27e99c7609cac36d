// Prompts of tokens as they are, and of texts whose control tokens count.

#include <catch2/catch.hpp>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kBos = 1, kEos = 2;  // of tests/golden/tokenizers/sentencepiece_bpe

struct World {
  World() : path(checkpoint.path()), engine(options()), schema(api::Schema::plain(engine)) {}
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_dir = cache.path().c_str();
    o.chat_template = "llama2";
    return o;
  }
  static Ids answer(const api::Prompt& prompt, pc_session_stats* stats = nullptr) {
    api::SessionOptions o;
    o.max_tokens = 6;
    api::Session session(prompt, o);
    Ids ids;
    session.generate([&](const pc_token& token) { ids.push_back(token.id); });
    if (stats) *stats = session.stats();
    return ids;
  }
  // What the model computes of these tokens and no others, behind nothing.
  static std::vector<float> logits(const api::Prompt& prompt) {
    api::Session session(prompt);
    session.prefill();
    return session.logits();
  }
  api::Prompt of(const Ids& ids) const { return api::Prompt::from_tokens(schema, ids); }

  TinyCheckpoint checkpoint{3};
  TempFolder cache;
  std::string path;
  api::Engine engine;
  api::Schema schema;
};

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
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

const std::string kText = "A tram of Oslo, and </s> where?";

TEST_CASE("control tokens count where they are asked for, and BOS stands once") {
  const World w;
  const Ids plain = w.engine.tokenize(kText), raw = w.engine.tokenize(kText, PC_TEXT_CONTROLS);
  const Ids head = w.engine.tokenize("A tram of Oslo, and ");
  CHECK(std::count(plain.begin(), plain.end(), kEos) == 0);
  CHECK(std::count(raw.begin(), raw.end(), kEos) == 1);
  CHECK(Ids(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(head.size())) == head);
  CHECK(w.engine.tokenize(kText, PC_TEXT_BOS) == Ids{kBos} + plain);
  CHECK(w.engine.tokenize(kText, PC_TEXT_BOS | PC_TEXT_CONTROLS) == Ids{kBos} + raw);
  const Ids spelled = w.engine.tokenize("<s>" + kText, PC_TEXT_BOS | PC_TEXT_CONTROLS);
  CHECK(std::count(spelled.begin(), spelled.end(), kBos) == 1);
  CHECK(spelled.front() == kBos);
  CHECK(status_of([&] { w.engine.tokenize(kText, 8); }) == PC_UNSUPPORTED);
  CHECK(status_of([&] { api::Prompt::from_raw_text(w.schema, kText, 8); }) == PC_UNSUPPORTED);
}

TEST_CASE("a prompt of a text's tokens is that text's prompt") {
  const World w;
  const Ids tokens = w.engine.tokenize(kText, PC_TEXT_BOS);
  const api::Prompt text = api::Prompt::from_text(w.schema, kText), ids = w.of(tokens);
  CHECK(ids.counts().tokens == tokens.size());
  CHECK(ids.counts().end == tokens.size());
  CHECK(w.logits(ids) == w.logits(text));
  CHECK(w.answer(ids) == w.answer(text));
  const Ids controls = w.engine.tokenize(kText, PC_TEXT_BOS | PC_TEXT_CONTROLS);
  const api::Prompt raw =
      api::Prompt::from_raw_text(w.schema, kText, PC_TEXT_BOS | PC_TEXT_CONTROLS);
  CHECK(raw.counts().tokens == controls.size());
  CHECK(w.logits(raw) == w.logits(w.of(controls)));
  CHECK(w.logits(raw) != w.logits(text));
  CHECK(api::Prompt::from_raw_text(w.schema, kText, 0).counts().tokens == tokens.size() - 1);
}

// Oracle: the same tokens appended one by one to a session that begins with the first.
TEST_CASE("tokens are computed as they are, with BOS only where they have it") {
  const World w;
  for (const Ids& ids :
       {Ids{5, 2, 7, 1, 9}, Ids{kBos, 5, 2, 7}, Ids{kBos, kBos, 9}, Ids{kBos}, Ids{17}}) {
    const api::Prompt prompt = w.of(ids);
    CHECK(prompt.counts().tokens == ids.size());
    CHECK(prompt.counts().end == ids.size());
    api::Session whole(prompt), one_by_one(w.of({ids[0]}));
    whole.prefill();
    one_by_one.prefill();
    for (std::size_t i = 1; i < ids.size(); ++i) one_by_one.append_tokens({ids[i]});
    const auto a = whole.logits(), b = one_by_one.logits();
    REQUIRE(a.size() == b.size());
    float most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    CHECK(most < 2e-2f);  // states are bf16
    CHECK(whole.position() == ids.size());
  }
}

TEST_CASE("what a prompt of tokens kept, a prompt that begins alike finds, however it is written") {
  const World w;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "A tram of Oslo number " + std::to_string(i) + ". ";
  const Ids tokens = w.engine.tokenize(text, PC_TEXT_BOS);
  REQUIRE(tokens.size() > 600);
  {
    api::Session session(w.of(tokens));
    session.prefill();
    CHECK(session.keep() > 0);
  }
  const auto reused = [&](const api::Prompt& prompt) {
    pc_session_stats stats{};
    w.answer(prompt, &stats);
    CHECK(stats.chained_tokens == prompt.counts().chained_tokens);
    return stats.chained_tokens;
  };
  CHECK(reused(w.of(tokens + Ids{kEos, 9})) >= 512);
  CHECK(reused(api::Prompt::from_text(w.schema, text + "And?")) >= 512);
  CHECK(reused(api::Prompt::from_raw_text(w.schema, text + "</s>",
                                          PC_TEXT_CONTROLS | PC_TEXT_BOS)) >= 512);
  // Without BOS, and with another token in front, it is another text.
  const Ids rest(tokens.begin() + 1, tokens.end());
  CHECK(reused(w.of(rest)) == 0);
  CHECK(reused(w.of(Ids{kEos} + rest)) == 0);
  CHECK(w.of(tokens).explain().find("chain") != std::string::npos);
}

TEST_CASE("tokens stand behind a schema's own text, and in no turn") {
  const World w;
  const api::Schema own = api::Schema::parse(
      w.engine, "<schema name='s'>A page. <module name='m'>More.</module></schema>");
  const api::Prompt prompt = api::Prompt::from_tokens(own, {5, 2, 7});
  const std::uint64_t n_own = prompt.counts().tokens - 3;
  CHECK(n_own > 1);
  CHECK(prompt.counts().modules == 1);
  CHECK(w.answer(prompt).size() == 7);
  const api::Prompt raw = api::Prompt::from_raw_text(own, "</s>x", PC_TEXT_CONTROLS | PC_TEXT_BOS);
  CHECK(raw.counts().tokens - n_own == w.engine.tokenize("</s>x", PC_TEXT_CONTROLS).size());
  const api::Schema turns = api::Schema::parse(
      w.engine, "<schema name='t'><user>A page.</user><module name='m'>More.</module></schema>");
  CHECK(status_of([&] { api::Prompt::from_tokens(turns, {5}); }) == PC_UNSUPPORTED);
}

TEST_CASE("ids that the model does not have are refused, and so are none") {
  const World w;
  CHECK(status_of([&] { w.of({}); }) == PC_INVALID_ARGUMENT);
  CHECK(status_of([&] { w.of({5, -1}); }) == PC_INVALID_ARGUMENT);
  const auto size = static_cast<std::int32_t>(w.engine.facts().vocab_size);
  CHECK(status_of([&] { w.of({5, size}); }) == PC_INVALID_ARGUMENT);
  CHECK(status_of([&] { w.of({size - 1}); }) == PC_OK);
  CHECK(status_of([&] { api::Prompt::from_raw_text(w.schema, "", 0); }) == PC_INVALID_ARGUMENT);
  CHECK(w.engine.facts().fim_prefix == -1);
}

}  // namespace
}  // namespace pc::test
