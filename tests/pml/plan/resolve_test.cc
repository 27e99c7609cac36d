#include "pml/plan/resolve.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/pml/resolve_fixture.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

using Fixture = ResolveFixture;

TEST_CASE_METHOD(Fixture, "anonymous text is always there, modules only where imported") {
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(flat("") == "r1r2r3");
  CHECK(flat("<a/>") == "r1Ar2r3");
  CHECK(flat("<b/><a/>") == "r1Ar2Br3");  // text divides: the sections' order rules
  CHECK(remarks("<b/><a/>") ==
        "module 'a' stands before 'b' in the schema, with text between them, "
        "and so it does in the prompt|");
  CHECK(remarks("<a/><b/>").empty());
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
  CHECK(name_of(p, p.runs[3]) == "a");
  CHECK(p.runs[3].job_run == 1);
  CHECK(p.n_tokens() == 5);
}

TEST_CASE_METHOD(Fixture, "text stands right behind the import or text that it is written behind") {
  schema(
      "r1<module name='a'>A</module>r2<module name='b'>B1<module name='n'>N</module>B2</module>r3");
  CHECK(flat("(1)<a/>(2)<b/>(3)") == "r1(1)A(2)r2B1B2(3)r3");  // (1) is behind no import
  CHECK(flat("(1)<b/>(2)<a/>(3)") == "r1A(3)r2(1)B1B2(2)r3");  // text goes with its import
  CHECK(flat("<b>(1)<n>(2)</n>(3)</b>(4)") == "r1r2B1(1)N(2)(3)B2(4)r3");
  CHECK(flat("(only)") == "r1r2r3(only)");
  CHECK(flat("<b>(only)</b>") == "r1r2B1B2(only)r3");
}

TEST_CASE_METHOD(Fixture, "modules of one section stand in the prompt's order") {
  schema(
      "r1<module name='a'>A</module><union><module name='x'>X</module><module "
      "name='y'>Y</module></union><module name='b'>B<module name='m'>M</module><module "
      "name='n'>N</module></module>r2<module name='c'>C</module>");
  CHECK(flat("<b/>(1)<a/>(2)<y/>(3)") == "r1B(1)A(2)Y(3)r2");
  CHECK(remarks("<b/>(1)<a/>(2)<y/>(3)").empty());
  CHECK(flat("<b><n/><m/></b><a/>") == "r1BNMAr2");
  CHECK(flat("<user><b/><a/>Q?</user>") == "r1[user:BAQ?:user]r2");
  CHECK(flat("<c/>(1)<b/>(2)<a/>(3)") == "r1B(2)A(3)r2C(1)");
  CHECK(contexts("<b><n/><m/></b><a/>") ==
        "root:{r1}{r2} a:(r1){A} b:(r1){B} b/m:(r1B){M} b/n:(r1B){N}");
  schema("r1<module name='a'>A</module><module name='b'>B</module>", "positions='schema'");
  CHECK(flat("<b/>(1)<a/>(2)") == "r1AB(2)(1)");  // (2) has no room behind A
  CHECK(remarks("<b/><a/>") ==
        "module 'a' stands before 'b' in the schema, and so it does in the prompt|");
}

TEST_CASE_METHOD(Fixture, "role elements of a prompt wrap imports and text") {
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(flat("<user><a/><b/>Q?</user>") == "r1[user:Ar2BQ?:user]r3");
  CHECK(remarks("<user><a/><b/>Q?</user>") ==
        "text stands outside of all turns behind the last <user>, so no <assistant> turn is "
        "opened for the answer|");
  CHECK(flat("<system>be kind</system><a/>") == "r1[sys:be kind:sys]Ar2r3");
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>");
  CHECK(flat("<user><a/><b/>Q?</user>") == "r1[user:Ar2BQ?:user][answer:");
  CHECK(flat("<a/><user>Q?</user>") == "r1A[user:Q?:user]r2");
  CHECK(flat("<b/><user>Q?</user>") == "r1r2B[user:Q?:user][answer:");
  CHECK(flat("<user><a/></user><assistant>ok</assistant><user><b/></user>") ==
        "r1[user:A:user][asst:ok:asst]r2[user-after-asst:B:user][answer:");
  CHECK(flat("<a/><user>of A <b/>?</user>") == "r1A[user:of A r2B?:user][answer:");
  schema("r1<module name='a'>A</module>r2<module name='b'>B</module>r3");
  CHECK(show("<user>Q?</user>") == "c0:r1|c1:r2|c2:r3|r3:[user:|t4:Q?|r5::user]|r6:[answer:|end 7");
}

TEST_CASE_METHOD(Fixture, "what is said of an order that is not the prompt's names what divides") {
  const std::string a = "<module name='a'>A</module>", b = "<module name='b'>B</module>",
                    c = "<module name='c'>C<param name='own' len='1'/> text</module>";
  const auto between = [&](const std::string& divider, const std::string& imports = "<b/><a/>") {
    const std::string said = remarks(imports);
    INFO(said);
    CHECK(said.starts_with("module 'a' stands before 'b' in the schema, with " + divider +
                           " between them, and so it does in the prompt|"));
  };
  schema(a + "text" + b);
  between("text");
  schema(a + " " + b);
  between("text");
  schema(a + "<user>" + b + "</user>");
  between("a turn's beginning");
  schema("<user>" + a + "</user>" + b);
  between("a turn's end");
  schema("<user>" + a + "text" + b + "</user>");
  between("text");
  schema(a + c + "<union>" + c.substr(0, 14) + "d'/></union>" + "<user/>" + b);
  between("a turn's beginning");  // what stands in other modules divides nothing
  schema("<module name='m'>" + a + "<param name='p' len='2'/>" + b + "</module>");
  CHECK(remarks("<m><b/><a/></m>") ==
        "module 'm/a' stands before 'm/b' in the schema, with parameter 'p' between them, and so "
        "it does in the prompt|");
  refused("<m><user><b/><a/></user></m>", 14, "with parameter 'p' between them; where a role");
  schema("<module name='m'>" + a + "text<param name='p' len='2'/>" + b + "</module>");
  CHECK(remarks("<m><b/><a/></m>").find("with text between them") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a role around imports asks for the sections' order") {
  schema(
      "<module name='a'>A<module name='n'>N</module><module name='o'>O</module></module>and<module "
      "name='b'>B</module>");
  refused("<user><b/><a/></user>", 11,
          "module 'a' stands before 'b' in the schema, with text between them; "
          "where a role element encloses imports they keep that order");
  refused("<b/><user><a/></user>", 11, "module 'a' stands before 'b'");
  CHECK(flat("<b/><a/><user>q</user>") == "A[user:q:user]andB");
  CHECK(flat("<user><a><o/><n/></a></user>") == "[user:AON:user]and");
  schema("<module name='a'>A</module><module name='b'>B</module>", "positions='schema'");
  refused("<user><b/><a/></user>", 11, "module 'a' stands before 'b' in the schema; where a role");
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
  CHECK_FALSE(remarks("<u/> Sure:").empty());
  CHECK(remarks("<u/>").empty());
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
  refused("<assistant>x</assistant><a/>", 1, "would stand inside the schema's <user>");
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
  CHECK(show("<y/> tail text") == "c0:r1|c8:Y1 Y2 Y3|c11:r2|t12!: tail text|end 14");
  CHECK(show("<x/> tail text") == "c0:r1|c8:X|t9: tail text|c11:r2|end 12");  // the gap is free
  CHECK(show("<a/> tail text") == "c0:r1|c1:A1|c7:A2|t8: tail text|c11:r2|end 12");
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
  CHECK(show("<b/>x<c/> tail") == "c0:r1|c5:B|c6:C|c7:r2|t8!:x|t9!: tail|end 10");
  CHECK(show("<b/> x") == "c0:r1|c5:B|t6: x|c7:r2|end 8");
  // A turn is not torn: its wrapper moves with it.
  CHECK(show("<b/><user>x</user><c/>") ==
        "c0:r1|c5:B|c6:C|c7:r2|r8!:[user:|t9!:x|r10!::user]|r11:[answer:|end 12");
  CHECK(remarks("<b/><user>x</user>").find("does not fit in the gap") != std::string::npos);
  CHECK(show("<user>x</user><b/>") == "c0:r1|r1:[user:|t2:x|r3::user]|c5:B|c7:r2|end 8");
  // What opens a turn around an import stays in front of it, and the rest makes room.
  CHECK(show("<user><a/><c/>x</user>") ==
        "c0:r1|r1:[user:|c2:A1 A2 A3 A4|c7:C|t8:x|r9::user]|c10:r2|end 11");
  CHECK(show("<user><b/>x</user>") == "c0:r1|r1:[user:|c5:B|t6:x|r7::user]|c8:r2|end 9");
  CHECK(remarks("<user><a/></user>").find("stands up to 1 positions later") != std::string::npos);
  CHECK(contexts("<user><a/></user>") == "root:{r1}{r2} a:(r1[user:){A1 A2 A3 A4}");
  schema("<user>r1 <module name='a'>A</module><module name='b'>B</module></user>r2",
         "positions='schema'");
  // [user:r1  0-1, a 2, b 3, :user] 4, r2 5
  CHECK(show("<a/>") == "c0:[user:r1 |c3:A|r5::user]|c6:r2|end 7");
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
    const Plan p = plan(content);
    for (const PlanRun& run : p.runs)
      if (run.kind == RunKind::kCached)
        out += name_of(p, run) + "#" + std::to_string(run.job_run) + " ";
    return out;
  };
  CHECK(sources("<a/>") == "#0 a#0 #1 #2 ");
  CHECK(sources("<a/><b/>") == "#0 scaffold ab#0 scaffold ab#1 scaffold ab#2 scaffold ab#3 ");
  CHECK(sources("<c/><b/>") == "#0 #1 scaffold bc#0 scaffold bc#1 scaffold bc#2 ");
  CHECK(sources("<a/><b/><c/>") ==
        "#0 scaffold abc#0 scaffold abc#1 scaffold abc#2 scaffold abc#3 scaffold abc#4 ");
  CHECK(sources("<a/><c/>") == "#0 a#0 #1 #2 c#0 ");
}

TEST_CASE_METHOD(Fixture, "where all imported modules are encoded together, that serves") {
  schema(
      "r1<module name='a'>A</module>r2<module name='b'>B<module name='n'>N</module></module>r3"
      "<module name='u' cache='false'>U</module><scaffold name='ab' modules='a b'/>");
  std::size_t n_asked = 0;
  bool there = true;
  are_together = [&](const JobSpec& all) {
    ++n_asked;
    CHECK(all.scaffold);
    CHECK(all.subject == kNone);
    return there;
  };
  // As they stand, with the anonymous text behind the first; what is not stored is computed.
  const std::string together(kTogether);
  CHECK(contexts("<b><n/></b><a/><u/>") == together + ":(r1){A}{r2}{B}{N}{r3} root:{r1}{r2}{r3}");
  CHECK(n_asked == 1);
  CHECK(contexts("<user><a/><b><n/></b></user>") ==
        together + ":(r1[user:){A}{r2}{B}{N}(:user]){r3} root:{r1}([user:){r2}(:user]){r3}");
  n_asked = 1;
  CHECK(contexts("<a/>") == "root:{r1}{r2}{r3} a:(r1){A}");
  CHECK(n_asked == 1);  // one alone has nothing to see
  CHECK(contexts("<a/><b/>").find("scaffold ab") == 0);
  CHECK(n_asked == 1);                                     // nor has what a scaffold lists all of
  CHECK(contexts("<a/><b><n/></b>").find(together) == 0);  // which goes before smaller ones
  there = false;
  CHECK(contexts("<a/><b><n/></b>").find("scaffold ab") == 0);
}

TEST_CASE_METHOD(Fixture,
                 "of equal scaffolds the first wins; text claimed by one is not claimed again") {
  schema(
      "<module name='a'>A</module>r1<module name='b'>B</module>r2<module "
      "name='c'>C</module>r3<module name='d'>D</module>"
      "<scaffold name='ab' modules='a b'/><scaffold name='bc' modules='b c'/><scaffold name='cd' "
      "modules='c d'/>");
  std::string out;
  const Plan p = plan("<a/><b/><c/><d/>");
  for (const PlanRun& run : p.runs) out += name_of(p, run) + " ";
  CHECK(out ==
        "scaffold ab scaffold ab scaffold ab scaffold ab scaffold cd scaffold ab scaffold cd ");
}

TEST_CASE_METHOD(Fixture, "every wrong name says which was meant") {
  schema(
      "<module name='trip-plan'>T<param name='duration' len='2'/><param name='who' "
      "len='1'/></module>"
      "<union><module name='miami'>M</module><module name='tokyo'>K</module></union>"
      "<module name='europe'><module name='paris'>P</module></module>");
  expect_error(resolve(must(parse_prompt("\n<prompt schema='t'/>")), layout, encoder),
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
  CHECK(show("<user>x</user><a/>") == "c0:A|r1!:[user:|t2!:x|r3!::user]|r4:[answer:|end 5");
  for (const PlanRun& run : plan("<user>x</user><a/>").runs)
    for (const TokenId token : run.tokens) CHECK_FALSE(tokenizer.is_opening(token));
  CHECK(show("<user><a/></user>") == "r0:[user:|c1:A|r2::user]|r3:[answer:|end 4");
  CHECK(show("<user><b/></user>") == "r0:[user:|c1:B|r2::user]|r3:[answer:|end 4");
  CHECK(tokenizer.is_opening(plan("<user><b/></user>").runs[0].tokens[0]));
}

TEST_CASE_METHOD(Fixture, "strings that spell control tokens stay text") {
  schema("<module name='m'>A<param name='p' len='1'/></module>");
  encoder.encode = [encode = encoder.encode](std::span<const TextSpan> spans, bool opens) {
    for (const TextSpan& span : spans) CHECK_FALSE(span.markup);
    return encode(spans, opens);
  };
  CHECK(flat("[user:<m p=':user]'/>[answer:") == "[user:A:user][answer:");
}

TEST_CASE_METHOD(Fixture, "the encoder's errors get the place of the prompt's text") {
  schema("<module name='m'><param name='p' len='1'/></module>");
  encoder.encode = [](std::span<const TextSpan>, bool) -> Result<std::vector<Tokens>> {
    return error(Code::kUnsupported, "no");
  };
  expect_error(try_resolve("\n <m p='x'/>"), Code::kUnsupported, 2, 2, "no");
  expect_error(try_resolve("\n hello"), Code::kUnsupported, 2, 2, "no");
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
