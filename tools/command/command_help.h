// What --help says, as values: what the manual pages and the completions of shells are made
// of. command_line.h fills it from the command line itself, so that no text is written twice.
#pragma once

#include <string>
#include <vector>

namespace pc::cli {

// An option, or an operand, which is given by its place.
struct OptionHelp {
  std::vector<std::string> names;  // "-m", "--model"; an operand: "prompt"
  std::string value;               // what it takes: "PATH"; empty: it is a switch
  std::vector<std::string> words;  // all that it takes, where these are few
  std::string text;                // what it does
  bool required = false;           // an operand
  bool repeats = false;
};

struct VerbHelp {
  std::string name;  // "promptcache cache ls"; of the command itself "promptcache"
  std::string description, usage, footer;
  std::vector<OptionHelp> operands, options;
  std::vector<VerbHelp> verbs;
};

}  // namespace pc::cli
