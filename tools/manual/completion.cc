#include "tools/manual/completion.h"

namespace pc::cli {

Offer offer_of(const OptionHelp& option) {
  if (!option.words.empty()) return Offer::kWords;
  if (option.value == "FILE" || option.value == "PATH") return Offer::kFiles;
  if (option.value == "DIR") return Offer::kFolders;
  return Offer::kNothing;
}

std::string last_word(const VerbHelp& verb) {
  return verb.name.substr(verb.name.rfind(' ') + 1);
}

std::string single_quoted(const std::string& text, const std::string& apostrophe) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? apostrophe : std::string(1, c);
  return out + "'";
}

}  // namespace pc::cli
