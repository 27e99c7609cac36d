#include "pml/jinja_shape.h"

#include <catch2/catch.hpp>
#include <string>

using pc::pml::jinja_shape;

namespace {

// The shape with V, B and E for its marks.
std::string shape(const std::string& jinja) {
  std::string out = jinja_shape(jinja);
  for (char& c : out) c = c == '\1' ? 'V' : c == '\2' ? 'B' : c == '\3' ? 'E' : c;
  return out;
}

}  // namespace

TEST_CASE("text and literals stand as they are put out, values are marks") {
  CHECK(shape("") == "");
  CHECK(shape("plain\ntext") == "plain\ntext");
  CHECK(shape("a{{ b }}c") == "aVc");
  CHECK(shape(R"({{ bos_token + '[x] ' + m['content'].strip() + ' [/x]' ~ eos_token }})") ==
        "B[x] V [/x]E");
  CHECK(shape(R"({{'<|' + m.role + '|>' + '\n'}})") == "<|V|>\n");
  CHECK(shape(R"({{ "it's" + 'a "b"' + '\'\\\t' }})") == "it'sa \"b\"'\\\t");
  CHECK(shape(R"({{ m['a'] | trim + '!' }})") == "V!");
  CHECK(shape("{{ 'real\nline end' }}") == "real\nline end");
}

TEST_CASE("literals in calls, indices and collections are not put out") {
  CHECK(shape(R"({{ f('x') + g(h["y"])[0] }})") == "V");
  CHECK(shape(R"({{ {'k': ['v', {'w': 1}]} }}after)") == "Vafter");
  CHECK(shape(R"({{ ('<a>' + (b)) + '</a>' }})") == "<a>V</a>");
  CHECK(shape(R"({{ f(bos_token) }})") == "V");
}

TEST_CASE("statements are marked off, comments are nothing") {
  CHECK(shape("a{% if x %}b{% endif %}c") == "aVbVc");
  CHECK(shape(R"({% set c = '<a>' + m + '</a>' %})") == "V<a>V</a>V");
  CHECK(shape("a{# {{ 'b' }} #}c") == "ac");
}

TEST_CASE("white space goes where the tags take it") {
  CHECK(shape("a \n {{- b -}} \n c") == "aVc");
  CHECK(shape("a\n{{ b }}\nc") == "a\nV\nc");
  CHECK(shape("a\n  {% x %}\n  {% y %}\nb\n") == "a\nVb\n");  // trim_blocks, lstrip_blocks
  CHECK(shape("a  {% x %}b") == "a  Vb");
  CHECK(shape("  {% x %}\n\nb") == "V\nb");
  CHECK(shape("a\n  {%+ x %}b") == "a\n  Vb");
  CHECK(shape("{{ a }}  {% x %}b") == "V  Vb");
  CHECK(shape("a\n{#- b -#}\nc") == "ac");
}

TEST_CASE("what does not end, ends with the text") {
  for (const char* cut : {"{{", "{%", "{#", "{{ 'a", "{{ 'a\\", "{{ f('a'", "{{ b }", "{% if x %",
                          "{", "{{-", "}}", "{{ )]} }}", "\1\2\3"}) {
    INFO(cut);
    CHECK(jinja_shape(cut).size() <= 2 * std::string(cut).size());
  }
  CHECK(shape("a\1\2\3b") == "ab");
}
