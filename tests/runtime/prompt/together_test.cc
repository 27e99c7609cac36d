// A prompt's modules encoded together: as exact as computing all of it, found by prompts that are
// made later and import the same in the same order, and no measure for the others.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/checks/answer_check.h"
#include "tests/runtime/engine/apartment.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

using Together = LoadedPrompt::Together;
using Prompt = std::shared_ptr<const LoadedPrompt>;

const std::string kSchema =
    "<schema name='s'>Be kind. <module name='a'>The tram is red. </module><module name='b'>The bus "
    "is late. </module><module name='c'>The ferry rests. </module></schema>";

Prompt asked(const Apartment& home, const std::string& imports) {
  return must(LoadedPrompt::parse(home.schema,
                                  "<prompt schema='s'><user>" + imports + "Why?</user></prompt>"));
}

bool is_exact(const LoadedPrompt& prompt) {
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i)
    if (prompt.plan.runs[i].kind == pml::RunKind::kCached && !prompt.is_exact(i)) return false;
  return true;
}

bool is_together(const LoadedPrompt& prompt) {
  return std::ranges::any_of(prompt.modules,
                             [](const auto& m) { return pml::is_together(m->job); });
}

void encode_together(const LoadedPrompt& prompt) {
  const Prompt together = must(prompt.with_modules(Together::kAlways));
  must(together->schema->encode(together->modules, [](auto&&...) { return true; }));
}

std::vector<float> logits_of(const Prompt& prompt, bool no_reuse) {
  SessionOptions o;
  o.max_tokens = 1;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(prompt, o));
  must(session->prefill());
  return {session->logits().begin(), session->logits().end()};
}

float apart(const Prompt& prompt) {
  const auto used = logits_of(prompt, false), whole = logits_of(prompt, true);
  float most = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    most = std::max(most, std::fabs(whole[i] - used[i]));
  return most;
}

TEST_CASE("modules that are encoded together give what a full prefill gives, from then on") {
  Apartment home;
  home.use_schema(kSchema);
  const Prompt before = asked(home, "<a/><b/>");
  CHECK_FALSE(is_together(*before));
  CHECK(apart(before) > 1e-3f);
  encode_together(*before);
  CHECK_FALSE(is_together(*before));  // what is made stays as it is
  const std::size_t n_files = home.n_files();

  home.restart();
  const Prompt after = asked(home, "<a/><b/>");
  CHECK(is_together(*after));
  CHECK(is_exact(*after));
  CHECK(apart(after) <= 1e-4f);
  CHECK(home.n_files() == n_files);
  for (const char* const others : {"<b/><a/>", "<a/><b/><c/>", "<a/>"})
    CHECK_FALSE(is_together(*asked(home, others)));
}

TEST_CASE("what goes from the store is encoded apart again") {
  Apartment home;
  home.use_schema(kSchema);
  encode_together(*asked(home, "<a/><b/>"));
  CHECK(is_together(*asked(home, "<a/><b/>")));
  std::filesystem::remove_all(home.cache());
  home.restart();
  CHECK_FALSE(is_together(*asked(home, "<a/><b/>")));
}

TEST_CASE("a conversation that began with modules together goes on with others") {
  Apartment home;
  home.use_schema(kSchema);
  encode_together(*asked(home, "<a/><b/>"));
  SessionOptions o;
  o.max_tokens = 4;
  o.mask = only({330, 331, 332, 333});
  const auto session = must(Session::open(asked(home, "<a/><b/>"), o));
  while (must(session->next())) continue;
  must(session->append_pml("<prompt schema='s'><user><c/>And?</user></prompt>"));
  CHECK(must(session->next()));
  CHECK(session->stats().cached_tokens > 0);
}

TEST_CASE("a check of answers measures modules apart") {
  Apartment home;
  home.use_schema(kSchema);
  encode_together(*asked(home, "<a/><b/>"));
  const std::vector<Prompt> prompts = {asked(home, "<a/><b/>")};
  const AnswerCheck check = must(check_answers(prompts, nullptr, {.answer_tokens = 4}));
  CHECK(check.n_exact == 0);
}

TEST_CASE("a prompt of tokens, or of no modules, is as it was") {
  Apartment home;
  home.use_schema("<schema name='s'><module name='a'>A. </module></schema>");
  const std::vector<TokenId> tokens = {5, 6, 7};
  const Prompt made = must(LoadedPrompt::of_tokens(home.schema, tokens));
  const Prompt again = must(made->with_modules(Together::kAlways));
  CHECK(again->plan.n_tokens() == made->plan.n_tokens());
  CHECK_FALSE(is_together(*must(asked(home, "<a/>")->with_modules(Together::kAlways))));
}

}  // namespace
}  // namespace pc::test
