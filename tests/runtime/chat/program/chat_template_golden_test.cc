// The table of chat formats against conversations that transformers rendered
// (tests/golden/make_chat_fixtures.py).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "pml/turns/chat_template.h"
#include "runtime/json/json.h"

using namespace pc;
using namespace pc::pml;

namespace {

std::string text(JsonView object, std::string_view key) {
  return object.string_or(key, "").value();
}

Role role_of(std::string_view name) {
  return name == "system" ? Role::kSystem : name == "user" ? Role::kUser : Role::kAssistant;
}

// What PML makes of the turns, BOS left out.
std::string concatenated(const ChatTemplate& chat, JsonView turns) {
  std::string out;
  std::optional<Role> before;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Role role = role_of(turns.at(i).at(0).string().value());
    out += role_prefix(chat, role, before);
    out += turns.at(i).at(1).string().value();
    out += role_suffix(chat, role);
    before = role;
  }
  return out + chat.generation_prefix;
}

void erase(std::string& from, const std::string& what) {
  const std::size_t at = from.find(what);
  if (!what.empty() && at != from.npos) from.erase(at, what.size());
}

// Without the spaces next to the markers of Mistral's first format.
std::string tight(std::string s) {
  for (const std::string marker : {"[INST]", "[/INST]", "</s>"})
    for (const auto& [loose, close] : {std::pair(" " + marker, marker), {marker + " ", marker}})
      for (std::size_t at; (at = s.find(loose)) != s.npos;) s.replace(at, loose.size(), close);
  return s;
}

void check_conversations(const ChatTemplate& chat, JsonView entry) {
  const JsonView conversations = entry.member("conversations").value();
  REQUIRE(conversations.size() > 0);
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const JsonView conversation = conversations.at(i);
    INFO("conversation " << i);
    std::string theirs = text(conversation, "rendered");
    const std::string bos = text(entry, "bos");
    if (!bos.empty() && theirs.rfind(bos, 0) == 0) theirs.erase(0, bos.size());
    erase(theirs, text(conversation, "not_ours"));
    const std::string ours = concatenated(chat, conversation.member("turns").value());
    if (entry.boolean_or("loose", false).value())
      CHECK(tight(ours) == tight(theirs));
    else
      CHECK(ours == theirs);
  }
}

JsonDocument fixtures() {
  const char* source = std::getenv("PC_SOURCE_DIR");
  auto document = JsonDocument::read_file(std::string(source ? source : ".") +
                                          "/tests/golden/chat_templates.json");
  REQUIRE(document.ok());
  return std::move(document).value();
}

}  // namespace

TEST_CASE("the strings of each format give what its template renders") {
  const JsonDocument document = fixtures();
  const JsonView templates = document.root().member("templates").value();
  REQUIRE(templates.size() > 30);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const JsonView entry = templates.at(i);
    const std::string jinja = text(entry, "template");
    INFO(text(entry, "family") << " (" << text(entry, "of") << ")\n" << jinja);
    const auto strings = find_chat_template(text(entry, "strings"));
    REQUIRE(strings);
    if (strings->bos) CHECK(jinja.find("bos_token") != jinja.npos);
    check_conversations(with_eos(*strings, text(entry, "eos")), entry);
    seen.insert(strings->name);
  }
  for (const ChatTemplate& chat : chat_templates()) {
    INFO(chat.name << " has no fixture");
    CHECK(seen.count(chat.name) == 1);
  }
}
