#include "runtime/chat/program/chat_template_file.h"

#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "pml/turns/chat_template.h"
#include "runtime/json/json.h"

namespace pc {
namespace {

constexpr JsonLimits kLimits = {kMaxChatFileBytes, 64, 4};

Result<std::string> role_string(JsonView value) {
  PC_TRY(const std::string_view text, value.string());
  if (text.size() <= kMaxRoleStringBytes) return std::string(text);
  return value.error(Code::kUnsupported, std::to_string(text.size()) +
                                             " bytes; a string has at most " +
                                             std::to_string(kMaxRoleStringBytes));
}

Error unknown_field(JsonView root, std::string_view key, std::string_view known) {
  return root.error(Code::kCorrupt,
                    "no field \"" + std::string(key) + "\" here; there are " + std::string(known));
}

Result<pml::RoleStrings> role_strings(JsonView root, std::string_view role) {
  PC_TRY(const JsonView turn, root.member(role));
  pml::RoleStrings strings;
  PC_CHECK_OK(turn.for_each_member([&](std::string_view key, JsonView) -> Status {
    if (key == "prefix" || key == "suffix") return ok();
    return unknown_field(turn, key, "prefix, suffix");
  }));
  PC_TRY(const JsonView prefix, turn.member("prefix"));
  PC_TRY(strings.prefix, role_string(prefix));
  PC_TRY(const JsonView suffix, turn.member("suffix"));
  PC_TRY(strings.suffix, role_string(suffix));
  return strings;
}

// The fields that need not be there, and no others beside the required ones.
Status read_optional(JsonView root, pml::ChatTemplate* chat) {
  return root.for_each_member([&](std::string_view key, JsonView value) -> Status {
    if (key == "system" || key == "user" || key == "assistant" || key == "generation_prefix")
      return ok();
    if (key == "bos") {
      PC_TRY(chat->bos, value.boolean());
    } else if (key == "user_prefix_after_system") {
      PC_TRY(chat->user_prefix_after_system, role_string(value));
    } else if (key == "user_prefix_after_assistant") {
      PC_TRY(chat->user_prefix_after_assistant, role_string(value));
    } else {
      return unknown_field(root, key,
                           "system, user, assistant, generation_prefix, user_prefix_after_system, "
                           "user_prefix_after_assistant, bos");
    }
    return ok();
  });
}

Result<pml::ChatTemplate> from_document(const JsonDocument& document) {
  const JsonView root = document.root();
  pml::ChatTemplate chat;
  chat.name = document.name();
  PC_CHECK_OK(read_optional(root, &chat));
  PC_TRY(chat.system, role_strings(root, "system"));
  PC_TRY(chat.user, role_strings(root, "user"));
  PC_TRY(chat.assistant, role_strings(root, "assistant"));
  PC_TRY(const JsonView generation, root.member("generation_prefix"));
  PC_TRY(chat.generation_prefix, role_string(generation));
  return chat;
}

}  // namespace

bool is_chat_template_file(std::string_view name_or_path) {
  return name_or_path.find('/') != name_or_path.npos || name_or_path.ends_with(".json");
}

bool is_chat_program_file(std::string_view path) {
  return path.ends_with(".jinja");
}

Result<std::string> read_chat_program(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return error(Code::kInvalidArgument, "chat template: " + file.error().message);
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<pml::ChatTemplate> parse_chat_template(std::string_view json, const std::string& name) {
  PC_TRY(const JsonDocument document, JsonDocument::parse(json, name, kLimits));
  return from_document(document);
}

Result<pml::ChatTemplate> read_chat_template_file(const std::string& path) {
  PC_TRY(const JsonDocument document, JsonDocument::read_file(path, kLimits));
  return from_document(document);
}

Result<pml::ChatTemplate> choose_chat_template(const std::string& name_or_path) {
  if (is_chat_template_file(name_or_path)) {
    auto chat = read_chat_template_file(name_or_path);
    if (chat.ok()) return chat;
    return error(Code::kInvalidArgument, "chat template: " + chat.error().message);
  }
  if (auto chat = pml::find_chat_template(name_or_path)) return *std::move(chat);
  return error(
      Code::kInvalidArgument,
      "unknown chat template \"" + name_or_path + "\"; known are " + pml::chat_template_names() +
          ", or give the path of a JSON file with the strings of the roles, or of a template "
          "in Jinja (.jinja)");
}

}  // namespace pc
