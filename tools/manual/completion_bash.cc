#include "tools/manual/completion.h"

namespace pc::cli {
namespace {

constexpr char kBegin[] = R"(# Completion of promptcache for bash, made of what its --help says.
_promptcache() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $word == = ]]; then
    word=  # --model=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}  # --model=mod
  fi
  local verb=promptcache i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${COMP_WORDS[i]}" in
)";
constexpr char kMiddle[] = R"() verb+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  # What may stand here: options, an operand, and of the option before it a value.
  local options= operand= files= value=
  case $verb in
)";
constexpr char kEnd[] = R"(  esac
  COMPREPLY=()
  [[ ! $value && $word != -* ]] || files=
  if [[ ! $value && $word == -* || ! $value$operand ]]; then
    value=$options
  fi
  case ${value:-$operand} in
    nothing) ;;
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
    folders)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$word")
      ;;
    *) mapfile -t COMPREPLY < <(compgen -W "${value:-$operand}" -- "$word") ;;
  esac
  if [[ $files ]]; then  # beside verbs
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _promptcache promptcache
)";

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string offered(const OptionHelp& option) {
  switch (offer_of(option)) {
    case Offer::kFiles:
      return "files";
    case Offer::kFolders:
      return "folders";
    case Offer::kWords:
      return "'" + joined(option.words, " ") + "'";
    case Offer::kNothing:
      break;
  }
  return "nothing";
}

// Verbs, or else what the first operand is.
std::string operand_of(const VerbHelp& verb) {
  std::string verbs;
  for (const auto& below : verb.verbs) verbs += (verbs.empty() ? "" : " ") + last_word(below);
  if (!verbs.empty()) return "'" + verbs + "'";
  return verb.operands.empty() ? "" : offered(verb.operands.front());
}

std::string rules_of(const VerbHelp& verb) {
  std::string options, values;
  for (const auto& option : verb.options) {
    options += (options.empty() ? "" : " ") + joined(option.names, " ");
    if (!option.value.empty())
      values += "        " + joined(option.names, " | ") + ") value=" + offered(option) + " ;;\n";
  }
  std::string out = "    '" + verb.name + "')\n      options='" + options + "'\n";
  if (const auto operand = operand_of(verb); !operand.empty())
    out += "      operand=" + operand + '\n';
  if (!verb.verbs.empty() && !verb.operands.empty() &&
      offer_of(verb.operands.front()) == Offer::kFiles)
    out += "      files=too\n";
  if (!values.empty()) out += "      case $before in\n" + values + "      esac\n";
  return out + "      ;;\n";
}

}  // namespace

std::string bash_completion(const VerbHelp& command) {
  std::string names, rules;
  each_verb(command, [&](const VerbHelp& verb) {
    if (&verb != &command)
      names += (names.empty() ? "" : " | \\\n") + ("      '" + verb.name + "'");
    rules += rules_of(verb);
  });
  return kBegin + names + kMiddle + rules + kEnd;
}

}  // namespace pc::cli
