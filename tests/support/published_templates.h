// The published chat templates of the shared assets, parsed.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat/program/chat_program.h"
#include "runtime/jinja/library/json.h"
#include "tests/support/expect.h"

namespace pc::test {

struct PublishedTemplate {
  std::string name, bos;
  ChatProgram program;
};

// None where PC_SHARED_DIR has no such file.
inline std::optional<std::vector<PublishedTemplate>> published_templates() {
  const char* shared = std::getenv("PC_SHARED_DIR");
  std::ifstream file(std::string(shared ? shared : "") + "/assets/chat_templates/templates.json");
  if (!file) return std::nullopt;
  const std::string json(std::istreambuf_iterator<char>(file), {});
  const jinja::Value list = must(jinja::value_from_json(json, "templates.json"));
  std::vector<PublishedTemplate> all;
  for (const jinja::Value& entry : list.items()) {
    const auto text = [&entry](std::string_view name) {
      const jinja::Value* found = entry.dict().find(name);
      return found && found->is(jinja::Kind::kString) ? found->text() : "";
    };
    INFO(text("name"));
    ChatProgram program =
        must(ChatProgram::parse(text("template"), {text("bos"), text("eos"), {}}));
    all.push_back({text("name"), text("bos"), std::move(program)});
  }
  return all;
}

}  // namespace pc::test
