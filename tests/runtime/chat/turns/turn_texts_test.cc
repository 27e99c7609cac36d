// What stands around turns: for templates in the manner of published families, and
// for every published one of the shared assets, where it must give what the
// template itself renders.
#include "runtime/chat/turns/turn_texts.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "runtime/jinja/values/unicode.h"
#include "tests/support/published_templates.h"

using namespace pc;
using pml::Role;

namespace {

constexpr Role S = Role::kSystem, U = Role::kUser, A = Role::kAssistant;

ChatProgram program(std::string_view text, std::string bos = "", std::string eos = "") {
  auto parsed = ChatProgram::parse(text, {std::move(bos), std::move(eos), {}});
  INFO((parsed.ok() ? "" : parsed.error().message));
  REQUIRE(parsed.ok());
  return std::move(parsed).value();
}

pml::TurnTexts texts_of(const ChatProgram& chat, std::vector<Role> roles,
                        const ChatOptions& options = {}) {
  auto texts = turn_texts(chat, roles, options);
  INFO((texts.ok() ? "" : texts.error().message));
  REQUIRE(texts.ok());
  return std::move(texts).value();
}

using Strings = std::vector<std::string>;

// Openings and closings in turn, and what opens the answer.
Strings flat(const pml::TurnTexts& texts) {
  Strings all;
  for (const auto& turn : texts.turns) {
    all.push_back(turn.open);
    all.push_back(turn.close);
  }
  all.push_back(texts.answer);
  return all;
}

constexpr std::string_view kChatml =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' "
    "}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

TEST_CASE("ChatML: one form for every role") {
  const auto texts = texts_of(program(kChatml), {S, U, A, U});
  CHECK(flat(texts) == Strings{"<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n",
                               "<|im_end|>\n", "<|im_start|>assistant\n", "<|im_end|>\n",
                               "<|im_start|>user\n", "<|im_end|>\n", "<|im_start|>assistant\n"});
  CHECK_FALSE(texts.bos);
  for (const auto& turn : texts.turns) CHECK_FALSE((turn.trims_left || turn.trims_right));
}

TEST_CASE("no turns, no strings") {
  const auto texts = turn_texts(program(kChatml), {}, {});
  REQUIRE(texts.ok());
  CHECK(texts->turns.empty());
}

TEST_CASE("in the manner of Llama 3: BOS, trimmed contents, and the day in the system text") {
  const ChatProgram chat = program(
      "{{- bos_token }}\n"
      "{%- set day = strftime_now('%d %b %Y') %}\n"
      "{%- if messages[0].role == 'system' %}\n"
      "    {%- set system = messages[0].content | trim %}{% set messages = messages[1:] %}\n"
      "{%- else %}{% set system = '' %}{% endif %}\n"
      "{{- '<H>system</H>\\n\\nToday: ' + day + '\\n\\n' + system + '<E>' }}\n"
      "{%- for m in messages %}{{- '<H>' + m.role + '</H>\\n\\n' + m.content | trim + '<E>' }}"
      "{%- endfor %}{%- if add_generation_prompt %}{{- '<H>assistant</H>\\n\\n' }}{% endif %}",
      "<s>");
  ChatOptions options;
  options.clock = ChatClock::at(1721990645);
  const auto texts = texts_of(chat, {S, U}, options);
  CHECK(texts.bos);
  CHECK(flat(texts) == Strings{"<H>system</H>\n\nToday: 26 Jul 2024\n\n", "<E>", "<H>user</H>\n\n",
                               "<E>", "<H>assistant</H>\n\n"});
  for (const auto& turn : texts.turns) CHECK((turn.trims_left && turn.trims_right));
  const auto without = texts_of(chat, {U}, options);
  CHECK(without.turns[0].open == "<H>system</H>\n\nToday: 26 Jul 2024\n\n<E><H>user</H>\n\n");
  options.clock = ChatClock::at(1721990645 + 86400);
  CHECK(texts_of(chat, {S, U}, options).turns[0].open == "<H>system</H>\n\nToday: 27 Jul 2024\n\n");
}

TEST_CASE("in the manner of Llama 2: the system text opens the first question") {
  const ChatProgram chat = program(
      "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}"
      "{% set system = '<<SYS>>\\n' + messages[0].content + '\\n<</SYS>>\\n\\n' %}"
      "{% else %}{% set rest = messages %}{% set system = '' %}{% endif %}"
      "{% for m in rest %}"
      "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('Roles must alternate') }}{% endif %}"
      "{% if m.role == 'user' %}"
      "{{ bos_token + '[INST] ' + (system if loop.first else '') + m.content + ' [/INST]' }}"
      "{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}",
      "<s>", "</s>");
  const auto texts = texts_of(chat, {S, U, A, U});
  CHECK(texts.bos);
  CHECK(flat(texts) == Strings{"[INST] <<SYS>>\n", "\n<</SYS>>\n\n", "", " [/INST]", " ", " </s>",
                               "<s>[INST] ", " [/INST]", ""});
  const std::vector<Role> twice = {U, U};
  const auto refused = turn_texts(chat, twice, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "the chat template refuses the conversation: Roles must alternate");
}

TEST_CASE("in the manner of Gemma: the system text is the first question's, contents are trimmed") {
  const ChatProgram chat = program(
      "{{ bos_token }}{% if messages[0].role == 'system' %}"
      "{% set first = messages[0].content + '\\n\\n' %}{% set rest = messages[1:] %}"
      "{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
      "{% for m in rest %}{{ '<turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + "
      "(first if loop.first else '') }}{{ m.content | trim }}{{ '<end>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<turn>model\\n' }}{% endif %}",
      "<bos>");
  const auto texts = texts_of(chat, {S, U, A, U});
  CHECK(flat(texts) == Strings{"<turn>user\n", "\n\n", "", "<end>\n", "<turn>model\n", "<end>\n",
                               "<turn>user\n", "<end>\n", "<turn>model\n"});
  CHECK_FALSE(texts.turns[0].trims_left);
  CHECK(texts.turns[1].trims_left);
}

TEST_CASE("in the manner of Mistral: the system text in the last question is refused") {
  const ChatProgram chat = program(
      "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
      "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
      "{% for m in rest %}{% if m.role == 'user' %}{{ '[INST]' }}"
      "{% if loop.last and system is defined %}{{ system + '\\n\\n' }}{% endif %}"
      "{{ m.content + '[/INST]' }}{% else %}{{ m.content + eos_token }}{% endif %}{% endfor %}",
      "<s>", "</s>");
  CHECK(flat(texts_of(chat, {S, U})) == Strings{"[INST]", "\n\n", "", "[/INST]", ""});
  CHECK(flat(texts_of(chat, {U, A, U})) ==
        Strings{"[INST]", "[/INST]", "", "</s>", "[INST]", "[/INST]", ""});
  const std::vector<Role> roles = {S, U, A, U};
  const auto refused = turn_texts(chat, roles, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().message.find("turn 2 (user)") != std::string::npos);
}

TEST_CASE("in the manner of Qwen: a system text of its own, and a thought in the last answer") {
  const ChatProgram chat = program(
      "{% if messages[0].role != 'system' %}{{ '<S>system\\nYou help.<E>\\n' }}{% endif %}"
      "{% for m in messages %}{{ '<S>' + m.role + '\\n' }}"
      "{% if m.role == 'assistant' and loop.last %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
      "{{ m.content + '<E>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<S>assistant\\n' }}"
      "{% if enable_thinking is defined and not enable_thinking %}"
      "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}");
  const auto texts = texts_of(chat, {U, A, U});
  CHECK(flat(texts) == Strings{"<S>system\nYou help.<E>\n<S>user\n", "<E>\n", "<S>assistant\n",
                               "<E>\n", "<S>user\n", "<E>\n", "<S>assistant\n"});
  CHECK(texts_of(chat, {U, A}).turns[1].open == "<S>assistant\n<think>\n\n</think>\n\n");
  ChatOptions options;
  options.variables.emplace("enable_thinking", jinja::boolean(false));
  CHECK(texts_of(chat, {U}, options).answer == "<S>assistant\n<think>\n\n</think>\n\n");
}

TEST_CASE("in the manner of Phi-3: a conversation ends with a token, unless an answer follows") {
  const ChatProgram chat = program(
      "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}"
      "{{ '<|assistant|>\\n' if add_generation_prompt else eos_token }}",
      "", "<|endoftext|>");
  CHECK(flat(texts_of(chat, {U})) == Strings{"<|user|>\n", "<|end|>\n", "<|assistant|>\n"});
  CHECK(flat(texts_of(chat, {U, A})) ==
        Strings{"<|user|>\n", "<|end|>\n", "<|assistant|>\n", "<|end|>\n<|endoftext|>", ""});
}

TEST_CASE("contents as lists of parts, where a template takes no others") {
  const ChatProgram chat = program(
      "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}."
      "{% endfor %}");
  CHECK(flat(texts_of(chat, {U, A})) == Strings{"[user]", ".", "[assistant]", ".", ""});
}

TEST_CASE("what strings cannot express is refused, and said") {
  const auto refused = [](std::string_view text, std::vector<Role> roles) {
    const auto texts = turn_texts(program(text), roles, {});
    REQUIRE_FALSE(texts.ok());
    return texts.error().message;
  };
  CHECK(refused("{% for m in messages %}{{ m.content | upper }}{% endfor %}", {U}) ==
        "the model's chat template leaves out or changes the text of turn 1 (user)");
  CHECK(refused("{% for m in messages %}{{ m.content * 2 }}{% endfor %}", {S, U}) ==
        "the model's chat template repeats the text of turn 1 (system)");
  CHECK(refused("{% for m in messages | reverse %}{{ m.content }}{% endfor %}", {S, U}) ==
        "the model's chat template puts in front of the turn before it the text of turn 2 (user)");
  CHECK(refused("{% for m in messages %}{{ m.content | length }}{{ m.content }}{% endfor %}", {U})
            .find("depends on the turn's text") != std::string::npos);
  CHECK(refused("{% for m in messages %}{{ m.content.strip('\\n') }}{% endfor %}", {U})
            .find("white space") != std::string::npos);
  CHECK(refused("{% for m in messages %}{{ m.content | tojson }}{% endfor %}", {U})
            .find("changes the text of turn 1") != std::string::npos);
  CHECK(refused("{% for m in messages %}{{ m.content.replace('\\n\\n', '\\n') }}{% endfor %}", {U})
            .find("changes the text of turn 1") != std::string::npos);
  CHECK(refused("{% for m in messages %}{{ m.content | replace(' ', '') }}{% endfor %}", {U})
            .find("changes the text of turn 1") != std::string::npos);
}

// ---- the published ones

namespace {

using jinja::Value;

Value conversation(const std::vector<Role>& roles, const Strings& contents, bool in_parts) {
  std::vector<Value> messages;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const char* name = roles[i] == S ? "system" : roles[i] == U ? "user" : "assistant";
    Value content = jinja::word(contents[i]);
    if (in_parts) {
      Value part = jinja::make_dict(nullptr, {{jinja::word("type"), jinja::word("text")},
                                              {jinja::word("text"), content}})
                       .value();
      content = jinja::make_list(nullptr, {part}).value();
    }
    messages.push_back(jinja::make_dict(nullptr, {{jinja::word("role"), jinja::word(name)},
                                                  {jinja::word("content"), content}})
                           .value());
  }
  return jinja::make_list(nullptr, messages).value();
}

std::string put_together(const pml::TurnTexts& texts, const Strings& contents,
                         const std::string& bos) {
  std::string out = texts.bos ? bos : "";
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const pml::TurnText& turn = texts.turns[i];
    std::string_view content = contents[i];
    if (turn.trims_left) content = jinja::strip(content, jinja::Side::kLeft);
    if (turn.trims_right) content = jinja::strip(content, jinja::Side::kRight);
    out += turn.open + std::string(content) + turn.close;
  }
  return out + texts.answer;
}

}  // namespace

// The template is run for each beginning of a conversation: work that grows with the square.
TEST_CASE("a conversation of too many turns is refused before the template is run") {
  const ChatProgram chat = program(kChatml);
  const auto refused = turn_texts(chat, std::vector<Role>(2049, U), {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().message.find("2049 turns") != std::string::npos);
}

TEST_CASE("published templates: strings around contents are what the template renders") {
  const auto templates = test::published_templates();
  if (!templates) {
    WARN("skipped: no chat_templates/templates.json in PC_SHARED_DIR");
    return;
  }
  const std::vector<std::vector<Role>> kRoles = {
      {U}, {S, U}, {U, A, U}, {S, U, A, U}, {S, U, A, U, A, U}};
  const std::vector<Strings> kContents = {
      {"You guide.", "Hello", "Hi.\n\n- there", "Where is the harbour?", "Here.", "And?"},
      {" a\n", "\n b ", "{{ c }} 'd' \"e\"", "f <g> & h", "\u00fcber \u6f22\u5b57", " \t i"}};
  ChatOptions options;
  options.clock = ChatClock::at(1721990645);
  options.add_generation_prompt = true;
  std::map<std::size_t, std::size_t> n_expressed;
  std::size_t n_templates = 0, n_all = 0;
  for (const auto& [name, bos, chat] : *templates) {
    ++n_templates;
    bool expresses_all = true;
    for (std::size_t r = 0; r < kRoles.size(); ++r) {
      const auto texts = turn_texts(chat, kRoles[r], options);
      if (!texts.ok()) {
        expresses_all = false;
        if (std::getenv("PC_VERBOSE"))
          std::cout << name << " " << r << ": " << texts.error().message << "\n";
        continue;
      }
      ++n_expressed[r];
      for (const Strings& all : kContents) {
        Strings contents;
        for (std::size_t i = 0; i < kRoles[r].size(); ++i)
          contents.push_back(all[kRoles[r][0] == S ? i : i + 1]);
        auto rendered =
            chat.render(conversation(kRoles[r], contents, false), jinja::none(), options);
        const std::string ours = put_together(*texts, contents, bos);
        if (!rendered.ok() || *rendered != ours)
          rendered = chat.render(conversation(kRoles[r], contents, true), jinja::none(), options);
        INFO(name << ", roles " << r);
        REQUIRE(rendered.ok());
        CHECK(*rendered == ours);
      }
    }
    n_all += expresses_all;
  }
  std::cout << n_templates << " templates; expressed: " << n_expressed[0] << " of one question, "
            << n_expressed[1] << " with a system text, " << n_expressed[2] << " of two questions, "
            << n_expressed[3] << " of two with a system text, " << n_expressed[4]
            << " of three; all of these: " << n_all << "\n";
  CHECK(n_expressed[0] * 10 > n_templates * 9);
}
