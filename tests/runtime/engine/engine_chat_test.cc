// What the engine gives PML to write turns with: the model's format, one that
// the user names or writes down, and tokens as the publisher's.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "pml/layout/layout_builder.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "pml/turns/chat_template.h"
#include "runtime/engine/engine.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

EngineOptions options_for(const std::string& model, const std::string& chat = "") {
  EngineOptions o;
  o.model_path = model;
  o.cache_mode = CacheMode::kOff;
  o.chat_template = chat;
  o.n_threads = 1;
  return o;
}

// The tokens of the flat prompt.
Result<Tokens> flat(const Engine& engine, const std::string& schema, const std::string& prompt) {
  const pml::TextEncoder& encoder = engine.text_encoder();
  PC_TRY(const pml::Schema parsed, pml::parse_schema("<schema name='s'>" + schema + "</schema>"));
  PC_TRY(const pml::Layout layout, pml::lay_out(parsed, encoder));
  PC_TRY(const pml::Prompt asked, pml::parse_prompt("<prompt schema='s'>" + prompt + "</prompt>"));
  PC_TRY(const pml::Plan plan, pml::resolve(asked, layout, encoder));
  Tokens all;
  for (const pml::PlanRun& run : plan.runs)
    all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  return all;
}

// BOS and the tokens of a whole text, as the publisher encodes it.
Tokens published(const Engine& engine, const std::string& text) {
  Tokens all = must(engine.tokenizer().encode(text));
  all.insert(all.begin(), *engine.tokenizer().bos());
  return all;
}

}  // namespace

TEST_CASE("Llama 2's vocabulary: a chat's tokens are the published ones from the first on") {
  const char* shared = std::getenv("PC_SHARED_DIR");
  const std::string model = std::string(shared ? shared : "") + "/assets/tiny-random-llama";
  if (!std::filesystem::exists(model)) {
    std::puts("skipped: there is no $PC_SHARED_DIR/assets/tiny-random-llama");
    return;
  }
  const auto engine = must(Engine::open(options_for(model)));
  REQUIRE(engine->text_encoder().chat);
  CHECK(engine->text_encoder().chat->name == "the model's own");
  const std::string doc = "<module name='doc'>Read this.</module>";
  CHECK(must(flat(*engine, doc, "<user>Hello</user>")) ==
        published(*engine, "[INST] Hello [/INST]"));
  CHECK(must(flat(*engine, "<system>Be kind.</system>" + doc, "<user>Hello</user>")) ==
        published(*engine, "[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHello [/INST]"));
  // The model's own template strips a content; the format of that name does not.
  CHECK(must(flat(*engine, doc, "<user>  indented</user>")) ==
        published(*engine, "[INST] indented [/INST]"));
  const auto named = must(Engine::open(options_for(model, "llama2")));
  CHECK(must(flat(*named, doc, "<user>  indented</user>")) ==
        published(*named, "[INST]  indented [/INST]"));
  // A module has the same tokens wherever it stands, and nothing grows onto it.
  const std::string letter = "<module name='m'>Dear <param name='who' len='2'/>!</module>";
  Tokens tokens = must(flat(*engine, letter, "<m who='Ann'/>"));
  std::string text;
  for (const TokenId token : tokens) engine->tokenizer().append_bytes(token, &text);
  CHECK(text == "Dear Ann!");

  const auto vicuna = must(Engine::open(options_for(model, "vicuna")));
  CHECK(must(flat(*vicuna, doc, "<user>Hello</user>")) ==
        published(*vicuna, "USER: Hello ASSISTANT:"));
}

namespace {

// A model whose tokenizer puts a dummy prefix at the start of a text and nowhere else.
class PrefixedOnce {
 public:
  // The tokens of a chat of one user, "city", behind `schema`.
  Tokens chat(const std::string& add_bos, const std::string& own_template,
              const std::string& format = "", const std::string& schema = "") {
    return prompt(add_bos, own_template, format, schema, "<user>city</user>");
  }
  Tokens prompt(const std::string& add_bos, const std::string& own_template,
                const std::string& format, const std::string& schema, const std::string& body) {
    std::ofstream(checkpoint_.path() + "/tokenizer_config.json")
        << R"({"legacy": false, "bos_token": "<s>", "add_bos_token": )" << add_bos
        << R"(, "chat_template": ")" << own_template << R"("})";
    const auto engine = must(Engine::open(options_for(checkpoint_.path(), format)));
    return must(flat(*engine, schema + "<module name='m'>text</module>", body));
  }
  // Those of the rendered string.
  Tokens whole(const std::string& text) {
    chat("false", "{% for m in messages %}{{ m.content }}{% endfor %}");
    const std::vector<pml::TextSpan> spans = {{text, true}};
    return must(must(load_tokenizer(checkpoint_.path()))->encode_spans(spans, true))[0];
  }

 private:
  TinyCheckpoint checkpoint_{3};
};

}  // namespace

// Behind BOS the publisher's tokenizer sees a control token before the first turn's markup, and
// puts no space between them, whoever writes BOS.
TEST_CASE("a chat whose template writes BOS opens behind a control token") {
  PrefixedOnce model;
  const std::string turns = "{% for m in messages %}the {{ m.content }}{% endfor %}";
  const Tokens behind = model.whole("<s>the city"), bare = model.whole("the city");
  Tokens beside = bare;  // BOS is put in front of a text that has none
  beside.insert(beside.begin(), behind[0]);
  REQUIRE(behind != beside);
  const std::string mention = turns + "{% if false %}{{ bos_token }}{% endif %}";
  const std::string strict =
      "{% if messages[0].role != 'system' %}{{ raise_exception('') }}"
      "{% endif %}{{ bos_token }}" +
      turns;
  for (const char* add_bos : {"false", "true"}) {
    INFO(add_bos);
    CHECK(model.chat(add_bos, "{{ bos_token }}" + turns) == behind);
    CHECK(model.chat(add_bos, "<s>" + turns) == behind);
    const Tokens opened = model.chat(add_bos, strict, "", "<system>a</system>");
    CHECK(Tokens(opened.begin(), opened.begin() + 3) == Tokens(behind.begin(), behind.begin() + 3));
  }
  for (const std::string& without : {turns, mention}) {
    CHECK(model.chat("false", without) == bare);
    CHECK(model.chat("true", without) == beside);
  }
}

// What transformers gives for a text and for a chat of such a model.
TEST_CASE("BOS that only the template writes opens the first turn, and no prompt without turns") {
  PrefixedOnce model;
  const std::string turns = "{{ bos_token }}{% for m in messages %}the {{ m.content }}{% endfor %}";
  const auto prompt = [&](const std::string& schema, const std::string& body,
                          const std::string& add_bos = "false") {
    return model.prompt(add_bos, turns, "", schema, body);
  };
  CHECK(prompt("", "the city") == model.whole("the city"));
  CHECK(prompt("", "<user>city</user>") == model.whole("<s>the city"));
  const TokenId bos = model.whole("<s>the city")[0];
  const auto places = [&](const Tokens& tokens) {
    std::vector<std::ptrdiff_t> found;
    for (auto at = tokens.begin(); (at = std::find(at, tokens.end(), bos)) != tokens.end(); ++at)
      found.push_back(at - tokens.begin());
    return found;
  };
  const Tokens module = prompt("", "<m/>");
  const auto behind_module = static_cast<std::ptrdiff_t>(module.size());
  CHECK(places(module).empty());
  // A text in front of the chat: the turn opens behind it, with its BOS.
  CHECK(places(prompt("", "<m/><user>city</user>")) == std::vector{behind_module});
  CHECK(places(prompt("<module name='n'>city</module>", "<user><n/></user>")) ==
        std::vector<std::ptrdiff_t>{0});
  CHECK(prompt("", "the city", "true").front() == bos);
  CHECK(places(prompt("", "<m/><user>city</user>", "true")) == std::vector<std::ptrdiff_t>{0});
}

TEST_CASE("a format beside the model's template has BOS where it or the tokenizer says so") {
  PrefixedOnce model;
  const TempFolder folder;
  const auto chat = [&](const std::string& add_bos, const std::string& writes_bos) {
    folder.write("mine.json", R"({"system": {"prefix": "", "suffix": ""},
        "user": {"prefix": "the ", "suffix": ""}, "assistant": {"prefix": "", "suffix": ""},
        "generation_prefix": "", "bos": )" +
                                  writes_bos + "}");
    return model.chat(add_bos, "{{ bos_token }}", folder.path() + "/mine.json");
  };
  CHECK(chat("true", "true") == model.whole("<s>the city"));
  CHECK(chat("true", "false") == model.whole("<s>the city"));
  CHECK(chat("false", "true") == model.whole("<s>the city"));
  CHECK(chat("false", "false") == model.whole("the city"));
}

TEST_CASE("a format out of a file, and what is wrong with one") {
  const TinyCheckpoint checkpoint(3);
  const TempFolder folder;
  const std::string path = folder.path() + "/mine.json";
  folder.write("mine.json", R"({"system":{"prefix":"","suffix":"\n"},
      "user":{"prefix":"Q: ","suffix":"\n"}, "assistant":{"prefix":"A: ","suffix":"\n"},
      "generation_prefix":"A:"})");
  const auto engine = must(Engine::open(options_for(checkpoint.path(), path)));
  CHECK(engine->text_encoder().chat->name == path);
  const auto error = flat(*engine, "<module name='m'>text</module>", "<user>Hello</user>");
  CHECK(error.ok());

  folder.write("mine.json", R"({"roles":{}})");
  const auto wrong = Engine::open(options_for(checkpoint.path(), path));
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.error().message, Catch::Matchers::Contains(path) &&
                                        Catch::Matchers::Contains("no field \"roles\" here"));
  CHECK(Engine::open(options_for(checkpoint.path(), "./none.json")).error().code ==
        Code::kInvalidArgument);
  CHECK(Engine::open(options_for(checkpoint.path(), "bogus")).error().code ==
        Code::kInvalidArgument);
}

TEST_CASE("without a format plain text works, and a role's error says what to pass") {
  const TinyCheckpoint checkpoint(3);
  const auto engine = must(Engine::open(options_for(checkpoint.path())));
  REQUIRE_FALSE(engine->text_encoder().chat);
  CHECK(
      must(flat(*engine, "Some text.<module name='m'>A document.</module>", "<m/>And a question?"))
          .size() > 3);
  const auto refused = flat(*engine, "<module name='m'>text</module>", "<m/><user>Hello</user>");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().line == 1);
  CHECK_THAT(refused.error().message, Catch::Matchers::Contains("--chat-template NAME") &&
                                          Catch::Matchers::Contains("--chat-template FILE.json"));
}

}  // namespace pc::test
