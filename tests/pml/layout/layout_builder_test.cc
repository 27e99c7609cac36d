#include "pml/layout/layout_builder.h"

#include <catch2/catch.hpp>
#include <string>

#include "pml/plan/plan_check.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

struct Fixture {
  FakeTokenizer tokenizer;

  Result<Layout> try_layout(const std::string& document, bool bos = false, bool chat = true) const {
    const Schema schema = must(parse_schema(document));
    return lay_out(schema,
                   tokenizer.encoder(chat ? std::optional(bracket_chat()) : std::nullopt, bos));
  }
  Layout layout(const std::string& document, bool bos = false) const {
    Layout layout = must(try_layout(document, bos));
    must(check_layout(layout));
    return layout;
  }
  // "path@position:text" of each piece, and "path.name@position:filler" of each slot.
  std::string show(const Layout& layout) const {
    std::string out;
    for (const Item item : layout.items) {
      if (item.kind == ItemKind::kPiece) {
        const Piece& p = layout.pieces[item.index];
        out += layout.modules[p.module].path + "@" + std::to_string(p.position) + ":" +
               tokenizer.decode(p.tokens) + "|";
      } else if (item.kind == ItemKind::kSlot) {
        const Slot& s = layout.slots[item.index];
        out += layout.modules[s.module].path + "." + s.name + "@" + std::to_string(s.position) +
               ":" + tokenizer.decode(s.filler) + "|";
      }
    }
    return out;
  }
  void refused(const std::string& document, std::uint32_t column, const std::string& part) const {
    INFO(document);
    expect_error(try_layout(document), Code::kPmlSemantic, 1, column, part);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "text belongs to the nearest module, else to the root") {
  CHECK(show(layout("<schema name='s'>a b<module name='m'>c<module name='n'>d</module> e</module> "
                    "f</schema>")) == "@0:a b|m@2:c|m/n@3:d|m@4: e|@5: f|");
}

TEST_CASE_METHOD(Fixture,
                 "a begin-of-sequence token stands once, at the start of the root's first piece") {
  CHECK(show(layout("<schema name='s'>a<module name='m'>b</module></schema>", true)) ==
        "@0:<s>a|m@2:b|");
  CHECK(show(layout("<schema name='s'><module name='m'>b</module>a</schema>", true)) ==
        "@0:<s>|m@1:b|@2:a|");
}

// Where a tokenizer puts a dummy space in front of a text, it does so in front of what opens.
TEST_CASE_METHOD(Fixture, "the schema's own text opens the text, a module's never does") {
  for (const bool bos : {false, true}) {
    const auto opening = [&](const std::string& content) {
      std::string opened;
      TextEncoder encoder = tokenizer.encoder({}, bos);
      encoder.encode = [&, inner = encoder.encode](std::span<const TextSpan> spans, bool opens) {
        if (opens) opened += std::string(spans[0].text) + "|";
        return inner(spans, opens);
      };
      must(lay_out(must(parse_schema("<schema name='s'>" + content + "</schema>")), encoder));
      return opened;
    };
    CHECK(opening("a<module name='m'>b</module>c") == "a|");
    CHECK(opening("<module name='m'>b</module>c").empty());
    CHECK(opening("<module name='m'>b<module name='n'>c</module></module>").empty());
    CHECK(opening("<union><module name='m'>b</module></union>c").empty());
  }
}

TEST_CASE_METHOD(
    Fixture,
    "runs and wrappers of one owner make one piece; parameters, modules and unions end it") {
  CHECK(show(layout("<schema name='s'>a<system>b</system><user>c</user>d</schema>")) ==
        "@0:a[sys:b:sys][user-after-sys:c:user]d|");
  CHECK(show(layout("<schema name='s'>a<module name='m'/>b<union/>c</schema>")) ==
        "@0:a|@1:b|@2:c|");
  CHECK(show(layout(
            "<schema name='s'><module name='m'>a<param name='p' len='2'/>b</module></schema>")) ==
        "m@0:a|m.p@1:__|m@3:b|");
}

TEST_CASE_METHOD(Fixture, "a role's wrapper belongs to the owner around it") {
  CHECK(show(layout("<schema name='s'><user>a<module name='m'>b</module>c</user></schema>")) ==
        "@0:[user:a|m@2:b|@3:c|@4::user]|");
  CHECK(show(layout("<schema name='s'><module name='m'><user>b</user></module></schema>")) ==
        "m@0:[user:b:user]|");
  CHECK(show(layout("<schema name='s'><user/></schema>")) == "@0:[user:|@1::user]|");
}

TEST_CASE_METHOD(Fixture, "the user's prefix follows the turn that is always there before") {
  // What is in a sibling module or a union need not be in the prompt.
  CHECK(show(layout("<schema name='s'><system>a</system><module "
                    "name='m'><assistant>b</assistant></module><user>c</user></schema>")) ==
        "@0:[sys:a:sys]|m@3:[asst:b:asst]|@6:[user-after-sys:c|@8::user]|");
  CHECK(show(layout("<schema name='s'><assistant>a</assistant><module "
                    "name='m'><user>b</user></module><user>c</user></schema>")) ==
        "@0:[asst:a:asst]|m@3:[user-after-asst:b:user]|@6:[user-after-asst:c|@8::user]|");
  CHECK(show(layout("<schema name='s'><user>a</user><user>b</user></schema>")) ==
        "@0:[user:a:user][user:b|@5::user]|");
}

namespace {

// A schema of n turns, with a module behind each.
std::string with_modules(std::size_t n_turns, const std::string& module_content) {
  std::string text = "<schema name='s'>";
  for (std::size_t i = 0; i < n_turns; ++i)
    text += std::string(i % 2 == 0 ? "<user>q</user>" : "<assistant>r</assistant>") +
            "<module name='m" + std::to_string(i) + "'>" + module_content + "</module>";
  return text + "</schema>";
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a chat format is asked once for modules that are alike") {
  TextEncoder encoder = tokenizer.encoder(bracket_chat(), false);
  std::size_t n_asked = 0;
  encoder.chat->turns = [&, turns = encoder.chat->turns](std::span<const Role> roles) {
    ++n_asked;
    return turns(roles);
  };
  std::string modules;
  for (int i = 0; i < 40; ++i)
    modules += "<module name='m" + std::to_string(i) + "'><user>q</user></module>";
  const std::string document =
      "<schema name='s'><user>a</user>" + modules + "<assistant>b</assistant></schema>";
  const Layout layout = must(lay_out(must(parse_schema(document)), encoder));
  must(check_layout(layout));
  CHECK(n_asked == 2);  // for the schema's own turns, and for a user's turn behind a user's
  const std::size_t n_turns = layout.turns.size();
  CHECK(n_turns == 42);
  for (std::size_t i = 1; i < 41; ++i) CHECK(layout.turns[i].text == layout.turns[1].text);
}

TEST_CASE_METHOD(Fixture, "the turns of modules and those before them have a bound") {
  CHECK(try_layout(with_modules(1200, "<user>q</user>")).ok());
  const auto refused = try_layout(with_modules(1800, "<user>q</user>"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kPmlSemantic);
  CHECK_THAT(refused.error().message,
             Catch::Matchers::Contains("'s' has too many modules whose turns differ"));
}

TEST_CASE_METHOD(Fixture, "members of a union start together, the rest follows the longest") {
  const Layout l = layout(
      "<schema name='s'>a<union scaffold='y'><module name='x'>b</module><module name='y'>c d "
      "e</module>"
      "<module name='z'/></union> f</schema>");
  CHECK(show(l) == "@0:a|x@1:b|y@1:c d e|@4: f|");
  CHECK(l.unions[0].position == 1);
  CHECK(l.unions[0].extent == 3);
  CHECK(l.unions[0].default_member == 2);
  CHECK(l.extent == 5);
  CHECK(l.modules[1].extent == 1);
  CHECK(l.modules[1].n_tokens == 1);
  CHECK(l.modules[3].extent == 0);
  CHECK(l.find_module("y") == 2u);
  CHECK_FALSE(l.find_module("w"));
}

TEST_CASE_METHOD(Fixture,
                 "a parameter's room is filled with its scaffold, then with the placeholder") {
  CHECK(show(layout("<schema name='s'><module name='m'><param name='p' len='4' scaffold='two "
                    "words'/></module></schema>")) == "m.p@0:two words__|");
  refused(
      "<schema name='s'><module name='m'><param name='p' len='2' scaffold='three more "
      "words'/></module></schema>",
      35, "the scaffold text of parameter 'p' has 3 tokens; its length is 2");
}

TEST_CASE_METHOD(Fixture, "the counts that a report needs") {
  const Layout l = layout(
      "<schema name='s'>r<module name='m' cache='false'>a b<param name='p' len='3'/><module "
      "name='n'>c</module>d</module></schema>");
  const Module& m = l.modules[1];
  CHECK(m.position == 1);
  CHECK(m.extent == 7);
  CHECK(m.n_tokens == 3);
  CHECK_FALSE(m.cache);
  CHECK(m.slots.size() == 1);
  CHECK(m.own.size() == 3);
  CHECK(l.modules[2].parent == 1);
  CHECK(l.modules[kRoot].n_tokens == 1);
}

TEST_CASE_METHOD(Fixture, "role elements need a chat format") {
  expect_error(try_layout("<schema name='s'>\n<user/></schema>", false, false), Code::kPmlSemantic,
               2, 1,
               "<user> needs the model's chat format, which its files do not tell; name it "
               "(--chat-template NAME: chatml, llama3, ");
}

TEST_CASE_METHOD(Fixture, "the schema's markup opens the text where nothing can stand before it") {
  const auto opens = [&](const std::string& content, bool bos) {
    const Layout l = layout("<schema name='s'>" + content + "</schema>", bos);
    std::string out;
    for (const Piece& piece : l.pieces)
      for (const TokenId token : piece.tokens)
        if (tokenizer.is_opening(token)) out += tokenizer.decode({token});
    return out;
  };
  for (const bool bos : {false, true}) {
    CHECK(opens("<system>S</system><user>U</user>", bos) == "[sys:");
    CHECK(opens("<user>U<module name='m'>M</module></user>", bos) == "[user:");
    CHECK(opens("<union/><user>U</user>", bos) == "[user:");
    CHECK(opens("text <user>U</user>", bos).empty());
    // A module in front may be imported; a module's own tokens depend on no place.
    CHECK(opens("<module name='m'>M</module><user>U</user>", bos).empty());
    CHECK(opens("<module name='m'><user>U</user></module>", bos).empty());
    CHECK(opens("<union><module name='m'/></union><user>U</user>", bos).empty());
  }
}

TEST_CASE_METHOD(Fixture, "the encoder's errors get the place of the text") {
  TextEncoder encoder = tokenizer.encoder();
  encoder.encode = [](std::span<const TextSpan>, bool) -> Result<std::vector<Tokens>> {
    return error(Code::kUnsupported, "no");
  };
  const Schema text = must(parse_schema("<schema name='s'>\n a</schema>"));
  expect_error(lay_out(text, encoder), Code::kUnsupported, 2, 2, "no");
}

TEST_CASE_METHOD(Fixture, "scaffolds list modules that can stand together, with their parents") {
  const std::string modules =
      "<module name='a'><module name='b'/></module><module name='c' cache='false'/>"
      "<union><module name='x'/><module name='y'/></union></schema>";
  const auto with = [&](const std::string& list) {
    return "<schema name='s'><scaffold name='f' modules='" + list + "'/>" + modules;
  };
  const Layout l = layout(with("x a/b a"));
  REQUIRE(l.scaffolds.size() == 1);
  CHECK(l.scaffolds[0].modules == std::vector<std::uint32_t>{1, 2, 4});  // in document order
  refused(with("a aa"), 18, "scaffold 'f': there is no module 'aa'; known here: 'a', 'a/b'");
  refused(with("b"), 18, "there is no module 'b'");
  refused(with("a/b"), 18, "'a/b' is inside 'a', which must be listed too");
  refused(with("a a"), 18, "'a' is listed twice");
  refused(with("c"), 18, "'c' has cache=\"false\"");
  refused(with("a x y"), 18, "'x' and 'y' are members of one union");
}

TEST_CASE_METHOD(Fixture, "a schema has a limit of tokens, parameters' room included") {
  std::string params;
  for (int i = 0; i < 257; ++i) params += "<param name='p" + std::to_string(i) + "' len='65536'/>";
  const auto result =
      try_layout("<schema name='s'><module name='m'>" + params + "</module></schema>");
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(result.error().message, Catch::Matchers::Contains("more than 16777216 tokens"));
}

TEST_CASE_METHOD(Fixture, "a schema whose passes repeat too much is refused, quickly") {
  const auto schema = [](const std::string& attend, int n, const std::string& content) {
    std::string document = "<schema name='s' attend='" + attend + "'>";
    for (int i = 0; i < n; ++i)
      document += "t<module name='m" + std::to_string(i) + "'>" + content + "</module>";
    return document + "</schema>";
  };
  for (const char* attend : {"prefix", "schema"}) {
    expect_error(try_layout(schema(attend, 5000, "x")), Code::kPmlSemantic, 1, 1,
                 "use attend=\"self\"");
    CHECK(try_layout(schema(attend, 1000, "x")).ok());
  }
  CHECK(try_layout(schema("self", 5000, "x")).ok());
  // Ten thousand documents in a union see none of each other.
  std::string documents = "<schema name='s' attend='schema'>Intro.<union>";
  for (int i = 0; i < 10000; ++i)
    documents += "<module name='m" + std::to_string(i) + "'>one two three</module>";
  CHECK(try_layout(documents + "</union></schema>").ok());
}
