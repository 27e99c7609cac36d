// The roles of a chat's turns.
//
// Values. Threads: any.
#pragma once

#include <cstdint>

namespace pc::pml {

enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

const char* role_name(Role role);  // "system"

}  // namespace pc::pml
