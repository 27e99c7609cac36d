// A conversation that goes on equals the whole of it computed at once: the same text, as the chat
// format writes it, and the same logits.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

// Of logits of about one, in another order of sums.
constexpr float kRounding = 1e-4f;

class Chat {
 public:
  explicit Chat(const std::string& chat_template, std::uint32_t context = 0) {
    write_chat_template(checkpoint_, chat_template);
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.context_tokens = context;
    o.n_threads = 2;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(
        engine,
        "<schema name='s'><module name='doc'>The tram of Oslo costs four euros.</module></schema>",
        ""));
  }

  std::unique_ptr<Session> open(const std::string& content, SessionOptions o = {}) {
    if (!o.max_tokens) o.max_tokens = 6;
    prompt = must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + content + "</prompt>"));
    read.clear();
    for (const pml::PlanRun& run : prompt->plan.runs)
      read.insert(read.end(), run.tokens.begin(), run.tokens.end());
    return must(Session::open(prompt, o));
  }

  // The answer, to its end. What the model reads of it stays in `read`.
  std::string answer(Session& session) {
    std::string text;
    for (bool more = true; more;) {
      const auto token = must(session.next());
      text += session.text();
      more = token.has_value();
      if (more) read.push_back(*token);
    }
    return text;
  }

  std::string spelled(const Tokens& tokens) const {
    std::string text;
    for (const TokenId token : tokens)
      engine->tokenizer().append_bytes(token, &text, Tokenizer::Controls::kSpell);
    return text;
  }

  Tokens encoded(std::vector<pml::TextSpan> spans) const {
    Tokens all;
    for (const Tokens& part : must(engine->text_encoder().encode(spans, false)))
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  // As what follows the end of a turn.
  Tokens encoded_behind_turn(std::vector<pml::TextSpan> spans) const {
    spans.insert(spans.begin(), {"</s>", true});
    Tokens all = encoded(spans);
    all.erase(all.begin());
    return all;
  }

  // The logits behind all that was read, computed at once.
  void check_logits(Session& session) const {
    BackendTimeline timeline = must(engine->backend().timeline());
    std::vector<float> want(engine->model().desc.vocab_size);
    const pc_run run{
        read.data(), static_cast<std::uint32_t>(read.size()), 0, 0, 1, nullptr, nullptr, 0,
        nullptr};
    must(engine->scheduler().compute(
        {.timeline = &timeline, .runs = {&run, 1}, .logits = want.data()}));
    REQUIRE(session.position() == static_cast<Position>(read.size()));
    const auto got = session.logits();
    for (std::size_t v = 0; v < want.size(); ++v) REQUIRE(std::fabs(got[v] - want[v]) <= kRounding);
  }

  TinyCheckpoint checkpoint_{5};
  TempFolder cache_;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
  std::shared_ptr<const LoadedPrompt> prompt;
  Tokens read;  // by the model, the latest token of an answer included
};

const std::vector<pml::ChatTurn> kNext = {{pml::Role::kUser, "And of Rome?"}};

}  // namespace

TEST_CASE("each turn of a conversation reads what the format writes, and nothing twice") {
  Chat chat(chat_turns());
  const auto session = chat.open("<user><doc/> What does it cost?</user>");
  chat.answer(*session);
  for (int turn = 0; turn < 3; ++turn) {
    INFO("turn " << turn);
    const std::size_t n_before = chat.read.size();
    must(session->append(kNext));
    const Tokens next = chat.encoded(
        {{"</s>", true}, {"U: ", true}, {"And of Rome?", false}, {"</s>", true}, {"A: ", true}});
    chat.read.insert(chat.read.end(), next.begin(), next.end());
    chat.check_logits(*session);
    // The last token of the answer was drawn, not read.
    CHECK(session->stats().computed_tokens <= next.size() + 1);
    CHECK(session->stats().cached_tokens >= n_before - 1);
    CHECK(session->stats().generated_tokens == 0);
    chat.answer(*session);
    CHECK(session->stats().finish != Finish::kNone);
  }
}

TEST_CASE("an answer that the format writes otherwise is read again, and only that") {
  Chat chat(chat_turns("Past:"));
  const auto session = chat.open("<user><doc/> What does it cost?</user>");
  const Tokens prompt = chat.read;
  const std::string answer = chat.answer(*session);
  must(session->append(kNext));
  const Tokens opening = chat.encoded_behind_turn({{"A: ", true}});
  chat.read.assign(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(opening.size()));
  const Tokens next = chat.encoded_behind_turn({{"Past: ", true},
                                                {answer, false},
                                                {"</s>", true},
                                                {"U: ", true},
                                                {"And of Rome?", false},
                                                {"</s>", true},
                                                {"A: ", true}});
  chat.read.insert(chat.read.end(), next.begin(), next.end());
  chat.check_logits(*session);
  CHECK(session->stats().computed_tokens == next.size());
}

TEST_CASE("an answer that a stop string ended goes on without it") {
  Chat chat(chat_turns());
  const std::string whole = [&] {
    const auto session = chat.open("<user>What?</user>");
    return chat.answer(*session);
  }();
  REQUIRE(whole.size() > 3);
  SessionOptions o;
  o.stop = {whole.substr(2, 2)};
  const auto session = chat.open("<user>What?</user>", o);
  const Tokens prompt = chat.read;
  const std::string answer = chat.answer(*session);
  REQUIRE(session->stats().finish == Finish::kStop);
  must(session->append(kNext));
  chat.read = prompt;
  const Tokens opening = chat.encoded_behind_turn({{"A: ", true}});
  chat.read.resize(chat.read.size() - opening.size());
  const Tokens next = chat.encoded_behind_turn({{"A: ", true},
                                                {answer, false},
                                                {"</s>", true},
                                                {"U: ", true},
                                                {"And of Rome?", false},
                                                {"</s>", true},
                                                {"A: ", true}});
  chat.read.insert(chat.read.end(), next.begin(), next.end());
  chat.check_logits(*session);
}

TEST_CASE("forks go on by themselves, with the answers that each alone would give") {
  Chat chat(chat_turns());
  const auto trunk = chat.open("<user><doc/> What does it cost?</user>");
  chat.answer(*trunk);
  const Tokens before = chat.read;
  const auto branch = must(trunk->fork());
  must(trunk->append(kNext));
  const std::vector<pml::ChatTurn> other = {{pml::Role::kUser, "Why?"}};
  must(branch->append(other));
  const auto check = [&](Session& session, const char* question) {
    chat.read = before;
    const Tokens next = chat.encoded(
        {{"</s>", true}, {"U: ", true}, {question, false}, {"</s>", true}, {"A: ", true}});
    chat.read.insert(chat.read.end(), next.begin(), next.end());
    chat.check_logits(session);
  };
  check(*trunk, "And of Rome?");
  check(*branch, "Why?");
  const auto late = must(branch->fork());
  CHECK(chat.answer(*branch) == chat.answer(*late));
  // In the middle of an answer.
  const auto half = chat.open("<user>What?</user>");
  must(half->next());
  must(half->next());
  const auto twin = must(half->fork());
  CHECK(chat.answer(*half) == chat.answer(*twin));
}

// " water" is one token: the closing's " wat" with all of the opening.
TEST_CASE("an opening without a token of its own is never gone back over") {
  Chat chat(
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}U: {{ m.content }} wat"
      "{% elif m.role == 'assistant' %}P:{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}er{% endif %}");
  const auto session = chat.open("<user>Hello</user>");
  CHECK_FALSE(chat.prompt->n_opening());
  chat.answer(*session);
  expect_error(session->append(kNext), Code::kUnsupported, 0, 0, "shares a token");
}

TEST_CASE("text goes on behind text in a prompt without turns") {
  Chat chat(chat_turns());
  const auto session = chat.open("<doc/> It costs");
  chat.answer(*session);
  must(session->append_text(" and so on."));
  const Tokens next = chat.encoded({{" and so on.", false}});
  chat.read.insert(chat.read.end(), next.begin(), next.end());
  chat.check_logits(*session);
  expect_error(session->append(kNext), Code::kInvalidArgument, 0, 0, "no answer's turn is open");
  expect_error(session->append_text(""), Code::kInvalidArgument, 0, 0, "no text");
}

TEST_CASE("the token that ended an answer is not one that was said") {
  Chat chat(chat_turns());
  SessionOptions o;
  o.sampler.repetition_penalty = 4.0f;
  const TokenId end = chat.engine->tokenizer().eos().value();
  chat.open("<doc/> It costs");
  TokenId other = 3;
  while (other == end || std::ranges::find(chat.read, other) != chat.read.end()) ++other;
  o.mask = [=](std::span<std::uint32_t> allowed, const DrawPlace&) {
    std::ranges::fill(allowed, 0u);
    for (const TokenId token : {end, other})
      allowed[static_cast<std::size_t>(token) / 32] |= 1u << token % 32;
    return true;
  };
  {
    const auto probe = chat.open("<doc/> It costs", o);
    must(probe->prefill());
    const auto logit = [&](TokenId token) {
      return probe->logits()[static_cast<std::size_t>(token)];
    };
    REQUIRE(std::ranges::find(chat.read, end) == chat.read.end());
    // The end wins by less than the penalty takes of it.
    o.sampler.bias = {{end, logit(other) - logit(end) + std::fabs(logit(end)) / 4}};
  }
  const auto session = chat.open("<doc/> It costs", o);
  must(session->prefill());
  const Position begin = session->position();
  for (int round = 0; round < 3; ++round) {
    CHECK_FALSE(must(session->next()).has_value());
    CHECK(session->stats().finish == Finish::kEos);
    must(session->rewind(begin));
  }
}

TEST_CASE("an answer that may be cut has as many tokens as the window has room for") {
  Chat chat(chat_turns(), 120);
  SessionOptions o;
  o.max_tokens = 1000;
  o.cut_to_window = true;
  o.sampler.bias = {{chat.engine->tokenizer().eos().value(), -100.0f}};
  const auto session = chat.open("<user><doc/> What does it cost?</user>", o);
  const auto count = [&] {
    std::uint32_t n = 0;
    while (must(session->next()).has_value()) ++n;
    return n;
  };
  must(session->prefill());
  const Position begin = session->position();
  const std::uint32_t room = 120 - static_cast<std::uint32_t>(begin);
  REQUIRE(room > 40);
  CHECK(count() == room);
  CHECK(session->stats().finish == Finish::kLength);
  must(session->rewind(begin + 10));
  CHECK(count() == room - 10);
  must(session->rewind(begin + 2));
  must(session->append(kNext));
  const std::uint32_t left = 120 - static_cast<std::uint32_t>(session->position());
  REQUIRE((left > 0 && left < room - 2));
  CHECK(count() == left);
}

TEST_CASE("what cannot be appended changes nothing") {
  Chat chat(chat_turns(), 120);
  const auto session = chat.open("<user><doc/> What does it cost?</user>");
  chat.answer(*session);
  const std::string long_text(400, 'x');
  const std::vector<pml::ChatTurn> too_long = {{pml::Role::kUser, long_text}};
  expect_error(session->append(too_long), Code::kContextFull, 0, 0, "the context window has 120");
  must(session->append(kNext));
  const Tokens next = chat.encoded(
      {{"</s>", true}, {"U: ", true}, {"And of Rome?", false}, {"</s>", true}, {"A: ", true}});
  chat.read.insert(chat.read.end(), next.begin(), next.end());
  chat.check_logits(*session);
}

}  // namespace pc::test
