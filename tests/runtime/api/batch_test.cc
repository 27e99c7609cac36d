// pc_batch_step: many sessions on one thread, computed together.

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "promptcache/promptcache.hpp"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">The tram costs three euros.</module>
  <module name="b">The museum opens at nine.</module></schema>)";

std::string words(int n, const std::string& word) {
  std::string text;
  for (int i = 0; i < n; ++i) text += word + " ";
  return text;
}

class Batch {
 public:
  explicit Batch(std::uint32_t threads = 1) {
    api::EngineOptions o;
    o.model_path = checkpoint_.path().c_str();
    o.cache_dir = cache_.path().c_str();
    o.n_threads = threads;
    engine.emplace(o);
    schema.emplace(api::Schema::parse(*engine, kSchema));
  }
  api::Session session(const std::string& content, const api::SessionOptions& options) const {
    const api::Prompt prompt(*schema, "<prompt schema=\"s\">" + content + "</prompt>");
    return api::Session(prompt, options);
  }
  static api::SessionOptions options(std::uint32_t max_tokens) {
    api::SessionOptions o;
    o.max_tokens = max_tokens;
    return o;
  }

  std::optional<api::Engine> engine;
  std::optional<api::Schema> schema;

 private:
  TinyCheckpoint checkpoint_{33, 2048};
  TempFolder cache_;
};

std::vector<std::int32_t> rest_of(api::Session& session) {
  std::vector<std::int32_t> tokens;
  session.generate([&](const pc_token& token) {
    if (token.id >= 0) tokens.push_back(token.id);
  });
  return tokens;
}

TEST_CASE("sessions in a batch get the tokens that each gets alone") {
  const Batch batch(2);
  const std::vector<std::string> prompts = {"<a/>What?", "<a/><b/>When?", "Hello", "<b/>Where?",
                                            "<a/>" + words(300, "tram")};
  const auto options = Batch::options(12);
  std::vector<std::vector<std::int32_t>> want, got(prompts.size());
  for (const auto& prompt : prompts) {
    api::Session alone = batch.session(prompt, options);
    want.push_back(rest_of(alone));
    REQUIRE(want.back().size() == 12);
  }
  std::vector<api::Session> sessions;
  for (const auto& prompt : prompts) sessions.push_back(batch.session(prompt, options));
  std::vector<bool> over(prompts.size());
  int n_pending = 0;
  while (std::ranges::find(over, false) != over.end()) {
    std::vector<api::Session*> left;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (over[i]) continue;
      left.push_back(&sessions[i]);
      who.push_back(i);
    }
    const auto steps = api::batch_step(left);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      REQUIRE((steps[i].status == PC_OK || steps[i].status == PC_DONE ||
               steps[i].status == PC_PENDING));
      n_pending += steps[i].status == PC_PENDING;
      if (steps[i].status == PC_DONE) over[who[i]] = true;
      if (steps[i].status == PC_OK) got[who[i]].push_back(steps[i].token.id);
    }
  }
  CHECK(n_pending > 0);  // the long one, while others went on
  CHECK(got == want);
  for (const auto& session : sessions) {
    CHECK(session.stats().generated_tokens == 12);
    CHECK(session.stats().ttft_us > 0);
    CHECK(session.stats().finish == PC_FINISH_LENGTH);
  }
}

TEST_CASE("what a batch began, any other call completes") {
  const Batch batch;
  const std::string prompt = "<a/>" + words(400, "tram");
  api::Session alone = batch.session(prompt, Batch::options(8));
  const auto want = rest_of(alone);

  api::Session begun = batch.session(prompt, Batch::options(8));
  REQUIRE(api::batch_step({&begun})[0].status == PC_PENDING);
  SECTION("next") {
    CHECK(rest_of(begun) == want);
  }
  SECTION("prefill") {
    begun.prefill();
    CHECK(begun.logits().size() == batch.engine->facts().vocab_size);
    CHECK(rest_of(begun) == want);
  }
  SECTION("fork") {
    api::Session fork = begun.fork();
    CHECK(rest_of(begun) == want);
    CHECK(rest_of(fork) == want);
  }
  SECTION("close") {}
  SECTION("cancel") {
    begun.cancel();
    CHECK(api::batch_step({&begun})[0].status == PC_CANCELLED);
    CHECK(begun.stats().finish == PC_FINISH_CANCELLED);
    CHECK(rest_of(begun) == want);
  }
}

TEST_CASE("one that fails or is over leaves the others of its batch alone") {
  const Batch batch;
  api::Session good = batch.session("<a/>What?", Batch::options(5)),
               stopped = batch.session("<b/>What?", Batch::options(5)),
               over = batch.session("What?", Batch::options(1));
  api::Session alone = batch.session("<a/>What?", Batch::options(5));
  const auto want = rest_of(alone);
  rest_of(over);
  api::Session unstopped = batch.session("<b/>What?", Batch::options(5));
  const auto want_stopped = rest_of(unstopped);
  stopped.cancel();
  std::vector<std::int32_t> got, got_stopped;
  for (bool more = true; more;) {
    const auto steps = api::batch_step({&good, &stopped, &over});
    CHECK(steps[1].status == (got.empty() ? PC_CANCELLED : PC_OK));
    if (steps[1].status == PC_OK) got_stopped.push_back(steps[1].token.id);
    CHECK(steps[2].status == PC_DONE);
    more = steps[0].status == PC_OK;
    if (more) got.push_back(steps[0].token.id);
  }
  CHECK(got == want);
  CHECK(got_stopped == want_stopped);  // from the step behind the one that was cancelled
}

TEST_CASE("a batch of strangers, of nothing, or of one twice is refused whole") {
  const Batch batch, other;
  api::Session one = batch.session("<a/>What?", Batch::options(3)),
               two = other.session("<a/>What?", Batch::options(3));
  pc_token tokens[2];
  pc_error outcomes[2], error{};
  pc_session* strangers[] = {one.get(), two.get()};
  CHECK(pc_batch_step(strangers, 2, tokens, outcomes, &error) == PC_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("two engines") != std::string::npos);
  pc_session* twice[] = {one.get(), one.get()};
  CHECK(pc_batch_step(twice, 2, tokens, outcomes, &error) == PC_INVALID_ARGUMENT);
  pc_session* missing[] = {one.get(), nullptr};
  CHECK(pc_batch_step(missing, 2, tokens, outcomes, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_batch_step(nullptr, 2, tokens, outcomes, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_batch_step(nullptr, 0, nullptr, nullptr, &error) == PC_OK);
  CHECK(one.stats().generated_tokens == 0);
  CHECK(rest_of(one).size() == 3);
}

TEST_CASE("named clients take turns from step to step of a batch") {
  const Batch batch;
  const std::string long_prompt = words(300, "tram");
  std::vector<api::Session> sessions;
  auto greedy = Batch::options(1), modest = Batch::options(1);
  greedy.client = "greedy";
  modest.client = "modest";
  for (int i = 0; i < 4; ++i) sessions.push_back(batch.session(long_prompt, greedy));
  sessions.push_back(batch.session(long_prompt, modest));
  std::vector<int> ended(sessions.size());
  for (int step = 1; std::ranges::find(ended, 0) != ended.end(); ++step) {
    REQUIRE(step < 100);
    std::vector<api::Session*> all;
    for (api::Session& session : sessions) all.push_back(&session);
    const auto steps = api::batch_step(all);
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (ended[i] == 0 && steps[i].status == PC_OK) ended[i] = step;
  }
  // Not behind all that the other wants.
  CHECK(ended[4] < ended[3]);
  CHECK(ended[4] < ended[2]);
}

TEST_CASE("a session whose mask throws fails alone") {
  const Batch batch;
  auto throwing = Batch::options(4);
  throwing.mask = [](void*, const pc_session*, std::uint32_t, std::uint32_t*, std::size_t) -> int {
    throw 42;
  };
  api::Session bad = batch.session("<a/>What?", throwing),
               good = batch.session("<a/>What?", Batch::options(4)),
               alone = batch.session("<a/>What?", Batch::options(4));
  const auto want = rest_of(alone);
  std::vector<std::int32_t> got;
  for (bool more = true; more;) {
    const auto steps = api::batch_step({&bad, &good});
    CHECK(steps[0].status == PC_INTERNAL);
    more = steps[1].status == PC_OK;
    if (more) got.push_back(steps[1].token.id);
  }
  CHECK(got == want);
}

TEST_CASE("a long prompt tells how far it is, and is left when the caller wants") {
  const Batch batch;
  struct Told {
    std::vector<std::uint64_t> done;
    bool leaves = false;
  } told;
  auto options = Batch::options(3);
  options.progress_user = &told;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    auto& t = *static_cast<Told*>(user);
    CHECK(done < total);
    t.done.push_back(done);
    return t.leaves ? 1 : 0;
  };
  api::Session session = batch.session(words(400, "tram"), options);
  CHECK(rest_of(session).size() == 3);
  CHECK(told.done.size() >= 2);
  CHECK(std::ranges::is_sorted(told.done));

  told = {{}, true};
  api::Session left = batch.session(words(400, "tram"), options);
  pc_token token{};
  pc_error error{};
  CHECK(pc_session_next(left.get(), &token, &error) == PC_CANCELLED);
  CHECK(told.done.size() == 1);
}

TEST_CASE("progress that throws ends its session, and nothing else") {
  const Batch batch;
  auto options = Batch::options(2);
  options.progress = [](void*, std::uint64_t, std::uint64_t) -> int { throw 42; };
  {
    api::Session session = batch.session(words(400, "tram"), options);
    CHECK_THROWS_AS(session.prefill(), api::Error);
  }
  api::Session next = batch.session("Hello", Batch::options(2));
  CHECK(rest_of(next).size() == 2);
}

TEST_CASE("tokens are appended as they are") {
  const Batch batch;
  api::Session by_text = batch.session("Hello", Batch::options(4));
  api::Session by_tokens = batch.session("Hello", Batch::options(4));
  CHECK(rest_of(by_text) == rest_of(by_tokens));
  by_text.append_text(" The tram is late.");
  // Of a whole text, which this tokenizer puts a space in front of.
  const std::vector<std::int32_t> tokens = batch.engine->tokenize("The tram is late.");
  by_tokens.append_tokens(tokens);
  CHECK(by_text.position() == by_tokens.position());
  CHECK(rest_of(by_text) == rest_of(by_tokens));
  for (const std::vector<std::int32_t>& bad :
       {std::vector<std::int32_t>{-1}, {1, 700}, std::vector<std::int32_t>(5000, 5), {}}) {
    const std::uint32_t before = by_tokens.position();
    CHECK_THROWS_AS(by_tokens.append_tokens(bad), api::Error);
    CHECK(by_tokens.position() == before);
  }
}

}  // namespace
}  // namespace pc::test
