// The C API's constraints: what answers must be.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "promptcache/promptcache.h"
#include "runtime/api/c_api_grammar.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/constrain/grammar/constraint.h"
#include "runtime/constrain/grammar/grammar.h"
#include "runtime/json/json.h"
#include "runtime/json/json_value.h"

namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using pc::constrain::Grammar;
using namespace pc::capi;

Status check_text(std::string_view text, const std::string& name) {
  const std::size_t valid = pc::utf8_valid_prefix(text);
  if (valid == text.size()) return pc::ok();
  return pc::error(Code::kInvalidArgument,
                   name + " is no UTF-8 from byte " + std::to_string(valid) + " on");
}

Result<Grammar> pattern_grammar(std::string_view pattern) {
  PC_CHECK_OK(check_size(pattern.size(), pc::constrain::kMaxPatternBytes, "regex"));
  PC_CHECK_OK(check_text(pattern, "the pattern"));
  return pc::constrain::matching_text(pattern, "regex");
}

Result<Grammar> gbnf_grammar(std::string_view text) {
  PC_CHECK_OK(check_size(text.size(), pc::constrain::kMaxGbnfBytes, "grammar"));
  PC_CHECK_OK(check_text(text, "the grammar"));
  return pc::constrain::gbnf_grammar(text, "grammar");
}

Result<Grammar> choice_grammar(std::span<const char* const> choices) {
  if (choices.empty()) return pc::error(Code::kInvalidArgument, "there are no choices");
  if (choices.size() > pc::constrain::kMaxChoices)
    return pc::error(
        Code::kUnsupported,
        "choices: more than " + std::to_string(pc::constrain::kMaxChoices) + " cannot be enforced");
  std::vector<Grammar> alternatives;
  std::size_t bytes = 0;
  for (const char* const choice : choices) {
    const std::string name = "choices[" + std::to_string(alternatives.size()) + "]";
    if (!choice) return null_argument(name.c_str());
    const std::string_view text = choice;
    if (text.empty()) return pc::error(Code::kInvalidArgument, name + " is the empty text");
    bytes += text.size();
    PC_CHECK_OK(check_size(bytes, pc::constrain::kMaxChoiceBytes, name + ", with those before it"));
    PC_CHECK_OK(check_text(text, name));
    alternatives.push_back(pc::constrain::literal(text, name));
  }
  return pc::constrain::choice(std::move(alternatives), "choices");
}

// read() gives the grammar.
template <class Read>
pc_status make(const pc_engine* engine, const void* text, pc_constraint** constraint,
               pc_error* error, Read read) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    if (!text) return null_argument("what an answer must be");
    PC_REQUIRE(constraint);
    PC_TRY(const Grammar grammar, read());
    PC_TRY(auto begin, engine->engine->constrainer().compile(grammar));
    *constraint = new pc_constraint{engine->engine, std::move(begin)};
    return pc::ok();
  });
}

}  // namespace

extern "C" {

pc_status pc_constraint_from_json_schema(const pc_engine* engine, const char* schema,
                                         std::size_t bytes, pc_constraint** constraint,
                                         pc_error* error) {
  return make(engine, schema, constraint, error,
              [&] { return schema_grammar(view_of(schema, bytes)); });
}

pc_status pc_constraint_from_choices(const pc_engine* engine, const char* const* choices,
                                     std::size_t n, pc_constraint** constraint, pc_error* error) {
  return make(engine, choices, constraint, error,
              [&] { return choice_grammar(std::span(choices, n)); });
}

pc_status pc_constraint_from_regex(const pc_engine* engine, const char* pattern, std::size_t bytes,
                                   pc_constraint** constraint, pc_error* error) {
  return make(engine, pattern, constraint, error,
              [&] { return pattern_grammar(view_of(pattern, bytes)); });
}

pc_status pc_constraint_from_gbnf(const pc_engine* engine, const char* grammar, std::size_t bytes,
                                  pc_constraint** constraint, pc_error* error) {
  return make(engine, grammar, constraint, error,
              [&] { return gbnf_grammar(view_of(grammar, bytes)); });
}

void pc_constraint_close(pc_constraint* constraint) {
  delete constraint;
}
}
