// Does an automaton take a text?
#pragma once

#include <string_view>

#include "runtime/constrain/automata/state.h"
#include "runtime/constrain/grammar/grammar.h"

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
  return json_schema(Json::read(schema), "schema").compiled().value().automaton;
}

inline bool takes(std::string_view schema, std::string_view text) {
  return takes(automaton_of(schema), text);
}

// Why it is refused, "" where it is not.
inline std::string refusal_of(const Grammar& grammar) {
  const Result<CompiledRules> compiled = grammar.compiled();
  return compiled.ok() ? "" : compiled.error().message;
}
inline std::string refusal_of(std::string_view schema) {
  return refusal_of(json_schema(Json::read(schema), "schema"));
}

}  // namespace pc::constrain::test
