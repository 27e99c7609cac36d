// Messages against the same prompt written in PML.

#include "pml/turns/messages.h"

#include <catch2/catch.hpp>

#include "pml/syntax/prompt_parser.h"
#include "tests/support/expect.h"

namespace pc::test {
namespace {

using pml::PromptNode;

std::string written(const std::vector<PromptNode>& nodes) {
  std::string text;
  for (const PromptNode& node : nodes) {
    if (node.kind == PromptNode::Kind::kText) {
      text += "'" + node.text + "'";
      continue;
    }
    text += node.kind == PromptNode::Kind::kRole ? std::string(role_name(node.role)) : node.name;
    for (const pml::Argument& a : node.arguments) text += " " + a.name + "=" + a.value;
    text += "(" + written(node.children) + ")";
  }
  return text;
}

}  // namespace

TEST_CASE("messages are the prompt that PML writes") {
  const std::vector<pml::Message> messages = {{pml::Role::kSystem, {{"Be brief.", "", {}}}},
                                              {pml::Role::kUser,
                                               {{"", "trip", {{"duration", "3 days"}}},
                                                {"", "europe/paris", {}},
                                                {"", "europe/rome", {}},
                                                {" Highlight the sights.", "", {}}}},
                                              {pml::Role::kAssistant, {{"Which?", "", {}}}}};
  const auto prompt = must(pml::prompt_of("travel", messages));
  CHECK(prompt.schema == "travel");
  const auto same = must(pml::parse_prompt(
      "<prompt schema='travel'><system>Be brief.</system><user><trip duration='3 days'/>"
      "<europe><paris/><rome/></europe> Highlight the sights.</user>"
      "<assistant>Which?</assistant></prompt>"));
  CHECK(written(prompt.children) == written(same.children));
}

TEST_CASE("text is taken as it stands") {
  const std::string text = "  two  spaces\n<doc/> &amp; ";
  const auto prompt = pml::prompt_of("s", text);
  REQUIRE(prompt.children.size() == 1);
  CHECK(prompt.children[0].text == text);
}

TEST_CASE("a module by its path alone brings what it stands in, once for each import") {
  const std::vector<pml::Message> messages = {
      {pml::Role::kUser, {{"", "a/b", {}}, {"", "a/c", {}}, {"x", "", {}}, {"", "a/b", {}}}}};
  CHECK(written(must(pml::prompt_of("s", messages)).children) == "user(a(b()c())'x'a(b()))");
  const std::vector<pml::Message> twice = {
      {pml::Role::kUser, {{"", "a", {}}, {"", "a/b", {}}, {"", "a", {}}}}};
  CHECK(written(must(pml::prompt_of("s", twice)).children) == "user(a(b())a())");
}

TEST_CASE("a path with an empty name is an error that quotes it") {
  for (const char* path : {"/", "a/", "/a", "a//b"}) {
    const std::vector<pml::Message> messages = {{pml::Role::kUser, {{"", path, {}}}}};
    const auto prompt = pml::prompt_of("s", messages);
    REQUIRE(!prompt.ok());
    CHECK(prompt.error().message.find(path) != std::string::npos);
  }
}

}  // namespace pc::test
