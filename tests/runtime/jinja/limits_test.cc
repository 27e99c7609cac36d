// Wherever a rendering runs into a limit it stops with that error: nowhere is it taken for
// something else, and a template that is within its limits gives what it always gives. And whatever
// becomes of a template's text, it is a template or an error that names the line.

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat/program/chat_program.h"
#include "runtime/jinja/library/json.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"

namespace pc::test {
namespace {

using jinja::Limits;
using jinja::Value;

// The language piece by piece, with the variables that the pieces use.
struct Snippets {
  std::vector<std::string> templates;
  std::map<std::string, Value> variables;
};

const Snippets& snippets() {
  static const Snippets all = [] {
    const std::string text = read_file(golden("jinja_snippets.json"));
    const Value fixture = must(jinja::value_from_json(text, "jinja_snippets.json"));
    Snippets made;
    for (const auto& [name, value] : fixture.dict().find("variables")->dict().entries)
      made.variables.emplace(name.text(), value);
    for (const Value& one : fixture.dict().find("snippets")->items())
      made.templates.emplace_back(one.dict().find("template")->text());
    REQUIRE(made.templates.size() > 1000);
    return made;
  }();
  return all;
}

// What takes a second takes ten under emulation or a sanitizer, and tries the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(PC_EMULATED)
constexpr std::size_t kEveryNth = 20;
#else
constexpr std::size_t kEveryNth = 1;
#endif

// A text, or an error's code and sentence.
struct Outcome {
  Code code = Code::kOk;
  std::string text;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome render(const ChatProgram& program, const Limits& limits = {}) {
  ChatOptions options;
  options.clock = ChatClock::at(1721990645);
  options.variables = snippets().variables;
  options.limits = limits;
  const auto text = program.render(must(jinja::make_list(nullptr, {})), jinja::none(), options);
  if (text.ok()) return {Code::kOk, *text};
  return {text.error().code, text.error().message};
}

// Raises a limit from nothing until it no longer matters; gives how often it did.
int sweep(const ChatProgram& program, const std::function<void(Limits*, std::uint64_t)>& set,
          std::string_view reason) {
  const Outcome whole = render(program);
  int n_refused = 0;
  for (std::uint64_t limit = 0;; limit += 1 + limit / 16) {
    Limits limits;
    set(&limits, limit);
    const Outcome here = render(program, limits);
    if (here == whole) return n_refused;
    if (here.code != Code::kUnsupported || here.text.find(reason) == std::string::npos)
      FAIL("limit " << limit << ": " << here.text);
    ++n_refused;
  }
}

// Of every snippet that is a template.
template <class F>
void for_each_program(F f) {
  for (std::size_t i = 0; i < snippets().templates.size(); i += kEveryNth) {
    const std::string& text = snippets().templates[i];
    const auto program = ChatProgram::parse(text, {});
    INFO(text);
    if (program.ok()) f(*program);
  }
}

TEST_CASE("wherever the steps run out, the rendering stops with that error") {
  int n_refused = 0;
  for_each_program([&](const ChatProgram& program) {
    n_refused += sweep(
        program, [](Limits* l, std::uint64_t n) { l->steps = n; }, "steps, the limit");
  });
  CHECK(n_refused > static_cast<int>(10'000 / kEveryNth));
}

TEST_CASE("wherever memory runs out, the rendering stops with that error") {
  int n_refused = 0;
  for_each_program([&](const ChatProgram& program) {
    n_refused += sweep(
        program, [](Limits* l, std::uint64_t n) { l->live_bytes = n; }, "the chat template, line ");
  });
  CHECK(n_refused > static_cast<int>(10'000 / kEveryNth));
}

TEST_CASE("wherever the output is full, or nesting too deep, the rendering stops with that error") {
  int full = 0, deep = 0;
  for_each_program([&](const ChatProgram& program) {
    full += sweep(
        program, [](Limits* l, std::uint64_t n) { l->output_bytes = n; }, "prints more than");
    deep += sweep(
        program, [](Limits* l, std::uint64_t n) { l->depth = static_cast<int>(n); }, "deep");
  });
  CHECK(full > static_cast<int>(5'000 / kEveryNth));
  CHECK(deep > static_cast<int>(1'000 / kEveryNth));
}

constexpr std::string_view kLine = "the chat template, line ";

// A template, or refused with its line; a program that is one renders, or says in which line it
// fails, or that the template itself refuses.
bool is_right(const std::string& text) {
  const auto program = ChatProgram::parse(text, {});
  if (!program.ok()) {
    const Error& e = program.error();
    return (e.code == Code::kCorrupt || e.code == Code::kUnsupported) &&
           e.message.starts_with(kLine);
  }
  const Outcome rendered = render(*program);
  return rendered.code == Code::kOk ||
         ((rendered.code == Code::kInvalidArgument || rendered.code == Code::kUnsupported) &&
          (rendered.text.starts_with(kLine) ||
           rendered.text.starts_with("the chat template refuses")));
}

void check_text(const std::string& text) {
  if (!is_right(text)) FAIL_CHECK("without a line: " << text);
}

// Where a character begins: half a one is no UTF-8, which is refused by another sentence.
bool begins(const std::string& text, std::size_t i) {
  return i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
}

TEST_CASE("a template that is cut short, or lacks a character, is one or names the line") {
  for (std::size_t i = 0; i < snippets().templates.size(); i += kEveryNth) {
    const std::string& text = snippets().templates[i];
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (!begins(text, at)) continue;
      check_text(text.substr(0, at));
      std::size_t next = at + 1;
      while (!begins(text, next)) ++next;
      check_text(text.substr(0, at) + text.substr(next));
    }
  }
}

TEST_CASE("a template with a token of another kind anywhere is one or names the line") {
  for (std::size_t i = 0; i < snippets().templates.size(); i += kEveryNth) {
    const std::string& text = snippets().templates[i];
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1))
      for (const char* token : {" ) ", " ] ", " : ", " , ", " = ", " . ", " | ", " is ", " not ",
                                " if ", " else ", " in ", " 'x' ", " 7 ", " *", " %} ", " }} "})
        check_text(text.substr(0, at) + token + text.substr(at + 1));
  }
}

}  // namespace
}  // namespace pc::test
