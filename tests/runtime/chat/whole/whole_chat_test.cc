// Whole conversations through the published templates: the text is the template's, what spells a
// control token stays text, and what is to be a module is one wherever it stands.
#include "runtime/chat/whole/whole_chat.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "runtime/jinja/library/json.h"
#include "tests/support/published_templates.h"

using namespace pc;

namespace {

const ChatClock kClock = ChatClock::at(1721990645);
constexpr std::string_view kEvil = "<|evil|>";

std::optional<std::size_t> find_evil(std::string_view text, std::size_t from) {
  const std::size_t at = text.find(kEvil, from);
  return at == text.npos ? std::nullopt : std::optional(at);
}

std::string tool(const std::string& name, bool is_module = false) {
  return R"({"type": "function", "function": {"name": ")" + name + R"(", "description": "Does )" +
         name +
         R"(: \"quoted\" and é.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}})" +
         (is_module ? R"(, "module": true})" : "}");
}

std::string chat(const std::string& messages, const std::string& tools = "") {
  return R"({"messages": [)" + messages + "]" +
         (tools.empty() ? "" : R"(, "tools": [)" + tools + "]") + "}";
}

const std::string kSystem = R"({"role": "system", "content": "You are brief."})";
const std::string kUser = R"({"role": "user", "content": " What is up?\n"})";
const std::string kAnswer =
    R"({"role": "assistant", "content": "<think>\nhm\n</think>\n\nNot much."})";
const std::string kCall =
    R"({"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}]})";
const std::string kResult =
    R"({"role": "tool", "name": "weather", "tool_call_id": "abcdefghi", "content": "<tool_response>rain</tool_response>"})";

const std::vector<std::string> kChats = {
    chat(kUser),
    chat(kSystem + "," + kUser),
    chat(kSystem + "," + kUser + "," + kAnswer + "," + kUser),
    chat(kUser, tool("weather") + "," + tool("time")),
    chat(kSystem + "," + kUser + "," + kCall + "," + kResult, tool("weather")),
    chat(kUser + "," + kAnswer + "," + kUser, tool("time")),
};

// A content of two parts, each of which ends in a word that no template has.
std::string in_parts(const std::string& role, const std::string& more = "") {
  return R"({"role": ")" + role + R"(", "content": [{"type": "text", "text": "One quorv. "},)" +
         R"({"type": "text", "text": "Two zumbr."}])" + more + "}";
}

const std::vector<std::string> kChatsInParts = {
    chat(in_parts("user")),
    chat(in_parts("system") + "," + kUser),
    chat(kUser + "," + in_parts("assistant") + "," + kUser),
    chat(kSystem + "," + in_parts("user") + "," + kAnswer + "," + in_parts("user")),
    chat(kUser + "," + kCall + "," +
             in_parts("tool", R"(, "name": "weather", "tool_call_id": "abcdefghi")"),
         tool("weather")),
};

bool has_all_parts(const std::string& text, const std::string& json) {
  const auto count = [](const std::string& where, const std::string& word) {
    std::size_t n = 0;
    for (std::size_t at = where.find(word); at != where.npos; at = where.find(word, at + 1)) ++n;
    return n;
  };
  for (const char* const word : {"One quorv.", "Two zumbr."})
    if (count(text, word) != count(json, word)) return false;
  return true;
}

jinja::Value list_of_parts(const ChatMessage& message) {
  std::vector<std::string> texts;
  for (const ChatPart& part : message.parts) texts.push_back(part.text);
  return test::must(parts_value(texts));
}

// What the program itself makes of it, given texts or lists of parts.
Result<std::string> rendered(const ChatProgram& program, const ChatRequest& request,
                             bool as_lists = false) {
  std::vector<jinja::Value> messages, tools;
  for (const ChatMessage& message : request.messages) {
    auto entries = message.fields;
    if (message.content == ChatMessage::Content::kText)
      entries.emplace_back(jinja::word("content"),
                           as_lists && message.in_parts
                               ? list_of_parts(message)
                               : test::must(jinja::make_string(nullptr, message.text())));
    messages.push_back(test::must(jinja::make_dict(nullptr, std::move(entries))));
  }
  for (const ChatTool& t : request.tools) tools.push_back(t.value);
  ChatOptions options;
  options.clock = kClock;
  options.add_generation_prompt = request.opens_answer;
  return program.render(
      test::must(jinja::make_list(nullptr, messages)),
      request.has_tool_list ? test::must(jinja::make_list(nullptr, tools)) : jinja::none(),
      options);
}

// Is a spelling of it where control tokens are recognised?
bool is_recognised(const ChatText& text) {
  std::string region;
  for (const ChatSpan& span : text.spans) {
    region = span.markup ? region + span.text : "";
    if (region.find(kEvil) != region.npos) return true;
  }
  return false;
}

std::multiset<std::string> modules_of(const ChatText& text) {
  std::map<std::uint32_t, std::string> modules;
  for (const ChatSpan& span : text.spans)
    if (span.module != ChatSpan::kNoModule) modules[span.module] += span.text;
  std::multiset<std::string> texts;
  for (auto& [number, module] : modules) texts.insert(std::move(module));
  return texts;
}

const std::vector<test::PublishedTemplate>& published() {
  static const auto all = test::published_templates();
  static const std::vector<test::PublishedTemplate> none;
  if (!all) WARN("skipped: PC_SHARED_DIR has no published templates");
  return all ? *all : none;
}

// One that has tools in a list between words, and strips contents.
ChatProgram program_with_tools() {
  return test::must(
      ChatProgram::parse("{% if tools %}<|im_start|>system\nTools:\n<tools>{% for t in tools %}{{ "
                         "'\\n' }}{{ t | tojson }}"
                         "{% endfor %}{{ '\\n' }}</tools><|im_end|>\n{% endif %}{% for m in "
                         "messages %}<|im_start|>{{ m.role }}\n"
                         "{{ m.content | trim }}<|im_end|>\n{% endfor %}"
                         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
                         {}));
}

ChatText written(const WholeChat& whole, const std::string& json) {
  return test::must(whole.write(test::must(read_chat(json)), find_evil));
}

}  // namespace

TEST_CASE("the text of a whole conversation is what the template writes") {
  std::size_t n_written = 0, n_lost = 0;
  for (const auto& [name, bos, program] : published()) {
    const WholeChat whole(program, kClock);
    for (const std::string& json : kChats) {
      INFO(name << " " << json);
      const ChatRequest request = test::must(read_chat(json));
      const auto expected = rendered(program, request);
      const auto text = whole.write(request, find_evil);
      if (!expected.ok()) continue;
      if (!text.ok() && text.error().message.find("would be lost") != std::string::npos) {
        CHECK(json.find("tool_calls") != std::string::npos);
        CHECK(expected->find("Oslo") == std::string::npos);  // the call's argument
        ++n_lost;
        continue;
      }
      if (!text.ok()) FAIL(text.error().message);
      // Templates that take contents as parts alone are given parts.
      const bool has_text = expected->find("up?") != std::string::npos;
      if (has_text) CHECK(text->text() == *expected);
      ++n_written;
    }
  }
  if (!published().empty()) {
    CHECK(n_written + n_lost > 800);
    CHECK(n_lost > 20);
    CHECK(n_lost < 60);
  }
}

TEST_CASE("templates that write the parts of a content are given parts, the others one text") {
  std::size_t n_lists = 0, n_texts = 0, n_either = 0;
  std::set<std::string> between;  // names of templates that write something between parts
  for (const auto& [name, bos, program] : published()) {
    const WholeChat whole(program, kClock);
    for (const std::string& json : kChatsInParts) {
      INFO(name << " " << json);
      const ChatRequest request = test::must(read_chat(json));
      const auto text = whole.write(request, find_evil);
      const auto as_list = rendered(program, request, true), as_text = rendered(program, request);
      if (!text.ok()) {
        const bool is_lost = text.error().message.find("would be lost") != std::string::npos;
        CHECK((is_lost || !as_text.ok() || !has_all_parts(*as_text, json)));
        continue;
      }
      // What Python prints of a list is not what a template writes of it.
      const bool writes_list = as_list.ok() && has_all_parts(*as_list, json) &&
                               as_list->find("'text': 'One") == std::string::npos &&
                               as_list->find("\"text\": \"One") == std::string::npos;
      const auto keeps = [&](const char* word) {
        return json.find(word) == json.npos ||
               (as_list.ok() && as_list->find(word) != as_list->npos);
      };
      const bool has_strings = keeps("up?") && keeps("brief.");
      if (writes_list && !has_strings) {
        CHECK(has_all_parts(text->text(), json));  // of lists alone: texts are lists of one
      } else if (writes_list) {
        CHECK(text->text() == *as_list);
        const bool same = as_text.ok() && *as_text == *as_list;
        if (!same && as_text.ok() && has_all_parts(*as_text, json)) between.insert(name);
        (same ? n_either : n_lists) += 1;
      } else if (as_text.ok() && has_all_parts(*as_text, json)) {
        CHECK(text->text() == *as_text);
        ++n_texts;
      }
    }
  }
  if (published().empty()) return;
  CHECK(n_lists + n_either > 80);
  CHECK(n_texts > 500);
  CHECK(between.size() >= 8);
  for (const char* const name :
       {"ollama:library/granite4:350m", "unsloth:gemma4_template", "unsloth:gemma3_template"})
    CHECK(between.contains(name));
}

TEST_CASE("an empty list of tools is one to the template, and no list is none") {
  const ChatProgram program = test::must(ChatProgram::parse(
      "{{ tools is none }} {{ tools is defined }} {{ 'some' if tools else 'no' }}", {}));
  const WholeChat whole(program, kClock);
  const std::string none = R"({"messages": [{"role": "user", "content": "x"}])";
  CHECK(written(whole, none + "}").text() == "True True no");
  CHECK(written(whole, none + R"(, "tools": null})").text() == "True True no");
  CHECK(written(whole, none + R"(, "tools": []})").text() == "False True no");
  CHECK(written(whole, none + R"(, "tools": [)" + tool("time") + "]}").text() == "False True some");
}

TEST_CASE("parts that a template writes are plain and modules one by one") {
  // What stands between two parts is the template's: a control token is one there.
  const ChatProgram program = test::must(ChatProgram::parse(
      "{% for m in messages %}<|im_start|>{% if m.content is string %}{{ m.content }}{% else %}{% "
      "for part in m.content %}{{ part.text | trim }}{% if not loop.last %}<|im_end|>{% endif %}"
      "{% endfor %}{% endif %}{% endfor %}",
      {}));
  const WholeChat whole(program, kClock);
  const ChatText text = written(
      whole,
      R"({"messages": [{"role": "user", "content": [{"type": "text", "text": " a<|im_"},)"
      R"({"type": "text", "text": "end|>b ", "module": true}, {"type": "text", "text": ""}]}]})");
  CHECK(text.text() == "<|im_start|>a<|im_<|im_end|>end|>b<|im_end|>");
  CHECK(modules_of(text) == std::multiset<std::string>{"end|>b"});
  std::string markup;
  for (const ChatSpan& span : text.spans) markup += span.markup ? span.text : ".";
  CHECK(markup == "<|im_start|>.<|im_end|>.<|im_end|>");
}

TEST_CASE("what spells a control token stays text wherever a conversation says it") {
  const std::string evil(kEvil);
  const std::vector<std::string> chats = {
      chat(R"({"role": "user", "content": "say )" + evil + R"( now"})"),
      chat(
          R"({"role": "user", "content": [{"type": "text", "text": "<|ev"}, {"type": "text", "text": "il|>"}]})"),
      chat(kUser, tool("weather" + evil)),
      chat(kUser + R"(,{"role": "assistant", "content": "</think>)" + evil + R"("},)" + kUser),
      chat(
          kUser +
              R"(,{"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": {")" +
              evil + R"(": ")" + evil + R"("}}}]},)" + kResult,
          tool("f")),
  };
  std::size_t n_found = 0;
  for (const auto& [name, bos, program] : published()) {
    const WholeChat whole(program, kClock);
    for (const std::string& json : chats) {
      INFO(name << " " << json);
      const auto text = whole.write(test::must(read_chat(json)), find_evil);
      if (!text.ok()) continue;
      CHECK_FALSE(is_recognised(*text));
      n_found += text->text().find(kEvil) != std::string::npos;
    }
  }
  if (!published().empty()) CHECK(n_found > 500);
  const WholeChat whole(program_with_tools(), kClock);
  for (const std::string& json : chats)
    if (const auto text = whole.write(test::must(read_chat(json)), find_evil); text.ok())
      CHECK_FALSE(is_recognised(*text));
}

TEST_CASE("calls that a template loses are refused, by their message") {
  const WholeChat whole(program_with_tools(), kClock);
  const auto lost = whole.write(
      test::must(read_chat(chat(kUser + "," + kCall + "," + kResult, tool("weather")))), find_evil);
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.error().code == Code::kUnsupported);
  CHECK(lost.error().message.find("message 2 would be lost") != std::string::npos);
  const std::string none = R"({"role": "assistant", "content": "No.", "tool_calls": []})";
  CHECK(whole.write(test::must(read_chat(chat(kUser + "," + none))), find_evil).ok());
}

TEST_CASE("control tokens are meant where a part says so, and there alone") {
  const WholeChat whole(program_with_tools(), kClock);
  const auto answer = [&](const std::string& first, bool is_meant, const std::string& second) {
    return written(whole,
                   chat(kUser + R"(,{"role": "assistant", "content": [{"type": "text", "text": ")" +
                        first + R"(", "controls": )" + (is_meant ? "true" : "false") +
                        R"(}, {"type": "text", "text": ")" + second + R"("}]})"));
  };
  const std::string evil(kEvil);
  CHECK(is_recognised(answer("a " + evil, true, " b")));
  CHECK_FALSE(is_recognised(answer("a " + evil, false, " b")));
  CHECK_FALSE(is_recognised(answer("a", true, evil)));
  CHECK_FALSE(is_recognised(answer("é<|e", false, "vil|>")));
  // The text is the same in any case.
  CHECK(answer("a " + evil, true, " b").text() == answer("a " + evil, false, " b").text());
  CHECK_FALSE(read_chat(chat(R"({"role": "user", "content":
      [{"type": "text", "text": "x", "controls": 1}]})"))
                  .ok());
}

TEST_CASE("tools are the same modules in any order and company") {
  std::size_t n_tools = 0, n_apart = 0;
  for (const auto& [name, bos, program] : published()) {
    const WholeChat whole(program, kClock);
    const auto write = [&](const std::string& tools) {
      return whole.write(test::must(read_chat(chat(kUser, tools))), find_evil);
    };
    const auto three =
        write(tool("weather", true) + "," + tool("time", true) + "," + tool("sum", true));
    if (!three.ok() || three->text().find("weather") == std::string::npos) continue;
    INFO(name);
    ++n_tools;
    const auto first = modules_of(*three);
    if (first.size() != 3) {
      CHECK(three->remarks.size() == 1);
      continue;
    }
    ++n_apart;
    const auto turned = modules_of(test::must(
        write(tool("sum", true) + "," + tool("weather", true) + "," + tool("time", true))));
    CHECK(turned == first);
    const auto two = modules_of(test::must(write(tool("sum", true) + "," + tool("weather", true))));
    CHECK(std::ranges::includes(first, two));
    for (const std::string& module : first) CHECK(module.find("Does ") != module.npos);
  }
  if (published().empty()) return;
  INFO(n_apart << " of " << n_tools);
  CHECK(n_apart >= 50);
}

TEST_CASE("a tool's module has its own text, and what stands between two is in none or each") {
  const WholeChat whole(program_with_tools(), kClock);
  const ChatText text =
      written(whole, chat(kUser, tool("a", true) + "," + tool("b") + "," + tool("c", true)));
  const auto modules = modules_of(text);
  REQUIRE(modules.size() == 2);
  for (const std::string& module : modules) {
    CHECK(module.starts_with("\n{\"type\""));
    CHECK(module.ends_with("}"));
  }
  std::string head;
  for (std::size_t i = 0; i < text.n_head; ++i) head += text.spans[i].text;
  CHECK(head == "<|im_start|>system\nTools:\n<tools>");
}

TEST_CASE("parts of messages are modules without the white space at their ends") {
  const WholeChat whole(program_with_tools(), kClock);
  const std::string json = chat(
      kSystem +
      R"(,{"role": "user", "content": [{"type": "text", "text": "\nA page.\n\n", "module": true}, {"type": "text", "text": "Another.\n", "module": true}, {"type": "text", "text": "Why?"}]})");
  const ChatText text = written(whole, json);
  CHECK(text.text() ==
        "<|im_start|>system\nYou are brief.<|im_end|>\n<|im_start|>user\nA page.\n\n"
        "Another.\nWhy?<|im_end|>\n<|im_start|>assistant\n");
  CHECK(modules_of(text) == std::multiset<std::string>{"A page.", "Another."});
  std::string head;
  for (std::size_t i = 0; i < text.n_head; ++i) head += text.spans[i].text;
  CHECK(head == "<|im_start|>system\nYou are brief.<|im_end|>\n<|im_start|>user\n");
  std::string opening;
  for (std::size_t i = 0; i < text.n_opening; ++i) opening += text.spans[i].text;
  CHECK(opening == "<|im_start|>system\n");
}

TEST_CASE("modules of later turns see the system's message alone") {
  const WholeChat whole(program_with_tools(), kClock);
  const std::string page =
      R"({"role": "user", "content": [{"type": "text", "text": "A page.", "module": true}]})";
  const ChatText text = written(whole, chat(kSystem + "," + kUser + "," + kAnswer + "," + page));
  std::string head;
  for (std::size_t i = 0; i < text.n_head; ++i) head += text.spans[i].text;
  CHECK(head == "<|im_start|>system\nYou are brief.");
  CHECK(modules_of(text).size() == 1);
}

// The work is that of its length: with its square this would take minutes.
TEST_CASE("a conversation of very many parts is cut like a short one") {
  const WholeChat whole(program_with_tools(), kClock);
  std::string parts;
  for (int i = 0; i < 60000; ++i)
    parts += std::string(i ? "," : "") + R"({"type": "text", "text": "x ", "module": true})";
  const ChatText text = written(whole, chat(R"({"role": "user", "content": [)" + parts + "]}"));
  CHECK(modules_of(text).size() == 60000);
}

TEST_CASE("an answer that has begun is gone on with") {
  const WholeChat whole(program_with_tools(), kClock);
  const std::string begun =
      R"({"messages": [)" + kUser +
      R"(,{"role": "assistant", "content": "The answer is"}], "continue_final_message": true})";
  CHECK(written(whole, begun).text().ends_with("<|im_start|>assistant\nThe answer is"));
}

TEST_CASE("a conversation that cannot be meant is refused by its field") {
  const std::map<std::string, std::string> bad = {
      {R"({"messages": []})", "messages"},
      {R"({})", "messages"},
      {R"([])", "object"},
      {R"({"messages": [5]})", "messages[0]"},
      {R"({"messages": [{"role": "end|><|user", "content": ""}]})", "messages[0].role"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})",
       "messages[0].content[0].type"},
      {R"({"messages": [{"role": "user", "content": "x"}], "tools": 5})", "tools"},
      {R"({"messages": [{"role": "user", "content": "x"}], "more": 5})", "more"},
      {R"({"messages": [{"role": "user", "content": "x"}], "variables": {"messages": []}})",
       "variables.messages"},
      {R"({"messages": [{"role": "user", "content": "x"}], "continue_final_message": true})",
       "continue_final_message"},
  };
  for (const auto& [json, named] : bad) {
    INFO(json);
    const auto read = read_chat(json);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().message.find(named) != std::string::npos);
  }
}
