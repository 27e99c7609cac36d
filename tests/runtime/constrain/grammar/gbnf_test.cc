// Grammars in GBNF take the texts that they say, and no others; what is none is refused where it
// stands.
#include "runtime/constrain/grammar/gbnf.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

std::string refused(const std::string& text) {
  return refusal_of(gbnf_grammar(text, "grammar"));
}

void check(const std::string& text, const std::vector<std::string>& good,
           const std::vector<std::string>& bad) {
  INFO(text);
  const Automaton automaton = gbnf_grammar(text, "grammar").compiled().value().automaton;
  for (const std::string& one : good) {
    INFO(one);
    CHECK(takes(automaton, one));
  }
  for (const std::string& one : bad) {
    INFO(one);
    CHECK_FALSE(takes(automaton, one));
  }
}

TEST_CASE("literals, classes, alternatives and repetitions") {
  check(R"(root ::= "ab")", {"ab"}, {"", "a", "abb"});
  check(R"(root ::= "a" | "b" "c")", {"a", "bc"}, {"b", "ac", "abc"});
  check(R"(root ::= [a\]-])", {"a", "]", "-"}, {"b"});
  check("root ::= [a-c] [^a-c]", {"ad", "c\xC3\xA4"}, {"aa", "dd", "a"});
}

TEST_CASE("repetitions") {
  check(R"(root ::= "a"* "b")", {"b", "aab"}, {"", "a"});
  check(R"(root ::= "ab"+)", {"ab", "abb"}, {"abab", "a"});  // of the last character
  check(R"(root ::= ("ab")+)", {"ab", "abab"}, {"abb"});
  check(R"(root ::= "a"{2} "b"{1,} "c"{0,2})", {"aab", "aabbcc"}, {"ab", "aa", "aabccc"});
  check(R"(root ::= ("a"?)* "b")", {"b", "aab"}, {"a"});
}

TEST_CASE("escapes, any character, comments and line breaks") {
  check(R"(root ::= "\x41\u00e4\U0001F600\t\n\\\"")", {"A\xC3\xA4\xF0\x9F\x98\x80\t\n\\\""}, {"A"});
  check("# says nothing\nroot ::= # nor this\n  . x |\n  (\n \"y\"\n )\n\nx ::= \"x\" # end",
        {"\xC3\xA4x", "y"}, {"x", "xy"});
}

TEST_CASE("rules may call themselves behind something") {
  check(R"g(root ::= "(" root ")" | "x")g", {"x", "((x))"}, {"((x)", "()"});
  check(R"g(root ::= e
e ::= t ("+" t)*
t ::= [0-9]+ | "(" e ")")g",
        {"1", "12+(3+4)+((5))"}, {"+", "1+", "(1", "1)"});
  check(R"g(root ::= "a" root | "a")g", {"a", "aaaa"}, {"", "b"});
  check("root ::= \"[\" (v (\",\" ws v)*)? \"]\"\nv ::= \"1\" | root\nws ::= [ ]*",
        {"[]", "[1]", "[1, [1,[]],  1]"}, {"[1,]", "[", "[ 1]"});
}

TEST_CASE("rules that take the empty text may be left out") {
  check("root ::= a b \"c\"\na ::= \"a\"?\nb ::= a a", {"c", "ac", "aaac"}, {"", "aaaac"});
  check("root ::= \"a\"*", {"a", "aa"}, {"b"});
}

TEST_CASE("a rule that never ends is not entered") {
  check("root ::= \"a\" | \"b\" loop\nloop ::= \"c\" loop", {"a"}, {"b", "bc"});
  CHECK_FALSE(refused("root ::= \"c\" root").empty());
}

TEST_CASE("what cannot be enforced is refused by name") {
  CHECK(refused(R"(root ::= root "a" | "b")").find("\"root\" may begin with itself") !=
        std::string::npos);
  CHECK(refused("root ::= a \"x\"\na ::= ws b\nb ::= a | \"y\"\nws ::= [ ]*")
            .find("\"a\" may begin with itself") != std::string::npos);
  CHECK(refused("root ::= other").find("\"other\" is missing") != std::string::npos);
  CHECK(refused("a ::= \"b\"").find("\"root\" is missing") != std::string::npos);
  CHECK(refused("root ::= \"a\"\n\nx ::= <[1]>").find("line 3: tokens in angle") !=
        std::string::npos);
  CHECK(refused("root ::= [a-z]{1,2000} [a-z]{1,2000} [a-z]{1,2000} [a-z]{1,2000} (\"a\" "
                "[a-z]{2000} | [a-z]{2000} \"a\"){2000}")
            .find("too large") != std::string::npos);
}

TEST_CASE("what is no GBNF is refused with its line") {
  for (const char* const text :
       {"root", "root ::= \"a", "root ::= [a", "root ::= (\"a\"", "root ::= \"a\"{2",
        "root ::= a{3,2}", "root ::= \"\\q\"", "root ::= \"\\x4\"", "root ::= \"\\uD800\"",
        "root ::= ]", "root ::= [b-a]", "root ::= \"a\"{9999}", "root ::= \"a\"\nroot ::= \"b\"",
        "root ::= \"a\" ::= \"b\"", "root ::= [a-", "root ::= \"\\", "::= \"a\"",
        "root ::= \"a\"*********"})
    CHECK(refused(text).find("line ") != std::string::npos);
  CHECK(refused("root ::= " + std::string(100, '(') + "\"a\"" + std::string(100, ')'))
            .find("64 groups") != std::string::npos);
  CHECK(refused("root ::= \"" + std::string(70000, 'a') + "\"").find("64 KiB") !=
        std::string::npos);
}

}  // namespace
}  // namespace pc::constrain::test
