// Reuse inside turns is exact where it is said to be: one module right behind
// the text that is always before it and its turn's opening, or a scaffold over
// all imports, gives the logits of the full prefill; one that has not seen its
// turn does not.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

class Turns {
 public:
  explicit Turns(const std::string& schema) {
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.chat_template = "zephyr";
    o.n_threads = 1;
    schema_ = must(
        LoadedSchema::parse(must(Engine::open(o)), "<schema name='s'>" + schema + "</schema>", ""));
  }

  // The largest difference of a logit between reuse and the full prefill.
  float difference(const std::string& prompt, std::uint64_t least_cached) {
    const auto reused = session(prompt, false), full = session(prompt, true);
    must(reused->prefill());
    must(full->prefill());
    CHECK(reused->stats().cached_tokens >= least_cached);
    CHECK(full->stats().cached_tokens == 0);
    float worst = 0;
    for (std::size_t v = 0; v < full->logits().size(); ++v)
      worst = std::max(worst, std::fabs(reused->logits()[v] - full->logits()[v]));
    return worst;
  }

  std::shared_ptr<const LoadedPrompt> prompt(const std::string& content) const {
    return must(LoadedPrompt::parse(schema_, "<prompt schema='s'>" + content + "</prompt>"));
  }

  // The text that the model reads.
  std::string flat(const std::string& prompt) const {
    const pml::Plan plan =
        must(LoadedPrompt::parse(schema_, "<prompt schema='s'>" + prompt + "</prompt>"))->plan;
    std::string text;
    for (const pml::PlanRun& run : plan.runs)
      for (const TokenId token : run.tokens)
        schema_->engine().tokenizer().append_bytes(token, &text, Tokenizer::Controls::kSpell);
    return text;
  }

 private:
  std::unique_ptr<Session> session(const std::string& prompt, bool no_reuse) {
    SessionOptions o;
    o.max_tokens = 4;
    o.no_reuse = no_reuse;
    return must(Session::open(this->prompt(prompt), o));
  }

  TinyCheckpoint checkpoint_{2};
  TempFolder cache_;
  std::shared_ptr<LoadedSchema> schema_;
};

// Sums in another order: a few units in the last place of logits of about one.
constexpr float kRounding = 1e-4f;

}  // namespace

TEST_CASE("a module in a prompt's turn, with a question behind it, is exactly a prefill") {
  Turns turns(
      "<system>Be kind.</system><module name='doc'>The tram of Oslo costs four euros.</module>"
      "<module name='other'>Rome has hills.</module>");
  CHECK(turns.difference("<user><doc/>What does it cost?</user>", 20) <= kRounding);
  CHECK(turns.difference("<doc/><user>What does it cost?</user>", 20) <= kRounding);
  // Text before it, or another module, is what it has not seen.
  CHECK(turns.difference("<user>Read: <doc/>What?</user>", 20) > 10 * kRounding);
  CHECK(turns.difference("<user><other/><doc/>What?</user>", 20) > 10 * kRounding);
}

TEST_CASE("a module in a schema's turn, with a question behind it, is exactly a prefill") {
  Turns turns(
      "<user>Read this: <module name='oslo'>The tram of Oslo costs four euros.</module></user>");
  // (The tokenizer is one that puts a space behind every control token.)
  CHECK_THAT(turns.flat("<oslo/>What does it cost?"),
             Catch::Matchers::EndsWith("What does it cost?</s> \n<|assistant|> \n") ||
                 Catch::Matchers::EndsWith("What does it cost?</s> \n<|assistant|>\n"));
  CHECK(turns.difference("<oslo/>What does it cost?", 20) <= kRounding);
  CHECK(turns.difference("<oslo/>", 20) <= kRounding);
  CHECK(turns.difference("What does it cost?", 5) <= kRounding);
}

TEST_CASE("a scaffold over all imports of a turn is exactly a prefill") {
  Turns turns(
      "<system>Be kind.</system><module name='a'>Alpha and beta.</module><module name='b'>Gamma. "
      "<module name='c'>Nested text.</module> More.</module><scaffold name='all' modules='a b "
      "b/c'/>");
  CHECK(turns.difference("<user><a/><b><c/></b>Question?</user>", 20) <= kRounding);
  CHECK(turns.difference("<user><b><c/></b><a/>Question?</user>", 20) <= kRounding);
  CHECK(turns.difference("<a/><b><c/></b><user>Question?</user>", 20) <= kRounding);
  CHECK(turns.difference("<user><a/> and <b><c/></b>Question?</user>", 20) > 10 * kRounding);
}

TEST_CASE(
    "a prompt that a session refuses for the window's size is refused when it is asked about") {
  Turns turns("<module name='a'>text</module>");
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "word ";
  const auto refused = [&](std::uint32_t answer) {
    const Status fits = turns.prompt("<a/>" + words)->check_window(answer, true);
    return !fits.ok() && fits.error().code == Code::kContextFull;
  };
  CHECK(refused(1));
  CHECK(turns.prompt("<a/>words")->check_window(1, true).ok());
}

}  // namespace pc::test
