// Messages of the C API as pml has them.
//
// Internal to runtime/api/c_api*.cc. The texts are borrowed. Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "promptcache/promptcache.h"
#include "runtime/api/c_api_support.h"
#include "runtime/prompt/loaded_prompt.h"  // pml::Message

namespace pc::capi {

inline Result<pml::Role> role_of(std::string_view name) {
  using pml::Role;
  for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant})
    if (name == pml::role_name(role)) return role;
  return error(Code::kInvalidArgument, "a message's role is \"" + std::string(name) +
                                           "\"; it may be system, user or assistant");
}

inline Result<pml::MessagePart> read_part(const pc_part& part) {
  if ((part.text == nullptr) == (part.module == nullptr))
    return error(Code::kInvalidArgument, "a part of a message is either text or a module");
  pml::MessagePart read;
  if (part.text) {
    read.text = field_of(part.text, part.bytes);
    return read;
  }
  read.module = part.module;
  if (read.module.empty()) return error(Code::kInvalidArgument, "a part's module has no name");
  PC_REQUIRE(part.arguments || part.n_arguments == 0);
  for (const pc_argument& argument : std::span(part.arguments, part.n_arguments)) {
    PC_REQUIRE(argument.name);
    PC_REQUIRE(argument.value);
    read.arguments.push_back(
        {argument.name, std::string(field_of(argument.value, argument.bytes))});
  }
  return read;
}

inline Result<std::vector<pml::Message>> read_messages(const pc_message* messages, std::size_t n) {
  std::vector<pml::Message> read;
  for (const pc_message& message : std::span(messages, n)) {
    PC_REQUIRE(message.role);
    PC_TRY(const pml::Role role, role_of(message.role));
    read.push_back({role, {}});
    if ((message.content == nullptr) == (message.parts == nullptr))
      return error(Code::kInvalidArgument, "a message has either content or parts");
    if (message.content)
      read.back().parts.push_back({field_of(message.content, message.bytes), "", {}});
    for (const pc_part& part : std::span(message.parts, message.parts ? message.n_parts : 0)) {
      PC_TRY(pml::MessagePart p, read_part(part));
      read.back().parts.push_back(std::move(p));
    }
  }
  return read;
}

}  // namespace pc::capi
