#include "tools/manual/completion.h"

namespace pc::cli {
namespace {

constexpr char kBegin[] = R"(# Completion of promptcache for fish, made of what its --help says.
function __promptcache_verb_is
    set -l verb promptcache
    for word in (commandline -opc)[2..-1]
        switch "$verb $word"
            case)";
constexpr char kEnd[] = R"(
                set verb "$verb $word"
        end
    end
    test "$verb" = "$argv"
end
complete -c promptcache -f
)";

std::string quoted(const std::string& text) {
  std::string backslashes;  // are commands before an apostrophe or another of them
  for (const char c : text) backslashes += c == '\\' ? "\\\\" : std::string(1, c);
  return single_quoted(backslashes, "\\'");
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string offered(const OptionHelp& option) {
  if (option.value.empty()) return "";
  switch (offer_of(option)) {
    case Offer::kFiles:
      return " -r -F";
    case Offer::kFolders:
      return " -x -a '(__fish_complete_directories (commandline -ct))'";
    case Offer::kWords:
      return " -x -a " + quoted(joined(option.words));
    case Offer::kNothing:
      break;
  }
  return " -x";
}

// Several letters behind one dash are an option of the old kind.
std::string name_rule(const std::string& name) {
  if (name[1] == '-') return " -l " + name.substr(2);
  return (name.size() == 2 ? " -s " : " -o ") + name.substr(1);
}

std::string rules_of(const VerbHelp& verb) {
  const std::string begin = "complete -c promptcache -n '__promptcache_verb_is " + verb.name + "'";
  std::string out;
  for (const auto& below : verb.verbs)
    out += begin + " -a " + last_word(below) + " -d " + quoted(below.description) + '\n';
  for (const auto& option : verb.options) {
    out += begin;
    for (const auto& name : option.names) out += name_rule(name);
    out += offered(option) + " -d " + quoted(option.text) + '\n';
  }
  for (const auto& operand : verb.operands)
    if (offer_of(operand) == Offer::kFiles) out += begin + " -F\n";
  return out;
}

}  // namespace

std::string fish_completion(const VerbHelp& command) {
  std::string names, rules;
  each_verb(command, [&](const VerbHelp& verb) {
    if (&verb != &command) names += " '" + verb.name + "'";
    rules += rules_of(verb);
  });
  return kBegin + names + kEnd + rules;
}

}  // namespace pc::cli
