// A vocabulary for tests: each byte, some tokens of several, and two that end the turn or show
// nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/vocabulary.h"

namespace pc::constrain::test {

inline std::vector<Vocabulary::Token> small_tokens() {
  std::vector<Vocabulary::Token> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back({std::string(1, static_cast<char>(byte)), false});
  for (const char* const text :
       {"{\"",      "\":",      "\": ",  "\", \"", "\"}",  "},",  "[[",   "]]",   "[{",
        "}]",       "true",     "false", "null",   "name", "the", " the", "a\"",  "\\u00",
        "\\n",      "12",       "000",   "-1",     "\n  ", ",\n", ": \"", ": {",  "\xC3\xA9",
        "\xF0\x9F", "\x98\x80", "\"a",   "\"b\":", "tre",  "20",  "\"\"", "\\\"", "{\"a\":{\"a\":"})
    tokens.push_back({text, false});
  tokens.push_back({"", true});
  tokens.push_back({"", false});
  return tokens;
}

}  // namespace pc::constrain::test
