#include "tools/usage_error.h"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "pml/names.h"

namespace pc::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> verb_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* child : verb.get_subcommands({})) names.push_back(child->get_name());
  return names;
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto near = pml::nearest_name(name, views);
  return near ? "; did you mean " + std::string(*near) + "?" : "";
}

// The first word that has an option's form and is none of the verb's. What stands behind a value's
// option may be such a word, too: it is asked only where something is wrong.
std::optional<std::string> unknown_option(const CLI::App& verb,
                                          std::span<const char* const> words) {
  const std::vector<std::string> known = option_names(verb);
  for (const std::string_view word : words) {
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-' || (word[1] >= '0' && word[1] <= '9')) continue;
    const bool is_long = word[1] == '-';
    const std::string name(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
    if (std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return std::nullopt;
}

// Where a verb of a group was asked for: the word behind the group that is none.
std::optional<std::string> unknown_verb(const CLI::App& group, std::span<const char* const> words) {
  const std::vector<std::string> known = verb_names(group);
  if (known.empty()) return std::nullopt;
  for (const std::string_view word : words)
    if (!word.starts_with('-') && word != group.get_name() &&
        std::find(known.begin(), known.end(), word) == known.end())
      return std::string(word);
  return std::nullopt;
}

}  // namespace

const CLI::App& verb_of(const CLI::App& app, std::span<const char* const> words) {
  const CLI::App* verb = &app;
  for (const char* const word : words) {
    const auto children = verb->get_subcommands(
        [&](const CLI::App* child) { return child->get_name() == std::string_view(word); });
    if (!children.empty()) verb = children.front();
    if (verb->get_subcommands({}).empty()) break;
  }
  return *verb;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& problem,
                        std::span<const char* const> words) {
  const CLI::App& verb = verb_of(app, words);
  std::string name;
  for (const CLI::App* at = &verb; at; at = at->get_parent())
    name = at->get_name() + (name.empty() ? "" : " " + name);
  const std::string help = "; see " + name + " --help";
  if (const auto word = unknown_verb(verb, words))
    return name + " has no verb " + *word + nearest(*word, verb_names(verb)) + help;
  if (const auto option = unknown_option(verb, words))
    return name + " has no option " + *option + nearest(*option, option_names(verb)) + help;
  if (const auto* extra = dynamic_cast<const CLI::ExtrasError*>(&problem); extra) {
    const std::vector<std::string> left = app.remaining(true);
    if (!left.empty()) return "\"" + left.front() + "\" is one argument too many" + help;
  }
  const std::string what = problem.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem))  // "--model: 1 required PATH missing"
    return what.substr(0, what.find(':')) +
           (what.ends_with("missing") ? " needs a value" : " is given more than once") + help;
  return what + help;
}

}  // namespace pc::cli
