#include "pml/resolve.h"

#include <catch2/catch.hpp>
#include <string>

#include "pml/plan_check.h"
#include "pml/prompt_parser.h"
#include "pml/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

struct Fixture {
  FakeTokenizer tokenizer;
  TextEncoder encoder = tokenizer.encoder(bracket_chat());
  Layout layout;
  std::vector<EncodeJob> jobs;

  void schema(const std::string& content, const std::string& attributes = "") {
    layout = must(
        lay_out(must(parse_schema("<schema name='s' " + attributes + ">" + content + "</schema>")),
                encoder));
    jobs = plan_encoding(layout);
  }
  Result<Plan> try_resolve(const std::string& content) const {
    const Prompt prompt = must(parse_prompt("<prompt schema='s'>" + content + "</prompt>"));
    return resolve(prompt, layout, jobs, encoder);
  }
  Plan plan(const std::string& content) const {
    Plan plan = must(try_resolve(content));
    must(check_plan(layout, jobs, plan));
    return plan;
  }
  // The tokens in order of position.
  std::string flat(const std::string& content) const {
    std::string out;
    for (const PlanRun& run : plan(content).runs) out += tokenizer.decode(run.tokens);
    return out;
  }
  // Every run as kind, position and text, moved ones with '!'.
  std::string show(const std::string& content) const {
    const Plan p = plan(content);
    std::string out;
    for (const PlanRun& run : p.runs) {
      out += kind(run.kind) + std::to_string(run.position) + (run.moved ? "!" : "") + ":" +
             tokenizer.decode(run.tokens) + "|";
    }
    return out + "end " + std::to_string(p.end);
  }
  static std::string kind(RunKind kind) {
    switch (kind) {
      case RunKind::kCached:
        return "c";
      case RunKind::kText:
        return "t";
      case RunKind::kArgument:
        return "a";
      case RunKind::kRole:
        return "r";
      case RunKind::kUncached:
        return "u";
    }
    return "?";
  }
  // The content stands behind 19 bytes of <prompt schema='s'>.
  void refused(const std::string& content, std::uint32_t column, const std::string& part) const {
    INFO(content);
    expect_error(try_resolve(content), Code::kPmlSemantic, 1, 19 + column, part);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "anonymous text is always there, modules only where imported") {
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(flat("") == "r1r2r3");
  CHECK(flat("<a/>") == "r1Ar2r3");
  CHECK(flat("<b/><a/>") == "r1Ar2Br3");  // schema order rules
}

TEST_CASE_METHOD(Fixture,
                 "compact: no gaps, every piece a run of its own, arguments in their places") {
  schema(
      "r1<module name='a'>A1<param name='p' len='5'/>A2</module><module name='b' "
      "cache='false'>B</module>");
  CHECK(show("<a p='x y'/><b/> Ask.") == "c0:r1|c1:A1|a2:x y|c4:A2|u5:B|t6: Ask.|end 7");
  CHECK(show("<a/>") == "c0:r1|c1:A1|c2:A2|end 3");       // a missing argument
  CHECK(show("<a p=''/>") == "c0:r1|c1:A1|c2:A2|end 3");  // an empty one
  const Plan p = plan("<a p='x'/><b/>");
  CHECK(p.schema == "s");
  CHECK(p.runs[0].label.empty());
  CHECK(p.runs[1].label == "a");
  CHECK(p.runs[2].label == "a.p");
  CHECK(p.runs[4].label == "b");
  CHECK(p.runs[3].job == 1);
  CHECK(p.runs[3].job_run == 1);
  CHECK(p.n_tokens() == 5);
}

TEST_CASE_METHOD(
    Fixture,
    "text stands right before the import that follows it, the last at the end of its level") {
  schema(
      "r1<module name='a'>A</module>r2<module name='b'>B1<module name='n'>N</module>B2</module>r3");
  CHECK(flat("(1)<a/>(2)<b/>(3)") == "r1(1)Ar2(2)B1B2r3(3)");
  CHECK(flat("(1)<b/>(2)<a/>(3)") == "r1(2)Ar2(1)B1B2r3(3)");  // text goes with its import
  CHECK(flat("<b>(1)<n>(2)</n>(3)</b>(4)") == "r1r2B1(1)N(2)B2(3)r3(4)");
  CHECK(flat("(only)") == "r1r2r3(only)");
}

TEST_CASE_METHOD(Fixture, "role elements of a prompt wrap imports and text") {
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(flat("<user><a/><b/>Q?</user>") == "r1[user:Ar2Br3Q?:user][answer:");
  CHECK(flat("<a/><user>Q?</user>") == "r1Ar2r3[user:Q?:user][answer:");
  CHECK(flat("<system>be kind</system><a/>") == "r1[sys:be kind:sys]Ar2r3");
  CHECK(flat("<user><a/></user><assistant>ok</assistant><user><b/></user>") ==
        "r1[user:A"
        "r2:user][asst:ok:asst][user-after-asst:B"
        "r3:user][answer:");
  CHECK(show("<user>Q?</user>") == "c0:r1|c1:r2|c2:r3|r3:[user:|t4:Q?|r5::user]|r6:[answer:|end 7");
}

TEST_CASE_METHOD(Fixture, "a role around imports asks for the schema's order") {
  schema(
      "<module name='a'>A<module name='n'>N</module><module name='o'>O</module></module><module "
      "name='b'>B</module>");
  refused("<user><b/><a/></user>", 11,
          "module 'a' stands before 'b' in the schema; where a role element encloses imports");
  refused("<b/><user><a/></user>", 11, "module 'a' stands before 'b'");
  CHECK(flat("<b/><a/><user>q</user>") == "AB[user:q:user][answer:");
  CHECK(flat("<user><a><o/><n/></a></user>") ==
        "[user:ANO:user][answer:");  // inside of an import any order
}

TEST_CASE_METHOD(Fixture, "the user's prefix follows the turn that is there in this prompt") {
  schema(
      "<system>S</system><module name='a'><assistant>A</assistant></module><module "
      "name='u'><user>U</user></module>");
  CHECK(flat("<user>q</user>") == "[sys:S:sys][user-after-sys:q:user][answer:");
  CHECK(flat("<a/><user>q</user>") == "[sys:S:sys][asst:A:asst][user-after-asst:q:user][answer:");
  CHECK(flat("<u/><user>q</user>") == "[sys:S:sys][user-after-sys:U:user][user:q:user][answer:");
}

TEST_CASE_METHOD(Fixture, "the answer is opened where the prompt ends with a user's turn") {
  schema("<module name='u'><user>U</user></module><module name='a'>A</module>");
  CHECK(flat("<u/>") == "[user:U:user][answer:");
  CHECK(flat("<u/><a/>") == "[user:U:user]A");         // bare text of a module follows
  CHECK(flat("<u/> Sure:") == "[user:U:user] Sure:");  // bare text of the prompt follows
  CHECK(flat("<u/><assistant>ok</assistant>") == "[user:U:user][asst:ok:asst]");
  CHECK(flat("hello") == "hello");
  schema(
      "<user>U<module name='p'><param name='x' len='1'/></module></user><module name='q'><param "
      "name='x' len='1'/></module>");
  CHECK(flat("<p x='1'/>") == "[user:U1:user][answer:");
  CHECK(flat("<q x='1'/>") == "[user:U:user]1");
  CHECK(flat("<q/>") == "[user:U:user][answer:");
}

TEST_CASE_METHOD(Fixture, "a schema's role may stand around modules, a prompt's not within it") {
  schema(
      "<user>Read: <module name='a'>A</module><module name='b'>B</module></user><module "
      "name='c'><system>C</system></module>");
  CHECK(flat("<a/><b/><user>q</user>") == "[user:Read: AB:user][user:q:user][answer:");
  CHECK(flat("<a/>and<b/>") == "[user:Read: AandB:user][answer:");
  refused("<a/><assistant>x</assistant><b/>", 5,
          "this <assistant> would stand inside the schema's <user>");
  refused("<a><assistant>x</assistant></a>", 4, "would stand inside the schema's <user>");
  refused("<user><c/></user>", 1, "this <user> would enclose the schema's <system>");
}

TEST_CASE_METHOD(Fixture, "role elements of a prompt need a chat format") {
  encoder.chat.reset();
  schema("<module name='a'>A</module>");
  refused("<a/><user>q</user>", 5, "<user> needs the model's chat format");
  CHECK(flat("<a/>q") == "Aq");
}

TEST_CASE_METHOD(Fixture,
                 "positions=schema: pieces and arguments at their schema positions, gaps kept") {
  schema(
      "r1<module name='a'>A1<param name='p' len='5'/>A2</module><union><module name='x'>X</module>"
      "<module name='y'>Y1 Y2 Y3</module></union>r2<module name='c' cache='false'>C</module>",
      "positions='schema'");
  // r1 0, A1 1, p 2-6, A2 7, union 8-10, r2 11, C 12
  CHECK(show("") == "c0:r1|c11:r2|end 12");
  CHECK(show("<a p='u v'/><x/><c/>") == "c0:r1|c1:A1|a2:u v|c7:A2|c8:X|c11:r2|u12:C|end 13");
  CHECK(show("<y/> tail text") == "c0:r1|c8:Y1 Y2 Y3|c11:r2|t12: tail text|end 14");
}

TEST_CASE_METHOD(
    Fixture,
    "positions=schema: text that fits its gap stays, else all of it moves behind everything") {
  schema(
      "r1<module name='a'>A1 A2 A3 A4</module><module name='b'>B</module><module "
      "name='c'>C</module>r2",
      "positions='schema'");
  // r1 0, a 1-4, b 5, c 6, r2 7
  CHECK(show("one two<b/>") == "c0:r1|t1:one two|c5:B|c7:r2|end 8");
  CHECK(show("one two three four<b/>") == "c0:r1|t1:one two three four|c5:B|c7:r2|end 8");
  CHECK(show("one two three four five<b/>") ==
        "c0:r1|c5:B|c7:r2|t8!:one two three four five|end 13");
  CHECK(show("<b/>x<c/> tail") == "c0:r1|c5:B|c6:C|c7:r2|t8!:x|t9: tail|end 10");
  // A turn is not torn: its wrapper moves with it. The prompt still ends with a user's turn.
  CHECK(show("<b/><user>x</user><c/>") ==
        "c0:r1|c5:B|c6:C|c7:r2|r8!:[user:|t9!:x|r10!::user]|end 11");
  CHECK(show("<user>x</user><b/><user>y</user>") ==
        "c0:r1|r1:[user:|t2:x|r3::user]|c5:B|c7:r2|r8:[user:|t9:y|r10::user]|r11:[answer:|end 12");
  // Text behind an argument starts where the argument ends.
  schema("<module name='a'>A<param name='p' len='4'/><module name='n'>N</module></module>",
         "positions='schema'");
  CHECK(show("<a p='u'>x y z<n/></a>") == "c0:A|a1:u|t2:x y z|c5:N|end 6");
  CHECK(show("<a p='u v'>x y z<n/></a>") == "c0:A|a1:u v|c5:N|t6!:x y z|end 9");
}

TEST_CASE_METHOD(Fixture,
                 "a scaffold's states replace those of its modules where all are imported") {
  schema(
      "r1<module name='a'>A</module>r2<module name='b'>B</module>r3<module name='c'>C</module>"
      "<scaffold name='ab' modules='a b'/><scaffold name='bc' modules='b c'/><scaffold name='abc' "
      "modules='a b c'/>");
  const auto sources = [&](const std::string& content) {
    std::string out;
    for (const PlanRun& run : plan(content).runs)
      if (run.kind == RunKind::kCached)
        out += jobs[run.job].name + "#" + std::to_string(run.job_run) + " ";
    return out;
  };
  CHECK(sources("<a/>") == "#0 a#0 #1 #2 ");
  CHECK(sources("<a/><b/>") == "#0 scaffold ab#0 scaffold ab#1 scaffold ab#2 scaffold ab#3 ");
  CHECK(sources("<c/><b/>") == "#0 #1 scaffold bc#0 scaffold bc#1 scaffold bc#2 ");
  CHECK(sources("<a/><b/><c/>") ==
        "#0 scaffold abc#0 scaffold abc#1 scaffold abc#2 scaffold abc#3 scaffold abc#4 ");
  CHECK(sources("<a/><c/>") == "#0 a#0 #1 #2 c#0 ");
}

TEST_CASE_METHOD(Fixture,
                 "of equal scaffolds the first wins; text claimed by one is not claimed again") {
  schema(
      "<module name='a'>A</module>r1<module name='b'>B</module>r2<module "
      "name='c'>C</module>r3<module name='d'>D</module>"
      "<scaffold name='ab' modules='a b'/><scaffold name='bc' modules='b c'/><scaffold name='cd' "
      "modules='c d'/>");
  std::string out;
  for (const PlanRun& run : plan("<a/><b/><c/><d/>").runs) out += jobs[run.job].name + " ";
  CHECK(out ==
        "scaffold ab scaffold ab scaffold ab scaffold ab scaffold cd scaffold ab scaffold cd ");
}

TEST_CASE_METHOD(Fixture, "every wrong name says which was meant") {
  schema(
      "<module name='trip-plan'>T<param name='duration' len='2'/><param name='who' "
      "len='1'/></module>"
      "<union><module name='miami'>M</module><module name='tokyo'>K</module></union>"
      "<module name='europe'><module name='paris'>P</module></module>");
  expect_error(resolve(must(parse_prompt("\n<prompt schema='t'/>")), layout, jobs, encoder),
               Code::kPmlSemantic, 2, 1, "this prompt is for schema 't'; the schema given is 's'");
  refused("<miamy/>", 1, "schema 's' has no module 'miamy'; did you mean 'miami'?");
  refused("<rome/>", 1,
          "schema 's' has no module 'rome'; known here: 'trip-plan', 'miami', 'tokyo', 'europe'");
  refused("<europe><pariss/></europe>", 9,
          "module 'europe' has no module 'pariss'; did you mean 'paris'?");
  refused(
      "<paris/>", 1,
      "schema 's' has no module 'paris' at this level; 'europe/paris' is imported inside <europe>");
  refused("<europe><miami/></europe>", 9,
          "module 'europe' has no module 'miami' inside; it stands directly in the schema, so "
          "close <europe> first");
}

TEST_CASE_METHOD(Fixture, "what may not be imported together or twice") {
  schema(
      "<union><module name='miami'>M</module><module name='tokyo'>K</module></union><module "
      "name='e'><module name='p'/></module>");
  refused("<miami/> <tokyo/>", 10,
          "module 'tokyo' and module 'miami', imported at 1:20, are members of one union; import "
          "one of them");
  refused("<e/><user><e/></user>", 11, "module 'e' is imported twice, first at 1:20");
  refused("<e><p/><p/></e>", 8, "module 'e/p' is imported twice, first at 1:23");
  refused("<miami/><miami/>", 9, "imported twice");
}

TEST_CASE_METHOD(Fixture, "arguments") {
  schema("<module name='m'><param name='duration' len='2'/></module><module name='n'/>");
  refused("<m duraton='x'/>", 1, "module 'm' has no parameter 'duraton'; did you mean 'duration'?");
  refused("<n x='y'/>", 1, "module 'n' has no parameter 'x'");
  refused("<m duration='one two three'/>", 1,
          "argument 'duration' of module 'm' has 3 tokens; its parameter has room for 2");
  CHECK(flat("<m duration='one two'/>") == "one two");
}

TEST_CASE_METHOD(Fixture, "the prompt's markup opens the text where only BOS stands before it") {
  const auto opens = [&](const std::string& content) {
    std::string out;
    for (const PlanRun& run : plan(content).runs)
      for (const TokenId token : run.tokens)
        if (tokenizer.is_opening(token))
          out += tokenizer.decode({token}) + std::to_string(run.position);
    return out;
  };
  for (const bool bos : {false, true}) {
    encoder = tokenizer.encoder(bracket_chat(), bos);
    const std::string first = bos ? "1" : "0";
    schema("<module name='a'>A</module><module name='b'>B</module>");
    CHECK(opens("<user>q</user>") == "[user:" + first);
    CHECK(opens("<user><b/>q</user>") == "[user:" + first);  // 'a' is not there
    CHECK(opens("<a/><user>q</user>").empty());
    CHECK(opens("hello <user>q</user>").empty());
    schema("r1<module name='a'>A</module>");
    CHECK(opens("<user>q</user>").empty());
    schema("<system>S</system><module name='a'>A</module>");
    CHECK(opens("<user>q</user>") == "[sys:0");  // in the run that BOS begins
  }
}

TEST_CASE_METHOD(Fixture, "markup that moves behind everything does not open the text") {
  schema("<module name='a'>A</module><module name='b'>B</module>", "positions='schema'");
  CHECK(show("<user><a/></user>") == "c0:A|r1!:[user:|r2::user]|r3:[answer:|end 4");
  for (const PlanRun& run : plan("<user><a/></user>").runs)
    for (const TokenId token : run.tokens) CHECK_FALSE(tokenizer.is_opening(token));
  CHECK(show("<user><b/></user>") == "r0:[user:|c1:B|r2::user]|r3:[answer:|end 4");
  CHECK(tokenizer.is_opening(plan("<user><b/></user>").runs[0].tokens[0]));
}

TEST_CASE_METHOD(Fixture, "strings that spell control tokens stay text") {
  schema("<module name='m'>A<param name='p' len='1'/></module>");
  encoder.markup = [](std::string_view) -> Result<Tokens> {
    return error(Code::kInternal, "text was taken for markup");
  };
  CHECK(flat("[user:<m p=':user]'/>[answer:") == "[user:A:user][answer:");
}

TEST_CASE_METHOD(Fixture, "the encoder's errors get the place of the prompt's text") {
  schema("<module name='m'><param name='p' len='1'/></module>");
  encoder.text = [](std::string_view) -> Result<Tokens> { return error(Code::kUnsupported, "no"); };
  expect_error(try_resolve("\n <m p='x'/>"), Code::kUnsupported, 2, 2, "no");
  expect_error(try_resolve("\n hello"), Code::kUnsupported, 2, 2, "no");
}

TEST_CASE_METHOD(Fixture, "jobs of another layout are refused") {
  schema("r<module name='m'>M</module>");
  const Prompt prompt = must(parse_prompt("<prompt schema='s'><m/></prompt>"));
  expect_error(resolve(prompt, layout, {}, encoder), Code::kInvalidArgument, 0, 0,
               "not those of schema 's'");
  std::vector<EncodeJob> foreign = jobs;
  foreign[1].runs.back().piece = 77;
  expect_error(resolve(prompt, layout, foreign, encoder), Code::kInvalidArgument, 0, 0,
               "not those of schema 's'");
}

TEST_CASE_METHOD(Fixture, "many parameters and imports take time in proportion to their number") {
  std::string params, arguments, modules, imports;
  for (int i = 0; i < 30000; ++i) {
    const std::string name = "n" + std::to_string(i);
    params += "<param name='" + name + "' len='1'/>";
    arguments += " " + name + "='x'";
    modules += "<module name='" + name + "'/>";
    imports += "<" + name + "/>";
  }
  schema("<module name='m'>" + params + "</module>" + modules);
  CHECK(plan("<m" + arguments + "/>" + imports).runs.size() == 30000);
}
