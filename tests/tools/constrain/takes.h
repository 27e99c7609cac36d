// Does an automaton take a text?
#pragma once

#include <string_view>

#include "tools/constrain/grammar.h"
#include "tools/constrain/state.h"

namespace pc::constrain::test {

inline bool takes(const Automaton& automaton, std::string_view text) {
  State state = start_of(automaton);
  for (const char byte : text) {
    state = behind_byte(automaton, state, static_cast<std::uint8_t>(byte));
    if (state.is_dead()) return false;
  }
  return state.may_end;
}

inline Automaton automaton_of(std::string_view schema) {
  return json_schema(Json::parse(schema), "schema").compiled().automaton;
}

inline bool takes(std::string_view schema, std::string_view text) {
  return takes(automaton_of(schema), text);
}

// Why it is refused, "" where it is not.
inline std::string refusal_of(std::string_view schema) try {
  automaton_of(schema);
  return "";
} catch (const SchemaError& error) {
  return error.what();
}

}  // namespace pc::constrain::test
