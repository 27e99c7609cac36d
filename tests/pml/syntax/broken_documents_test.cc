// What is wrong with a document, or fails while it is read, is one error with a place in it; what
// is accepted in spite of a change is laid out and resolved as the validators demand.

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "pml/turns/messages.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/random_pml.h"

namespace pc::test {
namespace {

using namespace pc::pml;

constexpr const char* kSchema =
    R"(<schema name="s" positions="compact" attend="prefix" repair="leading:2">
<system xml:space="preserve">Be kind. </system>
<module name="a" cache="true" repair="none" xml:space="default">one <param name="p" len="2"
 scaffold="x"/> two<module name="b">three</module></module>
<union scaffold="c"><module name="c">four</module><module name="d" src="d.txt">five</module></union>
<module xml:space="preserve">six </module><user>seven <module name="e" cache="false">eight<param
 name="q" length="3"/></module></user>
<scaffold name="f" modules="a a/b c"/>
</schema>)";
constexpr const char* kPrompt =
    R"(<prompt schema="s" repair="attended:5%"><a p="1 2" xml:space="default"> so <b/></a>
<d/><e q="3"/><user xml:space="preserve"> What? </user><assistant>That.</assistant><user>Why?</user></prompt>)";

Result<std::string> file(std::string_view name) {
  if (name == "d.txt") return std::string(" five files ");
  return error(Code::kIo, "no such file");
}

// A place in the document, or none.
void check_error(const Error& e, std::string_view document) {
  INFO(e.line << ":" << e.column << ": " << e.message);
  REQUIRE((e.code == Code::kPmlSyntax || e.code == Code::kPmlSemantic || e.code == Code::kIo));
  REQUIRE_FALSE(e.message.empty());
  REQUIRE(e.message.find('\n') == std::string::npos);
  const auto n_lines = 1 + std::count(document.begin(), document.end(), '\n');
  REQUIRE(e.line >= 1);
  REQUIRE(e.line <= static_cast<std::uint32_t>(n_lines));
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < e.line; ++line) begin = document.find('\n', begin) + 1;
  const std::size_t length = std::min(document.find('\n', begin), document.size()) - begin;
  REQUIRE(e.column >= 1);
  REQUIRE(e.column <= length + 2);  // behind its end, where something is missing
}

struct Counts {
  int accepted = 0, refused = 0;
};

// The pair is read, laid out and resolved, or refused with a place in one of the two.
void read(const std::string& schema, const std::string& prompt, Counts* counts) {
  INFO(schema << "\n" << prompt);
  static const FakeTokenizer tokenizer;
  const TextEncoder encoder = tokenizer.encoder(bracket_chat(), true);
  ++counts->refused;
  const auto parsed = parse_schema(schema, file);
  if (!parsed.ok()) return check_error(parsed.error(), schema);
  const auto layout = lay_out(*parsed, encoder);
  if (!layout.ok()) return check_error(layout.error(), schema);
  must(check_layout(*layout));
  must(check_jobs(*layout, make_jobs(*layout, plan_encoding(*layout))));
  const auto asked = parse_prompt(prompt);
  if (!asked.ok()) return check_error(asked.error(), prompt);
  const auto plan = resolve(*asked, *layout, encoder);
  if (!plan.ok()) return check_error(plan.error(), prompt);
  must(check_plan(*layout, *plan));
  --counts->refused, ++counts->accepted;
}

// Every document that differs in one stretch of bytes that `is_part` begins and ends.
void for_each_change(const std::string& document,
                     const std::function<void(const std::string&)>& visit) {
  const auto replaced = [&](std::size_t at, std::size_t n, std::string_view by) {
    visit(document.substr(0, at).append(by).append(document, at + n));
  };
  const std::string long_name(300, 'n');
  const std::string_view values[] = {
      "",       "1",      "a",     "b",          "p",           "c",
      "zz",     "s",      "true",  "self",       "schema",      "preserve",
      "a b",    "a//b",   "ü",     "-1",         "0",           "1000000",
      "all",    "user",   "d",     "f",          "&lt;",        "e",
      "a/b a",  "module", "b a/b", "4294967297", "attended:0%", "99999999999999999999",
      long_name};
  const std::string_view tags[] = {"module",   "union",  "param", "user",  "system",
                                   "scaffold", "schema", "a",     "b",     "c",
                                   "d",        "e",      "zz",    "prompt"};
  const std::string_view names[] = {"name",      "len",    "length", "cache",   "repair",
                                    "src",       "attend", "p",      "modules", "scaffold",
                                    "xml:space", "schema", "zz"};
  for (std::size_t at = 0; at < document.size(); ++at) {
    const char c = document[at];
    if (c == '"') {
      const std::size_t end = document.find('"', at + 1);
      if (at > 0 && document[at - 1] == '=' && end != std::string::npos) {
        for (const std::string_view value : values) replaced(at + 1, end - at - 1, value);
        // The attribute itself: absent, twice, or another one.
        const std::size_t begin = document.find_last_of(" \n", at) + 1;
        replaced(begin, end + 1 - begin, "");
        replaced(begin, 0, document.substr(begin, end + 1 - begin) + " ");
        for (const std::string_view name : names) replaced(begin, at - 1 - begin, name);
      }
    }
    if (c == '<') {
      const std::size_t name = at + 1 + (document[at + 1] == '/');
      const std::size_t name_end = document.find_first_of(" />\n", name);
      for (const std::string_view tag : tags) replaced(name, name_end - name, tag);
      const std::size_t end = document.find('>', at) + 1;
      replaced(at, end - at, "");
      replaced(at, 0, document.substr(at, end - at));
      for (const char* added :
           {"text", "<user>", "</module>", "<zz/>", "<module/>", "<param name='r' len='1'/>",
            "<module name='a'>x</module>", "<union/>", "<assistant>so</assistant>", "<a/>", "<b/>",
            "<e/>", "<c/>", "&bad;", "<?pi?>", "<!-- c -->", "<![CDATA[ x ]]>"})
        replaced(at, 0, added);
    }
    replaced(at, 1, "");
  }
}

TEST_CASE("a document that is changed anywhere is one, or its error names a place in it") {
  Counts schemas, prompts, whole;
  read(kSchema, kPrompt, &whole);
  REQUIRE(whole.accepted == 1);
  for_each_change(kSchema, [&](const std::string& changed) { read(changed, kPrompt, &schemas); });
  for_each_change(kPrompt, [&](const std::string& changed) { read(kSchema, changed, &prompts); });
  for (const Counts& counts : {schemas, prompts}) {
    CHECK(counts.accepted > 100);
    CHECK(counts.refused > 500);
  }
}

constexpr const char* kFailure = "the tokenizer has failed";

// The n-th call of the tokenizer fails, or of the chat's format.
struct Failing {
  enum Of { kTokenizer, kFormat } of;
  int n_left = -1;
  bool failed = false;

  bool fails(Of called) {
    if (called != of || n_left < 0) return false;
    failed = failed || n_left == 0;
    return n_left-- == 0;
  }
  TextEncoder around(TextEncoder encoder) {
    encoder.encode = [this, inner = encoder.encode](std::span<const TextSpan> spans,
                                                    bool opens) -> Result<std::vector<Tokens>> {
      if (fails(kTokenizer)) return error(Code::kCancelled, kFailure);
      return inner(spans, opens);
    };
    encoder.chat->turns =
        [this, inner = encoder.chat->turns](std::span<const Role> roles) -> Result<TurnTexts> {
      if (fails(kFormat)) return error(Code::kUnsupported, kFailure);
      return inner(roles);
    };
    return encoder;
  }
};

// Whichever call fails, `work` gives that error: the tokenizer's own, and that of the format as
// that of the document at a place, which has no such conversation then. Where another way of asking
// the format remains, it may do without. Gives how often there was an error.
template <class Work>
int fail_each(Failing* failing, Work work) {
  int n_errors = 0;
  for (int n = 0;; ++n) {
    failing->n_left = n;
    failing->failed = false;
    const auto result = work();
    failing->n_left = -1;
    if (!failing->failed) return n_errors;
    INFO("call " << n);
    if (failing->of == Failing::kFormat && result.ok()) continue;
    ++n_errors;
    REQUIRE_FALSE(result.ok());
    REQUIRE_THAT(result.error().message, Catch::Contains(kFailure));
    if (failing->of == Failing::kTokenizer) REQUIRE(result.error().code == Code::kCancelled);
    if (failing->of == Failing::kFormat) REQUIRE(result.error().code == Code::kPmlSemantic);
    if (failing->of == Failing::kFormat) REQUIRE(result.error().line > 0);
  }
}

TEST_CASE("whichever call of the tokenizer or the chat's format fails, that is the error") {
  Failing failing{GENERATE(Failing::kTokenizer, Failing::kFormat)};
  int in_layouts = 0, in_plans = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomPml pml(seed);
    INFO(pml.schema() << "\n" << pml.prompt());
    const FakeTokenizer tokenizer;
    const TextEncoder encoder = failing.around(tokenizer.encoder(bracket_chat(), pml.bos));
    const Schema schema = must(parse_schema(pml.schema(), pml.files()));
    in_layouts += fail_each(&failing, [&] { return lay_out(schema, encoder); });
    const Layout layout = must(lay_out(schema, encoder));
    const Prompt prompt = must(parse_prompt(pml.prompt()));
    if (!resolve(prompt, layout, encoder).ok()) continue;
    in_plans += fail_each(&failing, [&] { return resolve(prompt, layout, encoder); });
  }
  CHECK(in_layouts > 50);
  CHECK(in_plans > 50);
}

}  // namespace
}  // namespace pc::test
