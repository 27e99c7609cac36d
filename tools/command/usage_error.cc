#include "tools/command/usage_error.h"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "pml/syntax/names.h"

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

// Do verbs below this one have the option?
bool verb_options_have(const CLI::App& group, const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const CLI::App* child : group.get_subcommands({})) {
    const std::vector<std::string> names = option_names(*child);
    if (std::find(names.begin(), names.end(), name) != names.end() ||
        verb_options_have(*child, option))
      return true;
  }
  return false;
}

// One that does something itself, beside grouping others.
bool takes_operand(const CLI::App& verb) {
  const auto options = verb.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

// What the words ask for, as deep as they name verbs.
struct Asked {
  const CLI::App* verb;
  std::string name;          // "promptcache cache"
  std::string early_option;  // that stands where a verb should
  std::string no_verb;       // a word there that is none
};

Asked asked_of(const CLI::App& app, std::span<const char* const> words) {
  Asked asked{&app, app.get_name(), "", ""};
  for (const std::string word : words) {
    const std::vector<std::string> verbs = verb_names(*asked.verb);
    if (verbs.empty()) break;
    if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) {
      asked.verb = asked.verb->get_subcommand(word);
      asked.name += " " + word;
      continue;
    }
    if (takes_operand(*asked.verb)) break;
    if (!word.starts_with('-'))
      asked.no_verb = word;
    else if (verb_options_have(*asked.verb, word))
      asked.early_option = word;
    break;
  }
  return asked;
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& problem,
                        std::span<const char* const> words) {
  const Asked asked = asked_of(app, words);
  const CLI::App& verb = *asked.verb;
  const std::string help = "; see " + asked.name + " --help";
  if (!asked.early_option.empty())
    return "options stand behind the verb: " + asked.name + " VERB " + asked.early_option + help;
  if (!asked.no_verb.empty())
    return asked.name + " has no verb " + asked.no_verb + nearest(asked.no_verb, verb_names(verb)) +
           help;
  if (const auto option = unknown_option(verb, words))
    return asked.name + " has no option " + *option + nearest(*option, option_names(verb)) + help;
  if (dynamic_cast<const CLI::ExtrasError*>(&problem)) {
    const std::vector<std::string> left = app.remaining(true);
    if (!left.empty() && left.front().starts_with('-'))
      return asked.name + " has no option " + left.front() + help;
    if (!left.empty()) return "\"" + left.front() + "\" is one argument too many" + help;
  }
  const std::string what = problem.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem)) {
    // "--model: 1 required PATH missing", "--prompt: At Most 1 required but received 2"
    const std::string name = what.substr(0, what.find(':'));
    if (what.ends_with("missing")) return name + " needs a value" + help;
    const CLI::Option* const option = verb.get_option_no_throw(name);
    if (option && option->get_expected_min() > 1)
      return name + " takes " + std::to_string(option->get_expected_min()) +
             " values, and no other number" + help;
    return name + " is given more than once" +
           (option && option->get_positional() ? ": text with spaces wants quotes" : "") + help;
  }
  return what + help;
}

}  // namespace pc::cli
