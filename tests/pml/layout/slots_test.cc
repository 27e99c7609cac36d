// attend="slots": a module is encoded behind as many stand-ins as modules stand before it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

namespace pc::pml {
namespace {

using namespace pc::test;

struct Fixture {
  FakeTokenizer tokenizer;
  TextEncoder encoder = tokenizer.encoder(bracket_chat(), true);

  Layout layout_of(const std::string& content, const std::string& attributes = "") const {
    return must(lay_out(must(parse_schema("<schema name='s' attend='slots' " + attributes + ">" +
                                          content + "</schema>")),
                        encoder));
  }
  // Of each job of a prompt: what it sees, and in braces what it keeps.
  std::string jobs(const std::string& schema, const std::string& prompt) const {
    const Layout layout = layout_of(schema);
    const Plan plan = must(
        resolve(must(parse_prompt("<prompt schema='s'>" + prompt + "</prompt>")), layout, encoder));
    must(check_plan(layout, plan));
    return show(make_jobs(layout, plan.jobs));
  }
  std::string show(const std::vector<EncodeJob>& jobs) const {
    std::string out;
    for (const EncodeJob& job : jobs) {
      if (job.subject == kRoot && !job.scaffold) continue;
      out += job.name + std::to_string(job.n_stand_ins) + ":";
      for (const JobRun& run : job.runs)
        out += (run.keep ? "{" : "(") + tokenizer.decode(run.tokens) + (run.keep ? "}" : ")");
      out += " ";
    }
    return out;
  }
  std::string refused(const std::string& document) const {
    const auto schema = parse_schema(document);
    return schema.ok() ? "taken" : schema.error().message;
  }
};

const std::string kModules =
    "be kind<module name='a'>a1</module><module name='b'>b1</module><module name='c'>c1</module>";
const std::string kDeclared = "<stand-in>s1</stand-in><stand-in>s2</stand-in>" + kModules;

TEST_CASE_METHOD(Fixture, "a module's slot is its place in the prompt") {
  CHECK(jobs(kDeclared, "<a/><b/><c/>?") ==
        "a0:(<s>be kind){a1} b1:(<s>be kinds1){b1} c2:(<s>be kinds1s2){c1} ");
  CHECK(jobs(kDeclared, "<c/><a/>?") == "a1:(<s>be kinds1){a1} c0:(<s>be kind){c1} ");
  // Of more modules than there are slots the next is in the first again.
  CHECK(jobs("<stand-in>s1</stand-in>" + kModules, "<a/><b/><c/>?") ==
        "a0:(<s>be kind){a1} b1:(<s>be kinds1){b1} c0:(<s>be kind){c1} ");
}

TEST_CASE_METHOD(Fixture,
                 "a schema without stand-ins has its first modules, but for the one itself") {
  CHECK(jobs(kModules, "<c/><b/><a/>?") ==
        "a2:(<s>be kindb1c1){a1} b1:(<s>be kinda1){b1} c0:(<s>be kind){c1} ");
  std::string many, prompt;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    many += "<module name='" + std::string(name) + "'>" + name + "1 </module>";
    prompt += "<" + std::string(name) + "/>";
  }
  const std::string shown = jobs(many, prompt + "?");
  CHECK(shown.find("g4:(<s>a1 b1 c1 d1 ){g1 }") != shown.npos);
  CHECK(shown.find("b1:(<s>a1 ){b1 }") != shown.npos);
  CHECK(shown.find("d3:(<s>a1 b1 c1 ){d1 }") != shown.npos);
}

TEST_CASE_METHOD(Fixture, "nested modules see the stand-ins of what they stand in, and their own") {
  const std::string schema =
      "<stand-in>s1</stand-in><stand-in>s2</stand-in><module name='a'>a1</module>"
      "<module name='p'>p1<module name='m'>m1</module><module name='n'>n1</module></module>";
  CHECK(jobs(schema, "<a/><p><m/><n/></p>?") ==
        "a0:(<s>){a1} p1:(<s>s1){p1} p/m1:(<s>s1p1){m1} p/n2:(<s>s1p1s1){n1} ");
}

TEST_CASE_METHOD(
    Fixture, "without stand-ins, and modules that could be, a module sees what it sees anyway") {
  std::string modules, imports;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    modules += "<module name='" + std::string(name) + "'>" + name + "1</module>";
    imports += "<" + std::string(name) + "/>";
  }
  const std::string shown =
      jobs("<module name='p' cache='false'>p1" + modules + "</module>", "<p>" + imports + "</p>?");
  CHECK(shown.find("p/a0:(<s>p1){a1}") != shown.npos);
  CHECK(shown.find("p/g0:(<s>p1){g1}") != shown.npos);
}

TEST_CASE_METHOD(Fixture, "in a turn of the prompt stand-ins stand behind its opening") {
  CHECK(jobs(kDeclared, "<user><a/><b/>?</user>") ==
        "a0:(<s>be kind[user:){a1} b1:(<s>be kind[user:s1){b1} ");
}

TEST_CASE_METHOD(Fixture, "a schema by itself has its modules as each would be alone") {
  const Layout layout = layout_of(kDeclared);
  CHECK(show(make_jobs(layout, plan_encoding(layout))) ==
        "a0:(<s>be kind){a1} b0:(<s>be kind){b1} c0:(<s>be kind){c1} ");
}

TEST_CASE_METHOD(Fixture, "what stand-ins cannot be is refused") {
  CHECK(refused("<schema name='s'><stand-in>x</stand-in></schema>").find("attend=\"slots\"") !=
        std::string::npos);
  for (const char* const content :
       {"<stand-in/>", "<module name='a'>b<stand-in>x</stand-in></module>",
        "<user><stand-in>x</stand-in></user>", "<stand-in>x<module name='a'/></stand-in>",
        "<stand-in name='x'>x</stand-in>", "<module name='stand-in'>x</module>"}) {
    INFO(content);
    CHECK(refused("<schema name='s' attend='slots'>" + std::string(content) + "</schema>")
              .find("stand-in") != std::string::npos);
  }
  CHECK(refused("<schema name='s' attend='slots' positions='schema'/>").find("positions=") !=
        std::string::npos);
  std::string many = "<schema name='s' attend='slots'>";
  for (std::size_t i = 0; i <= kMaxStandIns; ++i) many += "<stand-in>x</stand-in>";
  CHECK(refused(many + "</schema>").find("at most 16") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a schema as if it had slots is the one that says so") {
  const auto laid_out = [&](const std::string& attributes, const std::string& content) {
    return must(
        lay_out(must(parse_schema("<schema name='s'" + attributes + ">" + content + "</schema>")),
                encoder));
  };
  const auto same = [](const StandIn& a, const StandIn& b) {
    return a.tokens == b.tokens && a.module == b.module;
  };
  for (const char* const attributes : {"", " attend='self'"}) {
    const auto slots = in_slots(laid_out(attributes, kModules));
    REQUIRE(slots);
    const Layout written = layout_of(kModules);
    CHECK(slots->attend == Attend::kSlots);
    CHECK(std::ranges::equal(slots->stand_ins, written.stand_ins, same));
    CHECK(slots->pieces.size() == written.pieces.size());
  }
  CHECK_FALSE(in_slots(layout_of(kDeclared)));
  CHECK_FALSE(in_slots(laid_out(" attend='schema'", kModules)));
  CHECK_FALSE(in_slots(laid_out(" positions='schema'", kModules)));
  CHECK_FALSE(in_slots(laid_out("", "<module name='a'>a1</module>")));
}

}  // namespace
}  // namespace pc::pml
