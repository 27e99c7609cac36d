// attend="slots", computed: a module has seen what its stand-ins say.

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

// How far a prompt of the schema's modules is from the same computed whole.
float apart(Apartment& home, const std::string& schema, const std::string& prompt, bool* exact) {
  home.use_schema("<schema name='s' attend='slots'>" + schema + "</schema>");
  const auto parsed =
      must(LoadedPrompt::parse(home.schema, "<prompt schema='s'>" + prompt + "</prompt>"));
  SessionOptions o;
  o.max_tokens = 1;
  const auto session = must(Session::open(parsed, o));
  o.no_reuse = true;
  const auto whole = must(Session::open(parsed, o));
  must(session->prefill());
  must(whole->prefill());
  CHECK(session->stats().cached_tokens > 0);
  *exact = true;
  for (std::size_t i = 0; i < parsed->plan.runs.size(); ++i)
    if (parsed->plan.runs[i].kind == pml::RunKind::kCached) *exact &= parsed->is_exact(i);
  float most = 0;
  for (std::size_t i = 0; i < whole->logits().size(); ++i)
    most = std::max(most, std::fabs(whole->logits()[i] - session->logits()[i]));
  return most;
}

TEST_CASE("behind stand-ins that say what the prompt says, modules are exact") {
  Apartment home;
  const std::string modules =
      "Be kind. <module name='a'>The tram is red. </module><module name='b'>The bus is late. "
      "</module><module name='c'>The ferry rests. </module>";
  const auto stand_in = [](const std::string& text) { return "<stand-in>" + text + "</stand-in>"; };
  bool exact = false;
  const std::string right = stand_in("The tram is red. ") + stand_in("The bus is late. ");
  CHECK(apart(home, right + modules, "<a/><b/><c/>Why?", &exact) <= 1e-4f);
  CHECK(exact);
  const std::size_t n_files = home.n_files();
  // In the first slot a module is the file that it is with attend="prefix".
  home.use_schema("<schema name='s'>" + modules + "</schema>");
  must(home.schema->encode(
      must(LoadedPrompt::parse(home.schema, "<prompt schema='s'><a/>Why?</prompt>"))->modules,
      [](auto&&...) { return true; }));
  CHECK(home.n_files() == n_files);
  // In another order they are found in the slots in which they are, where they have seen another
  // text than stands before them.
  CHECK(apart(home, right + modules, "<c/><b/>Why?", &exact) > 1e-3f);
  CHECK_FALSE(exact);
  CHECK(home.n_files() == n_files);
  CHECK(apart(home, stand_in("A lorry. ") + modules, "<a/><b/>Why?", &exact) > 1e-3f);
  CHECK_FALSE(exact);
}

}  // namespace
}  // namespace pc::test
