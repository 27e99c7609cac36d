// How models write thoughts, learned from published templates.

#include "tools/serve/models/thought_learning.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/chat/program/chat_program.h"
#include "runtime/jinja/library/json.h"

namespace pc::serve {
namespace {

using cli::Json;

Json published() {
  const char* const shared = std::getenv("PC_SHARED_DIR");
  if (!shared) return Json();
  std::ifstream file(std::string(shared) + "/assets/chat_templates/templates.json");
  return Json::read(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::optional<std::string> rendered(const ChatProgram& program, const Json& conversation) {
  const auto messages = jinja::value_from_json(conversation["messages"].dump(), "messages");
  const auto tools = jinja::value_from_json("null", "tools");
  ChatOptions options;
  options.add_generation_prompt = conversation["add_generation_prompt"] == Json(true);
  const auto text = program.render(*messages, *tools, options);
  return text.ok() ? std::optional(*text) : std::nullopt;
}

std::optional<ThoughtShape> learned(const std::string& text) {
  const auto program = ChatProgram::parse(text, {"", "", {}});
  REQUIRE(program.ok());
  return learn_thought_shape([&](const Json& chat) { return rendered(*program, chat); });
}

}  // namespace

TEST_CASE("thoughts are learned from the field that a template writes them from") {
  const std::string turns =
      "{% for m in messages %}<{{ m.role }}>{% if m.thinking %}[THINK]{{ m.thinking }}[/THINK]"
      "{% endif %}{{ m.content }}</s>{% endfor %}";
  const auto own = learned(turns + "{% if add_generation_prompt %}<assistant>{% endif %}");
  REQUIRE(own);
  CHECK(*own == ThoughtShape{"[THINK]", "[/THINK]", "thinking"});
  const auto opened =
      learned(turns + "{% if add_generation_prompt %}<assistant>[THINK]{% endif %}");
  REQUIRE(opened);
  CHECK(*opened == *own);
  CHECK_FALSE(learned("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"));
}

// As gpt-oss writes an answer that is the last message: its thought in a channel of its own.
TEST_CASE("thoughts in channels are learned") {
  const auto shape = learned(
      "{% for m in messages %}{% if m.role == 'assistant' %}"
      "{% if m.thinking and loop.last and not add_generation_prompt %}"
      "<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
      "<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|return|>"
      "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<|start|>assistant{% endif %}");
  REQUIRE(shape);
  CHECK(*shape == ThoughtShape{"<|channel|>analysis<|message|>",
                               "<|end|><|start|>assistant<|channel|>final<|message|>", "thinking"});
}

TEST_CASE("thoughts of published templates are learned") {
  const Json templates = published();
  if (templates.is_null()) {
    WARN("skipped: PC_SHARED_DIR has no published templates");
    return;
  }
  int n_learned = 0, n_think = 0;
  for (const Json& entry : templates.items()) {
    const auto program = ChatProgram::parse(entry["template"].string(),
                                            {entry["bos"].string(), entry["eos"].string(), {}});
    if (!program.ok()) continue;
    const auto shape =
        learn_thought_shape([&](const Json& chat) { return rendered(*program, chat); });
    if (!shape) continue;
    ++n_learned;
    n_think += shape->open == "<think>" && shape->close == "</think>";
    INFO(entry["name"].string() << ": " << shape->open << " ... " << shape->close);
    CHECK(shape->open.size() < 64);
    CHECK(shape->close.size() < 64);
  }
  WARN(n_learned << " learned, of these " << n_think << " with <think>");
  CHECK(n_think >= 5);
}

}  // namespace pc::serve
