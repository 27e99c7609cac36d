// What an answer must be: texts, JSON of a schema, one behind the other, or one of several.
//
//   Grammar call = sequence({literal("<tool_call>{\"name\": \"f\", \"arguments\": "),
//                            json_schema(parameters, "tools[0].function.parameters"),
//                            literal("}</tool_call>")});
//   Grammar any = choice({call_of_f, call_of_g});
//
// Immutable value, cheap to copy. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constrain/automata/automaton.h"
#include "runtime/constrain/automata/limits.h"
#include "runtime/constrain/schemas/member_words.h"
#include "runtime/constrain/schemas/strictness.h"
#include "runtime/json/json_value.h"

namespace pc::constrain {

// left_out: what of its schemas it does not enforce; nothing where all are strict.
struct CompiledRules {
  Automaton automaton;
  std::vector<LeftOut> left_out;
};

class Grammar {
 public:
  struct Part;
  explicit Grammar(std::shared_ptr<const Part> part) : part_(std::move(part)) {}

  // Refused at its place where a schema cannot be enforced: a strict one wholly, another one at
  // all.
  Result<CompiledRules> compiled() const;
  // The same of grammars that are the same.
  const std::string& key() const;

 private:
  friend class GrammarCompiler;
  friend Grammar combined(const char* kind, std::vector<Grammar> parts);
  std::shared_ptr<const Part> part_;
};

// name: in messages, where it is too large.
Grammar literal(std::string_view text, std::string_view name = {});
// name: of the schema in messages. What cannot be enforced is refused, or named, when it is
// compiled.
Grammar json_schema(const Json& schema, std::string_view name,
                    Strictness strictness = Strictness::kStrict);
Grammar json_object();  // any
// A text that the pattern takes wholly, from its beginning to its end; never the empty text. As
// regex.h reads it, when it is compiled; UTF-8. name: in messages.
Grammar matching_text(std::string_view pattern, std::string_view name);
// As gbnf.h reads it, when it is compiled. name: in messages.
Grammar gbnf_grammar(std::string_view text, std::string_view name);
// The members of an object that the schema takes, in its order, as these words write them: strings
// (where "type" says so) as they are or in quotes, other values in JSON. Only what is named in
// "properties" or "required" comes. Behind or before other parts: by itself it could be the empty
// text.
Grammar written_members(const Json& schema, std::string_view name, MemberWords words,
                        Strictness strictness = Strictness::kStrict);
// Any text, control tokens among it; behind each of the words that stands in it comes what the
// grammar says, and then any text again.
Grammar watched_text(std::vector<std::string> words, Grammar behind_word);
// Any text, control tokens among it, in which none of the words stands.
Grammar text_without(std::vector<std::string> words);
Grammar sequence(std::vector<Grammar> parts);
Grammar choice(std::vector<Grammar> alternatives, std::string_view name = {});  // name: likewise

}  // namespace pc::constrain
