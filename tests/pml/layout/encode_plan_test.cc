#include "pml/layout/encode_plan.h"

#include <catch2/catch.hpp>
#include <string>

#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

// A schema with everything that matters to encoding.
const char* const kContent = R"(
  <system>sys</system>
  <module name="a">a1 <param name="p" len="2" scaffold="fill"/> a2 <module name="n">n1</module> a3</module>
  mid
  <union UNION><module name="x">x1 x2 x3</module><module name="y">y1 <module name="z">z1</module></module></union>
  end
  <module name="b" cache="false">b1 <module name="c">c1</module></module>
  <module name="last">l1</module>
  SCAFFOLDS
)";

struct Fixture {
  FakeTokenizer tokenizer;

  std::vector<EncodeJob> jobs(const std::string& attributes, const std::string& scaffolds = "",
                              const std::string& union_attributes = "") const {
    std::string content = kContent;
    content.replace(content.find("UNION"), 5, union_attributes);
    content.replace(content.find("SCAFFOLDS"), 9, scaffolds);
    return jobs_of("<schema name='s' " + attributes + ">" + content + "</schema>");
  }
  std::vector<EncodeJob> jobs_of(const std::string& document) const {
    const Layout layout =
        must(lay_out(must(parse_schema(document)), tokenizer.encoder(bracket_chat(), true)));
    std::vector<EncodeJob> jobs = make_jobs(layout, plan_encoding(layout));
    must(check_jobs(layout, jobs));
    return jobs;
  }
  // Runs as "position:text"; kept ones in braces.
  std::string show(const EncodeJob& job) const {
    std::string out;
    for (const JobRun& run : job.runs) {
      const std::string text = std::to_string(run.position) + ":" + tokenizer.decode(run.tokens);
      out += run.keep ? "{" + text + "}" : "(" + text + ")";
    }
    return out;
  }
  std::string show(const std::vector<EncodeJob>& jobs, const std::string& name) const {
    for (const EncodeJob& job : jobs)
      if (job.name == name) return show(job);
    return "none";
  }
};

std::vector<std::string> names(const std::vector<EncodeJob>& jobs) {
  std::vector<std::string> out;
  for (const EncodeJob& job : jobs) out.push_back(job.name);
  return out;
}

}  // namespace

TEST_CASE_METHOD(
    Fixture,
    "a job for the root, each cached module with text, and each scaffold, in document order") {
  const auto all = jobs("", "<scaffold name='f' modules='a x'/>");
  CHECK(names(all) ==
        std::vector<std::string>{"", "a", "a/n", "x", "y", "y/z", "b/c", "last", "scaffold f"});
  CHECK(all.back().scaffold);
  CHECK(all.back().subject == 0);
  CHECK(all[3].subject == 3);
  CHECK(names(jobs_of("<schema name='s'><module name='e'/><module name='p'><param name='q' "
                      "len='1'/></module></schema>")) ==
        std::vector<std::string>{""});  // nothing but the begin-of-sequence token
}

TEST_CASE_METHOD(Fixture, "attend=prefix: a module sees itself and what is always before it") {
  const auto all = jobs("attend='prefix'");
  CHECK(show(all, "") == "{0:<s>[sys:sys:sys]}{4: mid }{6: end }");
  CHECK(show(all, "a") == "(0:<s>[sys:sys:sys]){4:a1 }(6:fill_){8: a2 }{10: a3}");
  CHECK(show(all, "a/n") == "(0:<s>[sys:sys:sys]a1 fill_ a2 ){10:n1}");
  CHECK(show(all, "x") == "(0:<s>[sys:sys:sys] mid ){6:x1 x2 x3}");
  CHECK(show(all, "y/z") == "(0:<s>[sys:sys:sys] mid y1 ){8:z1}");
  // The text around a cached module is seen though it is not itself cached.
  CHECK(show(all, "b/c") == "(0:<s>[sys:sys:sys] mid  end b1 ){10:c1}");
  CHECK(show(all, "last") == "(0:<s>[sys:sys:sys] mid  end ){8:l1}");
}

TEST_CASE_METHOD(Fixture, "attend=self: a module sees only itself") {
  const auto all = jobs("attend='self'");
  CHECK(show(all, "") == "{0:<s>[sys:sys:sys]}{4: mid }{6: end }");
  CHECK(show(all, "a") == "{0:a1 }(2:fill_){4: a2 }{6: a3}");
  CHECK(show(all, "y/z") == "{0:z1}");
}

TEST_CASE_METHOD(
    Fixture, "attend=schema: a module sees the whole schema before it, one member of each union") {
  const auto all = jobs("attend='schema'", "", "scaffold='y'");
  CHECK(show(all, "") == "{0:<s>[sys:sys:sys]}(4:a1 fill_ a2 n1 a3){12: mid }(14:y1 z1){17: end }");
  CHECK(show(all, "a") == "(0:<s>[sys:sys:sys]){4:a1 }(6:fill_){8: a2 }(10:n1){11: a3}");
  CHECK(show(all, "x") == "(0:<s>[sys:sys:sys]a1 fill_ a2 n1 a3 mid ){14:x1 x2 x3}");
  CHECK(show(all, "y/z") == "(0:<s>[sys:sys:sys]a1 fill_ a2 n1 a3 mid y1 ){16:z1}");
  // A module without a cache is seen as it stands.
  CHECK(show(all, "last") == "(0:<s>[sys:sys:sys]a1 fill_ a2 n1 a3 mid y1 z1 end b1 c1){22:l1}");
  // Without a default member the union is as if it were not there.
  CHECK(show(jobs("attend='schema'"), "last") ==
        "(0:<s>[sys:sys:sys]a1 fill_ a2 n1 a3 mid  end b1 c1){19:l1}");
}

TEST_CASE_METHOD(Fixture, "positions=schema keeps the schema's positions in every pass") {
  const auto all = jobs("positions='schema'");
  // a: 4-11, mid: 12, union: 14-16, end: 17, b: 19-21, last: 22
  CHECK(show(all, "") == "{0:<s>[sys:sys:sys]}{12: mid }{17: end }");
  CHECK(show(all, "a") == "(0:<s>[sys:sys:sys]){4:a1 }(6:fill_){8: a2 }{11: a3}");
  CHECK(show(all, "x") == "(0:<s>[sys:sys:sys])(12: mid ){14:x1 x2 x3}");
  CHECK(show(all, "last") == "(0:<s>[sys:sys:sys])(12: mid )(17: end ){22:l1}");
  CHECK(show(jobs("positions='schema' attend='self'"), "x") == "{14:x1 x2 x3}");
}

TEST_CASE_METHOD(Fixture,
                 "a scaffold keeps its modules and what is always there after the first of them") {
  for (const char* attend : {"attend='prefix'", "attend='self'", "attend='schema'"}) {
    INFO(attend);
    CHECK(show(jobs(attend, "<scaffold name='f' modules='last a'/>"), "scaffold f") ==
          "(0:<s>[sys:sys:sys]){4:a1 }(6:fill_){8: a2 }{10: a3}{11: mid }{13: end }{15:l1}");
    CHECK(show(jobs(attend, "<scaffold name='f' modules='y y/z'/>"), "scaffold f") ==
          "(0:<s>[sys:sys:sys] mid ){6:y1 }{8:z1}{9: end }");
  }
}

TEST_CASE_METHOD(Fixture, "a scaffold whose modules have no text needs no job") {
  CHECK(names(jobs_of(
            "<schema name='s'><module name='e'/><scaffold name='f' modules='e'/></schema>")) ==
        std::vector<std::string>{""});
}
