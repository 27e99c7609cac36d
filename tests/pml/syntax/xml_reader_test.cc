#include "pml/syntax/xml_reader.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/expect.h"

using namespace pc;
using namespace pc::pml;
using pc::test::expect_error;
using pc::test::must;

namespace {

void refused(const std::string& document, std::uint32_t line, std::uint32_t column,
             const std::string& part) {
  INFO(document.substr(0, 200));
  expect_error(read_xml(document), Code::kPmlSyntax, line, column, part);
}

std::string nested(std::size_t depth) {
  std::string open, close;
  for (std::size_t i = 0; i < depth; ++i) open += "<a>", close += "</a>";
  return open + close;
}

}  // namespace

TEST_CASE("elements, attributes and text runs with their places") {
  const XmlNode root = must(read_xml(
      "<a x='1' y=\"two\">\n  one\n  <b/>two<!-- c -->three<![CDATA[ <4> ]]>&lt;&#x41;</a>"));
  CHECK(root.name == "a");
  CHECK(root.place == Place{1, 1});
  REQUIRE(root.attributes.size() == 2);
  CHECK(*root.attribute("y") == "two");
  CHECK(root.attribute("z") == nullptr);
  REQUIRE(root.children.size() == 3);
  CHECK(root.children[0].text == "\n  one\n  ");
  CHECK(root.children[0].place == Place{2, 3});
  CHECK(root.children[1].name == "b");
  CHECK(root.children[1].place == Place{3, 3});
  CHECK(root.children[2].text == "twothree <4> <A");
  CHECK(root.children[2].place == Place{3, 7});
}

TEST_CASE("columns count bytes, and every kind of line end counts once") {
  const XmlNode root = must(read_xml("<a>\xC3\xA9<b/>\r\n<c/>\r<d/>\n\n <e/></a>"));
  const auto place = [&](const char* name) {
    for (const XmlNode& child : root.children)
      if (child.name == name) return child.place;
    return Place{};
  };
  CHECK(place("b") == Place{1, 6});
  CHECK(place("c") == Place{2, 1});
  CHECK(place("d") == Place{3, 1});
  CHECK(place("e") == Place{5, 2});
  CHECK(root.children[2].text == "\n");  // XML makes every line end a line feed
}

TEST_CASE("a byte order mark and a declaration of UTF-8 are welcome") {
  CHECK(read_xml("\xEF\xBB\xBF<a/>").ok());
  CHECK(read_xml("<?xml version=\"1.0\"?><a/>").ok());
  CHECK(read_xml("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?><a/>").ok());
  CHECK(read_xml("\xEF\xBB\xBF<?xml version='1.0' encoding='UTF-8'?>\n<a/>").ok());
}

TEST_CASE("other encodings and versions are refused") {
  refused("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", 1, 1, "encoding 'ISO-8859-1'");
  refused("<?xml version='1.0' encoding='UTF-16'?><a/>", 1, 1, "save the document as UTF-8");
  refused("<?xml version='1.0' encoding='utf-7'?><a/>", 1, 1, "utf-7");
  refused("<?xml version='1.1'?><a/>", 1, 1, "XML version '1.1'");
  refused(std::string("\xFF\xFE<\0a\0/\0>\0", 10), 1, 1, "not UTF-8");
  refused(std::string("\0<\0a\0/\0>", 8), 1, 1, "not UTF-8");
  refused("<a>\n caf\xE9</a>", 2, 5, "not UTF-8");
  refused("<a>\xED\xA0\x80</a>", 1, 4, "not UTF-8");
  refused("<a>\xC0\xBC</a>", 1, 4, "not UTF-8");
}

TEST_CASE("DOCTYPE is refused, and with it every entity bomb") {
  refused("<!DOCTYPE a><a/>", 1, 1, "DOCTYPE");
  refused(
      "<?xml version='1.0'?>\n<!DOCTYPE lolz [\n <!ENTITY lol \"lol\">\n"
      " <!ENTITY lol2 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\">\n]>\n<a>&lol2;</a>",
      2, 1, "DOCTYPE");
  refused("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", 1, 1, "DOCTYPE");
  refused("<!DOCTYPE a [<!ENTITY x SYSTEM \"http://example.org/\">]><a>&x;</a>", 1, 1, "DOCTYPE");
  refused("<a>&nbsp;</a>", 1, 4, "undefined entity");
}

TEST_CASE("processing instructions are refused wherever they stand") {
  refused("<?xml-stylesheet href='a'?><a/>", 1, 1, "'xml-stylesheet'");
  refused("<a>\n<?php echo 1 ?></a>", 2, 1, "write '<?' in text as '&lt;?'");
}

TEST_CASE("what is not well-formed is refused with its place") {
  refused("", 1, 1, "no element");
  refused("   \n ", 2, 2, "no element");
  refused("hello", 1, 1, "not well-formed");
  refused("<a>x < 3</a>", 1, 6, "'&lt;'");
  refused("<a>R&D</a>", 1, 5, "'&amp;'");
  refused("<a>R & D</a>", 1, 6, "'&amp;'");
  refused("<a>AT&amp</a>", 1, 6, "'&amp;'");
  refused("<a x='1<2'/>", 1, 8, "'&lt;'");
  refused("<a>\n<b>\n</a>", 3, 3, "does not close <b>, opened at 2:1");
  refused("<a>\n  <b>text", 2, 10, "the document ends before <b>, opened at 2:3");
  refused("<a", 1, 1, "ends inside a tag");
  refused("<a><b", 1, 4, "the document ends before <a>, opened at 1:1");
  refused("<a x='1' x='2'/>", 1, 10, "given twice");
  refused("<a/><b/>", 1, 5, "after the end of <a>");
  refused("<a/>text", 1, 5, "after the end of <a>");
  refused("<a>\x01</a>", 1, 4, "not well-formed");
  refused("<a>&#0;</a>", 1, 4, "not well-formed");
  refused(std::string("<a>\0</a>", 8), 1, 4, "not UTF-8 text");
}

TEST_CASE("depth, number of elements and size have limits") {
  CHECK(read_xml(nested(kMaxDepth)).ok());
  refused(nested(kMaxDepth + 1), 1, 3 * kMaxDepth + 1, "deeper than 64");
  refused(nested(100000), 1, 3 * kMaxDepth + 1, "deeper than 64");

  std::string many = "<a>";
  for (std::size_t i = 1; i < kMaxElements; ++i) many += "<b/>";
  CHECK(read_xml(many + "</a>").ok());
  refused(many + "<b/></a>", 1, static_cast<std::uint32_t>(many.size() + 1),
          "more than 65536 elements");

  const std::string full = "<a>" + std::string(kMaxDocumentBytes - 7, 'x') + "</a>";
  CHECK(must(read_xml(full)).children[0].text.size() == kMaxDocumentBytes - 7);
  refused(full + "\n", 0, 0, "the document has 4194305 bytes; the most is 4194304");
}

TEST_CASE("hostile shapes take time in proportion to their size") {
  std::string attributes = "<a";
  for (int i = 0; i < 200000; ++i) attributes += " a" + std::to_string(i) + "=''";
  CHECK(must(read_xml(attributes + "/>")).attributes.size() == 200000);
  std::string references = "<a>";
  while (references.size() < kMaxDocumentBytes - 16) references += "&lt;";
  CHECK(read_xml(references + "</a>").ok());
  const std::string line = "<a>" + std::string(3 << 20, ' ') + "<b/><b/><b/></a>";
  CHECK(must(read_xml(line)).children[1].place.column == (3 << 20) + 4);
}

TEST_CASE("a name is what could be a tag, without colon") {
  for (const char* name :
       {"a", "_", "trip-plan", "unit.py", "a1", "\xC3\xA9t\xC3\xA9", "\xE6\x9D\xB1\xE4\xBA\xAC"}) {
    INFO(name);
    CHECK(must(is_xml_name(name)));
  }
  for (const char* name :
       {"",   "1a",  "-a",  ".a",       "a b",   "a:b",     ":a", "a/", "a>", "a<",
        "a&", "a\"", "a\n", "\xC3\x97", "a\xFF", "a x='1'", "a'", "!a", "?a", "a="}) {
    INFO(name);
    CHECK_FALSE(must(is_xml_name(name)));
  }
  CHECK_FALSE(must(is_xml_name(std::string("a\0b", 3))));
}
