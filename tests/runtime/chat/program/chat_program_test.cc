// The limits of a rendering, and what its errors say.
#include "runtime/chat/program/chat_program.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

using namespace pc;

namespace {

Result<std::string> render(std::string_view text, const ChatOptions& options = {}) {
  auto program = ChatProgram::parse(text, {});
  if (!program.ok()) return std::move(program).error();
  return program->render(jinja::make_list(nullptr, {}).value(), jinja::none(), options);
}

std::string failure(std::string_view text, Code code, const ChatOptions& options = {}) {
  const auto rendered = render(text, options);
  INFO(text.substr(0, 200));
  REQUIRE_FALSE(rendered.ok());
  CHECK(rendered.error().code == code);
  return rendered.error().message;
}

std::string repeated(std::string_view part, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("errors name the line and the reason") {
  CHECK(failure("a\nb\n{% if %}", Code::kCorrupt) ==
        "the chat template, line 3: Expected an expression, got 'end of statement block'");
  CHECK(failure("{{ messages.x.y }}", Code::kInvalidArgument) ==
        "the chat template, line 1: 'list object' has no attribute 'x'");
  CHECK(failure("\n{{ nobody.x }}", Code::kInvalidArgument) ==
        "the chat template, line 2: 'nobody' is undefined");
  CHECK(failure("{% macro m() %}\n\n{{ 1 }}{% endmacro %}\n{{ m() + 1 }}", Code::kInvalidArgument)
            .find("line 4: ") != std::string::npos);
  CHECK(failure("{{ 'x' | nofilter }}", Code::kCorrupt) ==
        "the chat template, line 1: No filter named 'nofilter'.");
  CHECK(failure("{% include 'x' %}", Code::kUnsupported).find("'include'") != std::string::npos);
  CHECK(failure("{{ messages.append(1) }}", Code::kInvalidArgument).find("unsafe") !=
        std::string::npos);
}

TEST_CASE("a template's own refusal is given back in its words") {
  CHECK(
      failure("\n\n{{ raise_exception('No\\nsystem turns, please.') }}", Code::kInvalidArgument) ==
      "the chat template refuses the conversation: No\nsystem turns, please.");
}

TEST_CASE("not UTF-8, or too long, is no template") {
  failure("\xFF", Code::kCorrupt);
  failure(std::string(ChatProgram::kMaxTemplateBytes + 1, 'a'), Code::kCorrupt);
}

TEST_CASE("a token that is not UTF-8 is given to no template") {
  const std::string bad = "<s\xff>";
  for (const ChatTokens& tokens : {ChatTokens{bad, "", {}}, ChatTokens{"<s>", bad, {}},
                                   ChatTokens{"<s>", "", {{"unk_token", bad}}}}) {
    const auto program = ChatProgram::parse("{{ bos_token | upper }}", tokens);
    REQUIRE_FALSE(program.ok());
    CHECK(program.error().code == Code::kCorrupt);
  }
}

TEST_CASE("the clock") {
  ChatOptions options;
  options.clock = ChatClock::at(1721990645);
  CHECK(render("{{ strftime_now('%Y-%m-%d %H:%M:%S.%f|%z%Z') }}", options).value() ==
        "2024-07-26 10:44:05.000000|");
  CHECK(render("{{ strftime_now('') }}", options).value().empty());
  // The machine's says the day alone, however fine the question.
  CHECK(render("{{ strftime_now('%Y') | int > 2000 }}").value() == "True");
  CHECK(render("{{ strftime_now('%H:%M:%S.%f') }}").value() == "00:00:00.000000");
  int n_asked = 0;
  options.clock = ChatClock([&n_asked] { return ChatClock::at(++n_asked).now(); });
  CHECK(render("{{ strftime_now('%S') }}", options).value() == "01");
  CHECK(render("no question", options).value() == "no question");
  CHECK(n_asked == 1);
  const ChatClock standing = options.clock.standing();
  CHECK(standing.format("%S") + standing.format("%S") == "0202");
}

TEST_CASE("what has no end is stopped") {
  CHECK(failure("{% for i in range(10**9) %}x{% endfor %}", Code::kUnsupported)
            .find("Range too big") != std::string::npos);
  failure("{{ 'x' * 10**9 }}", Code::kUnsupported);
  failure("{{ [0] * 10**9 }}", Code::kUnsupported);
  failure("{{ 10**19 }}", Code::kUnsupported);
  failure("{{ '%1000000000d' | format(1) }}", Code::kUnsupported);
  failure("{{ '{:1000000000}'.format(1) }}", Code::kUnsupported);
  failure("{{ 'x'.center(10**9) }}", Code::kUnsupported);
  failure("{{ ('a\\nb' | indent(10**9)) }}", Code::kUnsupported);
  failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", Code::kUnsupported);
  failure("{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}", Code::kUnsupported);
  // Strings, lists and dictionaries that double.
  const std::string_view kDouble[] = {
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = ns.v + ns.v %}{% "
      "endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = ns.v.replace('x', "
      "'xx') %}{% endfor %}",
      "{% set ns = namespace(v=[1]) %}{% for i in range(99) %}{% set ns.v = ns.v + ns.v %}{% "
      "endfor %}",
      "{% set ns = namespace(v=[1]) %}{% for i in range(99) %}{% set ns.v = [ns.v, ns.v] %}{% "
      "endfor %}",
      "{% set ns = namespace(v={}) %}{% for i in range(99) %}{% set ns.v = {'a': ns.v, 'b': ns.v} "
      "%}{% endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = ns.v ~ ns.v %}{% "
      "endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = [ns.v, ns.v] | join "
      "%}{% endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v %}{{ ns.v }}{{ ns.v }}{% "
      "endset %}{% endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = '%s%s' % (ns.v, ns.v) "
      "%}{% endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = '{0}{0}'.format(ns.v) "
      "%}{% endfor %}",
      "{% set ns = namespace(v='x') %}{% for i in range(99) %}{% set ns.v = ns.v | tojson | tojson "
      "%}{% endfor %}",
  };
  for (const std::string_view text : kDouble) failure(text, Code::kUnsupported);
  // A namespace that holds itself.
  failure("{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{{ ns }}", Code::kUnsupported);
  // Values nested one by one.
  failure(
      "{% set ns = namespace(v=[]) %}{% for i in range(1000) %}{% set ns.v = [ns.v] %}{% endfor %}",
      Code::kUnsupported);
  const std::string r = "{% for i in range(100000) %}";
  failure(r + r + "{% endfor %}{% endfor %}", Code::kUnsupported);
  failure(r + "{{ 'x' * 1000 }}{% endfor %}", Code::kUnsupported);
}

TEST_CASE("templates that nest too deep are refused, not followed") {
  const auto nested = [](std::string_view open, std::string_view middle, std::string_view close,
                         std::size_t n) {
    return "{{ " + repeated(open, n) + std::string(middle) + repeated(close, n) + " }}";
  };
  for (const std::size_t n : {200, 10'000}) {
    failure(nested("(", "1", ")", n), Code::kUnsupported);
    failure(nested("[", "1", "]", n), Code::kUnsupported);
    failure(nested("{1:", "1", "}", n), Code::kUnsupported);
    failure(nested("not ", "1", "", n), Code::kUnsupported);
    failure(nested("-", "1", "", n), Code::kUnsupported);
    failure(nested("x(", "1", ")", n), Code::kUnsupported);
    failure(nested("x[", "1", "]", n), Code::kUnsupported);
    failure(nested("1 if 1 else ", "1", "", n), Code::kUnsupported);
    failure("{{ 1" + repeated("+1", 2 * n) + " }}", Code::kUnsupported);
    failure("{{ 1" + repeated("|int", 2 * n) + " }}", Code::kUnsupported);
    failure("{{ x" + repeated(".x", 2 * n) + " }}", Code::kUnsupported);
    failure(repeated("{% if 1 %}", n) + repeated("{% endif %}", n), Code::kUnsupported);
    failure(repeated("{% for i in x %}", n), Code::kUnsupported);
  }
  CHECK(render("{{ 0" + repeated("+1", 200) + " }}").value() == "200");
  CHECK(render(nested("(", "1", ")", 90)).value() == "1");
  CHECK(render("{% macro m(n) %}{% if n > 0 %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
               "{{ m(30) }}")
            .ok());
}

TEST_CASE("many elif are no nesting") {
  CHECK(
      render("{% if 0 %}a" + repeated("{% elif 0 %}b", 5000) + "{% else %}c{% endif %}").value() ==
      "c");
}

TEST_CASE("a program renders the same again") {
  const auto program = ChatProgram::parse(
      "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}"
      "{% macro m(a, b=ns.n) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
      {});
  REQUIRE(program.ok());
  for (int i = 0; i < 3; ++i)
    CHECK(program->render(jinja::none(), jinja::none(), {}).value() == "13");
}

TEST_CASE("what a macro or a loop leaves behind stays sound") {
  CHECK(render("{% set ns = namespace() %}"
               "{% macro outer(x) %}{% macro inner() %}{{ x }}{% endmacro %}"
               "{% set ns.f = inner %}{% endmacro %}{{ outer('kept') }}{{ outer('again') }}"
               "{{ ns.f() }}")
            .value() == "again");
  CHECK(render("{% set ns = namespace() %}"
               "{% macro m(xs) %}{% for x in xs recursive %}{% set ns.l = loop %}{{ x }}"
               "{% endfor %}{% endmacro %}{{ m('ab') }}{{ ns.l('cd') }}{{ ns.l.index }}")
            .value() == "abcd2");
  CHECK(render("{% set ns = namespace() %}{% for x in [1, 2, 3] if x > 1 %}{% set ns.l = loop %}"
               "{% break %}{% endfor %}{{ ns.l.index }}")
            .value() == "1");
}
