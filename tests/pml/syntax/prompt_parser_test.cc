#include "pml/syntax/prompt_parser.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/expect.h"

using namespace pc;
using namespace pc::pml;
using pc::test::expect_error;
using pc::test::must;
using Kind = PromptNode::Kind;

namespace {

void refused(const std::string& document, std::uint32_t line, std::uint32_t column,
             const std::string& part) {
  INFO(document);
  expect_error(parse_prompt(document), Code::kPmlSemantic, line, column, part);
}

}  // namespace

TEST_CASE("a prompt with everything in it") {
  const Prompt prompt =
      must(parse_prompt("<prompt schema='travel'>Hello <trip-plan duration='3  days' who=''/>\n"
                        " <user><europe>\n between <paris/></europe>Go!</user>\n</prompt>"));
  CHECK(prompt.schema == "travel");
  REQUIRE(prompt.children.size() == 3);
  CHECK(prompt.children[0].text == "Hello ");
  const PromptNode& plan = prompt.children[1];
  CHECK(plan.kind == Kind::kImport);
  CHECK(plan.name == "trip-plan");
  CHECK(plan.place == Place{1, 31});
  REQUIRE(plan.arguments.size() == 2);
  CHECK(plan.arguments[0].name == "duration");
  CHECK(plan.arguments[0].value == "3  days");  // arguments are not folded
  const PromptNode& user = prompt.children[2];
  CHECK(user.kind == Kind::kRole);
  CHECK(user.role == Role::kUser);
  REQUIRE(user.children.size() == 2);
  CHECK(user.children[0].children.at(0).text == " between ");
  CHECK(user.children[0].children.at(1).name == "paris");
  CHECK(user.children[1].text == "Go!");
}

TEST_CASE("comments are not imports, and white space between elements is nothing") {
  const Prompt prompt = must(parse_prompt("<prompt schema='s'>\n <!-- a --> <a/>\n</prompt>"));
  REQUIRE(prompt.children.size() == 1);
  CHECK(prompt.children[0].name == "a");
}

TEST_CASE("xml:space works in prompts and is no argument") {
  const Prompt prompt =
      must(parse_prompt("<prompt schema='s'><a xml:space='preserve' x='1'>  t <b "
                        "xml:space='default'> u </b></a></prompt>"));
  const PromptNode& a = prompt.children.at(0);
  CHECK(a.arguments.size() == 1);
  CHECK(a.children.at(0).text == "  t ");
  CHECK(a.children.at(1).children.at(0).text == " u ");
  refused("<prompt schema='s'><a xml:space='x'/></prompt>", 1, 20, "'preserve' or 'default'");
}

TEST_CASE("the root element is a prompt for a schema") {
  refused("<schema name='s'/>", 1, 1, "not <schema>");
  refused("<!-- x -->\n<prompt/>", 2, 1, "needs the attribute 'schema'");
  refused("<prompt schema='s' schemas='t'/>", 1, 1, "did you mean 'schema'?");
  expect_error(parse_prompt("<prompt schema='s'>"), Code::kPmlSyntax, 1, 20,
               "ends before <prompt>");
  expect_error(parse_prompt("<prompt schema='s'>caf\xE9</prompt>"), Code::kPmlSyntax, 1, 23,
               "not UTF-8");
}

TEST_CASE("tags of the schema's language do not belong in a prompt") {
  for (const char* tag : {"schema", "prompt", "module", "union", "param", "parameter", "scaffold"})
    refused("<prompt schema='s'><" + std::string(tag) + "/></prompt>", 1, 20,
            "does not belong in a prompt");
  refused("<prompt schema='s'><a:b/></prompt>", 1, 20, "is not a name");
}

TEST_CASE("roles take no attributes and do not stand in one another") {
  refused("<prompt schema='s'><user name='x'/></prompt>", 1, 20, "<user> has no attribute 'name'");
  refused("<prompt schema='s'><user><user/></user></prompt>", 1, 26, "<user> inside <user>");
  refused("<prompt schema='s'><user><a><system/></a></user></prompt>", 1, 29,
          "<system> inside <user>");
  CHECK(parse_prompt("<prompt schema='s'><a><user/></a><user/></prompt>").ok());
}
