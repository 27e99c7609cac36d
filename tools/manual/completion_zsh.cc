#include "tools/manual/completion.h"

namespace pc::cli {
namespace {

std::string quoted(const std::string& text) {
  return single_quoted(text, "'\\''");
}

// "_promptcache_cache_ls"
std::string function_name(const VerbHelp& verb) {
  std::string name = "_" + verb.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

// Brackets end a description, colons a part.
std::string described(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string offered(const OptionHelp& option) {
  switch (offer_of(option)) {
    case Offer::kFiles:
      return "_files";
    case Offer::kFolders:
      return "_files -/";
    case Offer::kWords:
      break;
    case Offer::kNothing:
      return " ";
  }
  std::string words;
  for (const auto& word : option.words) words += (words.empty() ? "" : " ") + word;
  return "(" + words + ")";
}

// Where a value stands: in the same word or the next, behind '=' or there, or in the next alone.
std::string value_sign(const std::string& name) {
  if (name.size() == 2) return "+";
  return name[1] == '-' ? "=" : "";
}

// '(-m --model)-m+[the model]:PATH:_files', and the same for --model=
std::string option_rules(const OptionHelp& option) {
  std::string all, out;
  for (const auto& name : option.names) all += (all.empty() ? "" : " ") + name;
  for (const auto& name : option.names) {
    std::string rule = (option.repeats ? "*" : "(" + all + ")") + name;
    if (!option.value.empty()) rule += value_sign(name);
    rule += "[" + described(option.text) + "]";
    if (!option.value.empty()) rule += ":" + option.value + ":" + offered(option);
    out += " \\\n    " + quoted(rule);
  }
  return out;
}

std::string operand_rule(const OptionHelp& operand) {
  const char* const place = operand.repeats ? "*:" : operand.required ? ":" : "::";
  return " \\\n    " + quoted(place + operand.names.front() + ":" + offered(operand));
}

// Of a verb that has operands and verbs: one of these takes the rest of the line, wherever an
// operand could stand as well.
std::string verbs_first(const VerbHelp& verb) {
  std::string out;
  for (const auto& below : verb.verbs)
    out += "  if (( CURRENT > 2 )) && [[ $words[2] == " + last_word(below) +
           " ]]; then\n    shift words\n    (( CURRENT-- ))\n    " + function_name(below) +
           "\n    return\n  fi\n";
  return out;
}

std::string operands_or_verbs(const VerbHelp& verb) {
  std::string words;
  for (const auto& below : verb.verbs) words += (words.empty() ? "" : " ") + last_word(below);
  const OptionHelp& operand = verb.operands.front();
  return " \\\n    " + quoted(std::string(operand.repeats ? "*:" : "::") + operand.names.front() +
                              ":_alternative \"files:file:" + offered(operand) +
                              "\" \"verbs:verb:(" + words + ")\"");
}

std::string verb_rules(const VerbHelp& verb) {
  std::string names, calls;
  for (const auto& below : verb.verbs) {
    const std::string word = last_word(below);
    names += "\n      " + quoted(word + ":" + described(below.description));
    calls += "        " + word + ") " + function_name(below) + " ;;\n";
  }
  return " \\\n    '1:verb:->verb' '*::argument:->arguments'\n"
         "  case $state in\n"
         "    verb)\n"
         "      local -a verbs=(" +
         names +
         ")\n"
         "      _describe verb verbs ;;\n"
         "    arguments)\n"
         "      case $line[1] in\n" +
         calls +
         "      esac ;;\n"
         "  esac";
}

std::string function_of(const VerbHelp& verb) {
  std::string rules;
  for (const auto& option : verb.options) rules += option_rules(option);
  const bool has_both = !verb.verbs.empty() && !verb.operands.empty();
  if (has_both)
    rules += operands_or_verbs(verb);
  else
    for (const auto& operand : verb.operands) rules += operand_rule(operand);
  if (!verb.verbs.empty() && !has_both) rules += verb_rules(verb);
  return function_name(verb) + "() {\n" + (has_both ? verbs_first(verb) : "") +
         "  local curcontext=$curcontext state line\n  typeset -A opt_args\n"
         "  _arguments -C -S" +
         rules + "\n}\n\n";
}

}  // namespace

std::string zsh_completion(const VerbHelp& command) {
  std::string out =
      "#compdef promptcache\n# Completion of promptcache for zsh, made of what its --help "
      "says.\n\n";
  each_verb(command, [&](const VerbHelp& verb) { out += function_of(verb); });
  return out + function_name(command) + " \"$@\"\n";
}

}  // namespace pc::cli
