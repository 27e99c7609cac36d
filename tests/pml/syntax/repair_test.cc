// repair=: what may be written, and where.
#include "pml/syntax/repair.h"

#include <catch2/catch.hpp>
#include <string>

#include "pml/layout/layout_builder.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

namespace pc::pml::test {
namespace {

using pc::test::expect_error;
using pc::test::must;

TEST_CASE("repairs are read and written") {
  CHECK(must(parse_repair("none")) == Repair{});
  CHECK(must(parse_repair("leading:16")) == Repair{Repair::Kind::kLeading, 16, 0.0});
  CHECK(must(parse_repair("selected:12.5%")) == Repair{Repair::Kind::kSelected, 0, 0.125});
  CHECK(must(parse_repair("all")) == Repair{Repair::Kind::kLeading, kAllTokens, 0.0});
  CHECK(must(parse_repair("auto")).kind == Repair::Kind::kAuto);
  for (const char* text : {"none", "all", "auto", "leading:1", "leading:4000000000", "selected:15%",
                           "selected:0.5%", "selected:100%", "attended:7%"})
    CHECK(to_string(must(parse_repair(text))) == text);
  for (const char* text : {"",
                           "None",
                           "leading",
                           "leading:",
                           "leading:0",
                           "leading:-1",
                           "leading:1.5",
                           "leading:16 ",
                           "leading:99999999999",
                           "selected:15",
                           "selected:%",
                           "selected:0%",
                           "selected:101%",
                           "selected:nan%",
                           "selected:inf%",
                           "selected:-1%",
                           "selected:15%%",
                           "All",
                           "auto:15%",
                           "all "})
    expect_error(parse_repair(text), Code::kInvalidArgument, 0, 0, "leading:N");
}

TEST_CASE("a schema and a prompt say how modules are repaired") {
  CHECK(must(parse_schema("<schema name='s'/>", {})).repair == Repair{});
  CHECK(must(parse_schema("<schema name='s' repair='leading:4'/>", {})).repair.n_tokens == 4);
  CHECK_FALSE(must(parse_prompt("<prompt schema='s'/>")).repair);
  CHECK(must(parse_prompt("<prompt schema='s' repair='none'/>")).repair == Repair{});
  expect_error(parse_schema("<schema name='s'\n repair='some'/>", {}), Code::kPmlSemantic, 1, 1,
               "\"some\"");
  expect_error(parse_prompt("<prompt schema='s' repair='selected:0%'/>"), Code::kPmlSemantic, 1, 1,
               "selected:0%");
}

TEST_CASE("a module says how it is repaired, and how what stands in it is") {
  const Schema schema =
      must(parse_schema("<schema name='s' repair='leading:4'><module name='a'>A</module>"
                        "<module name='b' repair='none'>B<module name='c'>C</module>"
                        "<module name='d' repair='selected:20%'>D</module></module></schema>",
                        {}));
  CHECK_FALSE(schema.children[0].repair);
  CHECK(schema.children[1].repair == Repair{});
  pc::test::FakeTokenizer tokenizer;
  const Layout layout = must(lay_out(schema, tokenizer.encoder()));
  const auto repair_of = [&](const char* path) {
    return to_string(layout.modules[*layout.find_module(path)].repair);
  };
  CHECK(to_string(layout.modules[kRoot].repair) == "leading:4");
  CHECK(repair_of("a") == "leading:4");
  CHECK(repair_of("b") == "none");
  CHECK(repair_of("b/c") == "none");
  CHECK(repair_of("b/d") == "selected:20%");
  expect_error(parse_schema("<schema name='s'>\n<module name='a' repair='15%'/></schema>", {}),
               Code::kPmlSemantic, 2, 1, "\"15%\"");
  expect_error(parse_schema("<schema name='s'><module repair='none'>A</module></schema>", {}),
               Code::kPmlSemantic, 1, 18, "repair");
}

}  // namespace
}  // namespace pc::pml::test
