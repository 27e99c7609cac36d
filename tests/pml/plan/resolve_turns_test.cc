// Turns: what modules in them see, where they close, what the chat format asks for.
#include <catch2/catch.hpp>
#include <span>
#include <string>

#include "pml/plan/resolve.h"
#include "tests/pml/resolve_fixture.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

using Fixture = ResolveFixture;

TEST_CASE_METHOD(Fixture, "a module sees the opening of the prompt's turn that it stands in") {
  encoder = tokenizer.encoder(bracket_chat(), true);
  schema(
      "<system>S</system><module name='a'>A<param name='p' len='1'/><module "
      "name='n'>N</module></module><module name='b'>B</module>");
  CHECK(contexts("<a/><b/>") ==
        "root:{<s>[sys:S:sys]} a:(<s>[sys:S:sys]){A} b:(<s>[sys:S:sys]){B}");
  CHECK(contexts("<user>Hm: <a><n/></a>, <b/>?</user>") ==
        "root:{<s>[sys:S:sys]} a:(<s>[sys:S:sys][user-after-sys:){A} "
        "a/n:(<s>[sys:S:sys][user-after-sys:A_){N} b:(<s>[sys:S:sys][user-after-sys:){B}");
  CHECK(contexts("<a><user><n/></user></a><user><b/></user>") ==
        "root:{<s>[sys:S:sys]} a:(<s>[sys:S:sys]){A} a/n:(<s>[sys:S:sys]A_[user-after-sys:){N} "
        "b:(<s>[sys:S:sys][user:){B}");
  CHECK(contexts("<user><b/></user><assistant>ok</assistant><a/>") ==
        "root:{<s>[sys:S:sys]} a:(<s>[sys:S:sys]){A} b:(<s>[sys:S:sys][user-after-sys:){B}");
  // The anonymous text that a turn encloses sees it, too; behind it its end.
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(contexts("<user><a/><b/></user>") ==
        "root:{<s>r1}([user:){r2}(:user]){r3} a:(<s>r1[user:){A} b:(<s>r1[user:r2){B}");
  CHECK(contexts("<user><a/></user><b/>") ==
        "root:{<s>r1}{r2}{r3} a:(<s>r1[user:){A} b:(<s>r1r2){B}");
  schema("r1<module name='a'>A</module>", "attend='self'");
  CHECK(contexts("<user><a/></user>") == "root:{<s>r1} a:{A}");
  schema("r1<module name='x'>X</module><module name='a'>A</module>", "attend='schema'");
  CHECK(contexts("<user><a/></user>") == "root:{<s>r1} a:(<s>r1X){A}");
}

TEST_CASE_METHOD(Fixture, "a scaffold sees its modules as they stand in the prompt") {
  schema(
      "r1<module name='a'>A</module><module name='b'>B</module>r2<module name='c'>C</module>"
      "<scaffold name='abc' modules='a b c'/>");
  CHECK(contexts("<a/><b/><c/>") == "scaffold abc:(r1){A}{B}{r2}{C} root:{r1}{r2}");
  CHECK(contexts("<user><b/>, <a/></user><c/>") ==
        "scaffold abc:(r1[user:){B}{A}(:user]){r2}{C} root:{r1}{r2}");
  CHECK(contexts("<user><a/><b/><c/>?</user>") ==
        "scaffold abc:(r1[user:){A}{B}{r2}{C} "
        "root:{r1}([user:){r2}");
}

TEST_CASE_METHOD(Fixture, "a turn of the schema closes after its last word") {
  schema("<system>S</system><user>Read: <module name='oslo'>O</module></user>");
  CHECK(flat("<oslo/>Question?") == "[sys:S:sys][user-after-sys:Read: OQuestion?:user][answer:");
  CHECK(show("<oslo/>Q?") ==
        "c0:[sys:S:sys][user-after-sys:Read: |c6:O|t7:Q?|r8::user]|r9:[answer:|end 10");
  CHECK(contexts("<oslo/>Q?") ==
        "root:{[sys:S:sys][user-after-sys:Read: } oslo:([sys:S:sys][user-after-sys:Read: ){O}");
  CHECK(flat("Question?") == "[sys:S:sys][user-after-sys:Read: Question?:user][answer:");
  CHECK(flat("") == "[sys:S:sys][user-after-sys:Read: :user][answer:");
  CHECK(flat("<oslo/>One.<assistant>A</assistant><user>Two?</user>") ==
        "[sys:S:sys][user-after-sys:Read: OOne.:user][asst:A:asst][user-after-asst:Two?:user]"
        "[answer:");
  // What follows such a turn has seen its end, which nobody has stored.
  schema(
      "<user>U <module name='a'>A</module> u</user><assistant>Yes.</assistant><module "
      "name='b'>B</module>");
  CHECK(flat("<a/>!<b/>") == "[user:U A! u:user][asst:Yes.:asst]B");
  CHECK(contexts("<a/><b/>") ==
        "root:{[user:U }{ u}(:user]){[asst:Yes.:asst]} a:([user:U ){A} "
        "b:([user:U  u:user][asst:Yes.:asst]){B}");
  // A schema's last user turn takes the prompt's text also where it holds no module.
  schema("<user>Context.</user>");
  CHECK(flat(" Question?") == "[user:Context. Question?:user][answer:");
  schema("<system>S</system>");
  CHECK(flat("hello") == "[sys:S:sys]hello");
  schema("<system>You are <module name='p'>a pirate</module>.</system>");
  CHECK(flat("<p/> Ahoy") == "[sys:You are a pirate Ahoy.:sys]");
  CHECK(remarks("<p/> Ahoy") == "the prompt's text at 1:25 stands in the schema's <system> turn|");
  // A turn that has to wait for the schema's says so, also behind an argument.
  schema(
      "<module name='m'><user>U<module name='a'>A</module></user><param name='p' "
      "len='1'/></module>");
  CHECK(flat("<m p='x'><a/><user>Q</user></m>") == "[user:UA:user]x[user:Q:user][answer:");
  CHECK(remarks("<m p='x'><a/><user>Q</user></m>").find("stands behind the schema's text") !=
        std::string::npos);
  CHECK(remarks("<m><a/><user>Q</user></m>").empty());
}

TEST_CASE_METHOD(Fixture, "turns of every shape") {
  schema(
      "<module name='m'>M<user>U</user><module "
      "name='n'><assistant>N</assistant></module></module>");
  CHECK(flat("<m><n/></m>") == "M[user:U:user][asst:N:asst]");
  CHECK(flat("<user></user>") == "[user::user][answer:");  // an empty turn
  CHECK(flat("<user/><user>x</user>") == "[user::user][user:x:user][answer:");
  // Examples of assistant turns, then the prompt's own.
  schema(
      "<system>S</system><user>1+1?</user><assistant>2</assistant><user>2+2?</user><assistant>4</"
      "assistant>");
  CHECK(flat("<user>3+3?</user>") ==
        "[sys:S:sys][user-after-sys:1+1?:user][asst:2:asst][user-after-asst:2+2?:user][asst:4:asst]"
        "[user-after-asst:3+3?:user][answer:");
}

// A format that keeps the schema's <system> in the user's turn, trims what
// stands in a turn, and has no two answers in a row.
ChatFormat strict_chat() {
  return {"strict", [](std::span<const Role> roles) -> Result<TurnTexts> {
            TurnTexts texts;
            for (std::size_t i = 0; i < roles.size(); ++i) {
              const bool first_user = i == 1 && roles[0] == Role::kSystem;
              if (i > 0 && roles[i] == roles[i - 1])
                return error(Code::kUnsupported, "roles must alternate");
              if (roles[i] == Role::kSystem && i + 1 == roles.size())
                return error(Code::kUnsupported, "a system text alone is dropped");
              if (roles[i] == Role::kSystem)
                texts.turns.push_back({"<u>", "--", true, true});
              else if (roles[i] == Role::kUser)
                texts.turns.push_back({first_user ? "" : "<u>", "</u>", true, true});
              else
                texts.turns.push_back({i + 1 == roles.size() ? "<a>thought" : "<a>", "</a>"});
            }
            texts.answer = "<a>";
            return texts;
          }};
}

TEST_CASE_METHOD(Fixture, "the chat format has its way with a conversation") {
  encoder.chat = strict_chat();
  schema("<system> S </system><module name='d'> D </module>");
  CHECK(flat("<user> <d/> Q </user>") == "<u>S-- D  Q</u><a>");
  CHECK(flat("<user> Q </user><d/>") == "<u>S--Q</u> D ");
  CHECK(flat("<d/> bare") == "<u>S-- D  bare");  // no turn of the prompt's: nothing to ask for
  refused("<user>a</user><user>b</user>", 1, "roles must alternate");
  schema("<user> <module name='d'>D</module> </user>");
  CHECK(flat("<d/> Q? ") == "<u>D Q?</u><a>");
  schema("<user> Context. </user>");
  CHECK(flat("Q?") == "<u>Context. Q?</u><a>");  // what the end lost stands before what follows
  CHECK(flat("") == "<u>Context.</u><a>");
  schema("<user>1</user><assistant>2</assistant>");
  CHECK(flat("<user>3</user>") == "<u>1</u><a>2</a><u>3</u><a>");
  CHECK(remarks("<user>3</user>").empty());  // another turn was to follow
  CHECK_FALSE(remarks("").empty());          // none does: the format would write a thought
  expect_error(lay_out(must(parse_schema("<schema name='s'>\n<user/><user/></schema>")), encoder),
               Code::kPmlSemantic, 2, 1, "roles must alternate");
}

TEST_CASE_METHOD(Fixture, "a turn whose long opening too many modules would see is refused") {
  encoder.encode = [inner = encoder.encode](std::span<const TextSpan> spans, bool opens) {
    auto tokens = inner(spans, opens);
    for (std::size_t i = 0; i < spans.size(); ++i)
      if (spans[i].markup) (*tokens)[i].resize(70000);
    return tokens;
  };
  std::string modules, imports;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "m" + std::to_string(i);
    modules += "<module name='" + name + "'>x</module>";
    imports += "<" + name + "/>";
  }
  schema(modules);
  expect_error(try_resolve("<user>" + imports + "</user>"), Code::kPmlSemantic, 1, 1,
               "would read more than 67108864 tokens");
  CHECK(plan(imports).jobs.size() == 1000);
  CHECK(plan("<user>" + imports.substr(0, 15) + "</user>").jobs.size() == 3);
  schema(modules, "attend='self'");
  CHECK(plan("<user>" + imports + "</user>").jobs.size() == 1000);
  schema(modules + "<scaffold name='all' modules='m0 m1'/>", "attend='schema'");
  CHECK(plan("<user><m0/><m1/></user>").jobs.size() == 1);
}
