#include "tools/manual/option_tables.h"

namespace pc::cli {
namespace {

constexpr char kOpening[] =
    "# All verbs and options\n\n"
    "This page is what `--help` says ([CLI.md](CLI.md) explains it). It is made by the build\n"
    "(`manual/OPTIONS.md` there), and a test holds it to the command.\n";

// A bar ends a cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

std::string row(const OptionHelp& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "`" : ", `") + name + "`";
  if (!option.value.empty() && option.names.front().starts_with('-'))
    names += " `" + option.value + "`";
  return "| " + cell(names) + " | " + cell(option.text) + " |\n";
}

void add(const VerbHelp& verb, std::string* page) {
  *page += "\n## " + verb.name + "\n\n" + verb.description + "\n\n    " + verb.usage + "\n";
  if (!verb.operands.empty() || !verb.options.empty()) {
    *page += "\n| | |\n|--|--|\n";
    for (const OptionHelp& operand : verb.operands) *page += row(operand);
    for (const OptionHelp& option : verb.options) *page += row(option);
  }
  for (const VerbHelp& below : verb.verbs) add(below, page);
}

}  // namespace

std::string option_tables(const VerbHelp& command) {
  std::string page = kOpening;
  add(command, &page);
  return page;
}

}  // namespace pc::cli
