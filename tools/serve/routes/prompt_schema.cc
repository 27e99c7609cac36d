#include "tools/serve/routes/prompt_schema.h"

#include <algorithm>
#include <cstddef>

namespace pc::serve {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

void skip_space(std::string_view* rest) {
  rest->remove_prefix(std::min(rest->find_first_not_of(kSpace), rest->size()));
}

bool take(std::string_view* rest, std::string_view word) {
  if (!rest->starts_with(word)) return false;
  rest->remove_prefix(word.size());
  return true;
}

// All up to the word, which is taken, too; where it does not come, all.
std::string_view take_until(std::string_view* rest, std::string_view word) {
  const std::size_t at = std::min(rest->find(word), rest->size());
  const std::string_view before = rest->substr(0, at);
  rest->remove_prefix(std::min(at + word.size(), rest->size()));
  return before;
}

// What may stand before the first element: a byte order mark, a declaration, comments.
void skip_prolog(std::string_view* rest) {
  take(rest, "\xEF\xBB\xBF");
  skip_space(rest);
  if (take(rest, "<?xml")) take_until(rest, "?>");
  for (skip_space(rest); take(rest, "<!--"); skip_space(rest)) take_until(rest, "-->");
}

struct Attribute {
  std::string_view name, value;
};

// The next attribute of a tag; one without a name where there is none.
Attribute take_attribute(std::string_view* rest) {
  skip_space(rest);
  std::string_view name = rest->substr(0, rest->find_first_of("=>/<\"' \t\r\n"));
  rest->remove_prefix(name.size());
  skip_space(rest);
  if (!take(rest, "=")) return {};
  skip_space(rest);
  for (const std::string_view quote : {"\"", "'"})
    if (take(rest, quote)) return {name, take_until(rest, quote)};
  return {};
}

}  // namespace

std::string schema_of_prompt(std::string_view pml) {
  skip_prolog(&pml);
  if (!take(&pml, "<prompt") || pml.empty() || kSpace.find(pml.front()) == kSpace.npos) return "";
  for (Attribute a = take_attribute(&pml); !a.name.empty(); a = take_attribute(&pml))
    if (a.name == "schema") return std::string(a.value);
  return "";
}

}  // namespace pc::serve
