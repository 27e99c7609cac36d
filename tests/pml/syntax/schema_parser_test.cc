#include "pml/syntax/schema_parser.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/expect.h"

using namespace pc;
using namespace pc::pml;
using pc::test::expect_error;
using pc::test::must;
using Kind = SchemaNode::Kind;

namespace {

const SchemaNode& only(const Schema& schema) {
  REQUIRE(schema.children.size() == 1);
  return schema.children[0];
}

std::string text_of(const std::string& document) {
  const Schema schema = must(parse_schema(document));
  return schema.children.empty() ? "(nothing)" : only(schema).text;
}

void refused(const std::string& document, std::uint32_t line, std::uint32_t column,
             const std::string& part) {
  INFO(document);
  expect_error(parse_schema(document), Code::kPmlSemantic, line, column, part);
}

// The content of a schema named s: 18 bytes stand before it.
void refused_inside(const std::string& content, std::uint32_t column, const std::string& part) {
  refused("<schema name='s'> " + content + "</schema>", 1, 18 + column, part);
}

Result<std::string> one_file(const std::string& path) {
  if (path == "a.txt") return std::string("\n  from the file \r\n");
  if (path == "crlf.txt")
    return std::string(
        "\xEF\xBB\xBF"
        "one\r\ntwo\rthree\n\n");
  if (path == "empty.txt") return std::string();
  if (path == "latin.txt") return std::string("caf\xE9");
  return error(Code::kNotFound, "no file '" + path + "'");
}

}  // namespace

TEST_CASE("a schema with everything in it") {
  const Schema schema = must(parse_schema(R"(<schema name="travel" positions="schema" attend="self">
    <system>You are an assistant.</system>
    Anonymous.
    <module name="plan">For <param name="days" len="8" scaffold="ten days"/> in <parameter name="year" length="2"/></module>
    <union scaffold="tokyo"><module name="miami"/><module name="tokyo" cache="false">T</module></union>
    <user><module name="europe"><module name="paris">P</module></module></user>
    <scaffold name="both" modules="plan  europe/paris"/>
  </schema>)"));
  CHECK(schema.name == "travel");
  CHECK(schema.positions == Positions::kSchema);
  CHECK(schema.attend == Attend::kSelf);
  REQUIRE(schema.children.size() == 5);

  const SchemaNode& system = schema.children[0];
  CHECK(system.kind == Kind::kRole);
  CHECK(system.role == Role::kSystem);
  CHECK(system.children.at(0).text == "You are an assistant.");
  CHECK(schema.children[1].text == " Anonymous. ");

  const SchemaNode& plan = schema.children[2];
  CHECK(plan.kind == Kind::kModule);
  CHECK(plan.name == "plan");
  CHECK(plan.cache);
  CHECK(plan.place == Place{4, 5});
  REQUIRE(plan.children.size() == 4);
  CHECK(plan.children[1].kind == Kind::kParam);
  CHECK(plan.children[1].name == "days");
  CHECK(plan.children[1].len == 8);
  CHECK(plan.children[1].text == "ten days");
  CHECK(plan.children[3].len == 2);

  const SchemaNode& options = schema.children[3];
  CHECK(options.kind == Kind::kUnion);
  CHECK(options.name == "tokyo");
  REQUIRE(options.children.size() == 2);
  CHECK(options.children[0].children.empty());
  CHECK_FALSE(options.children[1].cache);

  CHECK(schema.children[4].children.at(0).children.at(0).name == "paris");
  REQUIRE(schema.scaffolds.size() == 1);
  CHECK(schema.scaffolds[0].modules == std::vector<std::string>{"plan", "europe/paris"});
}

TEST_CASE("the defaults") {
  const Schema schema = must(parse_schema("<schema name='s'><module name='m'/></schema>"));
  CHECK(schema.positions == Positions::kCompact);
  CHECK(schema.attend == Attend::kPrefix);
  CHECK(only(schema).cache);
}

TEST_CASE("white space at the ends of a text run becomes one space, inside it stays") {
  CHECK(text_of("<schema name='s'>a  b\n c</schema>") == "a  b\n c");
  CHECK(text_of("<schema name='s'>\n\t a \r\n </schema>") == " a ");
  CHECK(text_of("<schema name='s'> \n\t </schema>") == "(nothing)");
  CHECK(text_of("<schema name='s'>\xC2\xA0"
                "a</schema>") ==
        "\xC2\xA0"
        "a");  // a no-break space is text
  CHECK(text_of("<schema name='s'>a <!-- x --> b<![CDATA[ <c/> ]]></schema>") == "a  b <c/> ");
  CHECK(text_of("<schema name='s'>&lt;b&gt; &amp; &#65;</schema>") == "<b> & A");
  CHECK(text_of("<schema name='s'>&#32;a</schema>") == " a");
}

TEST_CASE("xml:space is inherited and can be reset") {
  // On the schema it is for the modules in it, not for what stands between them.
  CHECK(text_of("<schema name='s' xml:space='preserve'>\n a \n</schema>") == " a ");
  CHECK(must(parse_schema("<schema name='s' xml:space='preserve'>\n <system>\n a</system>\n "
                          "<module>\n b\n</module>\n</schema>"))
            .children.at(1)
            .text == "\n b\n");
  CHECK(must(parse_schema("<schema name='s' xml:space='preserve'><system>\n a</system></schema>"))
            .children.at(0)
            .children.at(0)
            .text == " a");
  const Schema schema =
      must(parse_schema("<schema name='s' xml:space='preserve'><module name='m'>  a  <module "
                        "name='n' xml:space='default'>  b  "
                        "</module></module></schema>"));
  CHECK(only(schema).children.at(0).text == "  a  ");
  CHECK(only(schema).children.at(1).children.at(0).text == " b ");
  CHECK(must(parse_schema("<schema name='s'><union xml:space='preserve'> <module name='m'>  "
                          "a</module> </union></schema>"))
            .children.at(0)
            .children.at(0)
            .children.at(0)
            .text == "  a");
}

TEST_CASE("white space between two pieces of content on one line is one space") {
  const auto texts = [](const std::string& content) {
    std::string out;
    for (const SchemaNode& node :
         must(parse_schema("<schema name='s'>" + content + "</schema>")).children)
      out += node.kind == SchemaNode::Kind::kText ? "[" + node.text + "]" : "*";
    return out;
  };
  CHECK(texts("<module name='a'/> \t <module name='b'/>") == "*[ ]*");
  CHECK(texts("<module name='a'/> <!-- x --> <union/>") == "*[ ]*");
  CHECK(texts("<module name='a'/>\n<module name='b'/>") == "**");
  CHECK(texts("<module name='a'/> \r\n <module name='b'/>") == "**");
  CHECK(texts(" <module name='a'/> ") == "*");  // nothing stands on the other side
  CHECK(texts("<module name='a'/> <user/> <module name='b'/>") == "***");  // a turn stands alone
  CHECK(texts("<module name='a'/> <module>b</module>c") == "*[ ][b][c]");
  CHECK(only(must(parse_schema("<schema name='s'><module name='m'><param name='p' len='1'/> <param "
                               "name='q' len='1'/></module></schema>")))
            .children.at(1)
            .text == " ");
}

TEST_CASE("a module without a name is anonymous text") {
  const Schema schema = must(parse_schema(
      "<schema name='s'><module src='a.txt'>one <module name='m'/></module><module name='n'>"
      "<module><param name='p' len='1'/></module></module></schema>",
      one_file));
  REQUIRE(schema.children.size() == 4);
  CHECK(schema.children[0].text == "\n  from the file \r\n");
  CHECK(schema.children[1].text == "one ");
  CHECK(schema.children[2].name == "m");
  CHECK(schema.children[3].children.at(0).name == "p");
  refused_inside("<module name='m'/><module><module name='m'/></module>", 27, "already defined");
  refused_inside("<module cache='false'>x</module>", 1, "cache= on a <module> without a name");
  refused_inside("<module><param name='p' len='1'/></module>", 9, "outside of a module");
  refused_inside("<union><module>x</module></union>", 8, "<module> needs the attribute 'name'");
  refused_inside("<module nmae='x'/>", 1, "did you mean 'name'?");
}

TEST_CASE("src= puts a file's text in front, as it stands") {
  const auto parse = [](const std::string& document) {
    return must(parse_schema(document, one_file));
  };
  const Schema schema = parse("<schema name='s' src='a.txt'>inline</schema>");
  REQUIRE(schema.children.size() == 2);
  CHECK(schema.children[0].text == "\n  from the file \r\n");
  CHECK(schema.children[1].text == "inline");
  CHECK(
      only(parse("<schema name='s'><module name='m' src='a.txt'/></schema>")).children.at(0).text ==
      "\n  from the file \r\n");
  // Byte for byte, line ends of any kind; a byte order mark is none of the text.
  CHECK(parse("<schema name='s' src='crlf.txt'/>").children.at(0).text == "one\r\ntwo\rthree\n\n");
  CHECK(parse("<schema name='s' src='empty.txt'/>").children.empty());
  expect_error(parse_schema("<schema name='s'>\n<module name='m' src='b.txt'/></schema>", one_file),
               Code::kNotFound, 2, 1, "no file 'b.txt'");
  expect_error(
      parse_schema("<schema name='s'>\n<module name='m' src='latin.txt'/></schema>", one_file),
      Code::kPmlSemantic, 2, 1, "file 'latin.txt' is not UTF-8 at byte 3");
  refused_inside("<module name='m' src='a.txt'/>", 1, "without a folder");
}

TEST_CASE("the text of all files together has a limit") {
  const std::string four_mib(std::size_t{4} << 20, 'x');
  std::string document = "<schema name='s'>";
  std::size_t last = 0;
  for (int i = 0; i < 17; ++i) {
    last = document.size();
    document += "<module name='m" + std::to_string(i) + "' src='x'/>";
  }
  const auto big_file = [&](const std::string&) -> Result<std::string> { return four_mib; };
  expect_error(parse_schema(document + "</schema>", big_file), Code::kPmlSemantic, 1,
               static_cast<std::uint32_t>(last + 1), "exceeds 67108864 bytes");
}

TEST_CASE("the root element is a schema with a name") {
  refused("<prompt schema='s'/>", 1, 1, "not <prompt>");
  refused("\n <schema/>", 2, 2, "needs the attribute 'name'");
  refused("<schema name='a b'/>", 1, 1, "'a b' is not a name");
  refused("<schema name=''/>", 1, 1, "'' is not a name");
}

TEST_CASE("unknown elements and attributes are named with the nearest known one") {
  refused_inside("<modul name='a'/>", 1, "no element <modul> in a schema; did you mean 'module'?");
  refused_inside("<prompt/>", 1, "no element <prompt>");
  refused_inside("<schema name='t'/>", 1, "no element <schema>");
  refused("<schema nmae='s'/>", 1, 1, "<schema> has no attribute 'nmae'; did you mean 'name'?");
  refused("<schema name='s' version='1'/>", 1, 1,
          "has no attribute 'version'; known here: 'name', 'positions'");
  refused_inside("<module name='m' cached='true'/>", 1, "did you mean 'cache'?");
  refused_inside("<union scafold='m'/>", 1, "did you mean 'scaffold'?");
  refused_inside("<module name='m'><param name='p' le='1'/></module>", 18, "did you mean 'len'?");
  refused_inside("<system name='x'/>", 1, "<system> has no attribute 'name'");
  refused_inside("<scaffold name='x' module='a'/>", 1, "did you mean 'modules'?");
}

TEST_CASE("attributes have few values") {
  refused("<schema name='s' positions='dense'/>", 1, 1, "'compact' or 'schema', not 'dense'");
  refused("<schema name='s' attend='all'/>", 1, 1,
          "'prefix' or 'self' or 'schema' or 'slots', not 'all'");
  refused("<schema name='s' xml:space='keep'/>", 1, 1, "'preserve' or 'default', not 'keep'");
  refused_inside("<module name='m' cache='no'/>", 1, "'true' or 'false', not 'no'");
}

TEST_CASE("names of modules") {
  for (const char* tag : {"schema", "prompt", "module", "union", "param", "parameter", "system",
                          "user", "assistant", "scaffold", "stand-in"})
    refused_inside("<module name='" + std::string(tag) + "'/>", 1, "is a tag of the language");
  refused_inside("<module name='a:b'/>", 1, "is not a name");
  refused_inside("<module name='1a'/>", 1, "is not a name");
  refused_inside("<module name='" + std::string(129, 'x') + "'/>", 1, "longer than 128 bytes");
  CHECK(parse_schema("<schema name='s'><module name='" + std::string(128, 'x') + "'/></schema>")
            .ok());
  CHECK(parse_schema(
            "<schema name='s'><module name='\xC3\xA9t\xC3\xA9'/><module name='unit.py'/></schema>")
            .ok());
}

TEST_CASE("a path has a limit too") {
  std::string open, close;
  for (int i = 0; i < 8; ++i)
    open += "<module name='" + std::string(128, 'x') + "'>", close += "</module>";
  refused("<schema name='s'>" + open + close + "</schema>", 1, 18 + 7 * 144,
          "longer than 1024 bytes");
}

TEST_CASE("names are unique among siblings; unions and roles are transparent") {
  refused("<schema name='s'>\n <module name='a'/>\n <module name='a'/></schema>", 3, 2,
          "module 'a' is already defined at 2:2");
  refused_inside("<union><module name='a'/><module name='a'/></union>", 26, "already defined");
  refused_inside("<module name='a'/><union><module name='a'/></union>", 26, "already defined");
  refused_inside("<union><module name='a'/></union><union><module name='a'/></union>", 41,
                 "already defined");
  refused_inside("<module name='a'/><system><module name='a'/></system>", 27, "already defined");
  CHECK(
      parse_schema("<schema name='s'><module name='a'><module name='a'/></module></schema>").ok());
  CHECK(parse_schema("<schema name='s'><module name='a'><module name='x'/></module><module "
                     "name='b'><module name='x'/></module>"
                     "</schema>")
            .ok());
}

TEST_CASE("unions hold modules only") {
  refused_inside("<union>\ttext<module name='a'/></union>", 9, "text in a <union>");
  refused_inside("<union><system/></union>", 8, "<system> in a <union>");
  refused_inside("<union><union/></union>", 8, "<union> in a <union>");
  refused_inside("<union><scaffold name='x' modules='a'/></union>", 8, "<scaffold> in a <union>");
  refused_inside("<union scaffold='mimai'><module name='miami'/></union>", 1,
                 "the union has no member 'mimai'; did you mean 'miami'?");
  CHECK(parse_schema("<schema name='s'><union/><union><!-- none --></union></schema>").ok());
}

TEST_CASE("parameters") {
  const auto in_module = [](const std::string& param, std::uint32_t column,
                            const std::string& part) {
    refused_inside("<module name='m'>" + param + "</module>", 17 + column, part);
  };
  refused_inside("<param name='p' len='1'/>", 1, "<param> outside of a module");
  refused_inside("<system><parameter name='p' len='1'/></system>", 9,
                 "<parameter> outside of a module");
  in_module("<param len='1'/>", 1, "needs the attribute 'name'");
  in_module("<param name='p'/>", 1, "needs the attribute 'len'");
  in_module("<param name='p' len='1' length='1'/>", 1, "same attribute");
  for (const char* len :
       {"0", "-2", "65537", "99999999999999999999", "1.5", "", " 1", "1 ", "x", "0x10", "+1"})
    in_module("<param name='p' len='" + std::string(len) + "'/>", 1,
              "a number of tokens from 1 to 65536");
  in_module("<param name='p' len='1'> x</param>", 26, "<param> must be empty");
  in_module("<param name='p' len='1'><module name='n'/></param>", 25, "<param> must be empty");
  in_module("<param name='1p' len='1'/>", 1, "is not a name");
  in_module("<param name='p' len='1'/><param name='p' len='1'/>", 26,
            "parameter 'p' is already defined");
  CHECK(
      parse_schema(
          "<schema name='s'><module name='m'><user><param name='user' len='65536'> </param></user>"
          "<module name='n'><param name='user' len='1'/></module></module></schema>")
          .ok());
}

TEST_CASE("role elements do not stand in one another") {
  refused_inside("<system><user/></system>", 9, "<user> inside <system>");
  refused_inside("<user><module name='m'><user/></module></user>", 24, "<user> inside <user>");
  refused_inside("<user><union><module name='m'><assistant/></module></union></user>", 31,
                 "<assistant> inside <user>");
  CHECK(
      parse_schema("<schema name='s'><module name='m'><user/><assistant/></module><user/></schema>")
          .ok());
}

TEST_CASE("scaffolds stand in the schema, with a name and a list") {
  refused_inside("<module name='m'><scaffold name='x' modules='m'/></module>", 18,
                 "stands directly in <schema>");
  refused_inside("<user><scaffold name='x' modules='m'/></user>", 7, "stands directly in <schema>");
  refused_inside("<scaffold modules='m'/>", 1, "needs the attribute 'name'");
  refused_inside("<scaffold name='x'/>", 1, "needs the attribute 'modules'");
  refused_inside("<scaffold name='x' modules='  '/>", 1, "lists no modules");
  refused_inside("<scaffold name='x' modules='m'>text</scaffold>", 32, "must be empty");
  refused_inside("<scaffold name='x' modules='a'/><scaffold name='x' modules='b'/>", 33,
                 "scaffold 'x' is already defined");
}

TEST_CASE("messages stay short whatever the names") {
  const std::string name(100000, 'x');
  for (const std::string& document :
       {"<" + name + "/>", "<schema name='s'><" + name + "/></schema>",
        "<schema name='s' " + name + "=''/>", "<schema name='" + name + "'/>",
        "<schema name='s'><" + name + "></schema>", "<schema name='s' attend='" + name + "'/>",
        "<schema name='s'><module name='m' src='" + name + "'/></schema>"}) {
    const auto result = parse_schema(document);
    REQUIRE_FALSE(result.ok());
    INFO(result.error().message.substr(0, 400));
    CHECK(result.error().message.size() < 240);
  }
}
