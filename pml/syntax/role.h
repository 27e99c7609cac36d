// The roles of a chat's turns.
//
// Values. Threads: any.
#pragma once

#include <cstdint>

namespace pc::pml {

enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

// The name of the element that writes a turn: "system".
constexpr const char* role_name(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "unknown";
}

}  // namespace pc::pml
