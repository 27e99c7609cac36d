// Completion of the command line for shells, made of what --help says: verbs and options,
// files and folders where they are asked for, and the words of options that take few.
// Each is a whole script. Pure; any thread.
#pragma once

#include <string>

#include "tools/command/command_help.h"

namespace pc::cli {

std::string bash_completion(const VerbHelp& command);
std::string zsh_completion(const VerbHelp& command);
std::string fish_completion(const VerbHelp& command);

// What a shell offers where this value stands.
enum class Offer { kNothing, kFiles, kFolders, kWords };
Offer offer_of(const OptionHelp& option);

// The command and all verbs below it, each before its own.
void each_verb(const VerbHelp& command, const auto& visit) {
  visit(command);
  for (const auto& verb : command.verbs) each_verb(verb, visit);
}

// "ls" of "promptcache cache ls".
std::string last_word(const VerbHelp& verb);

// In single quotes; an apostrophe inside is written as `apostrophe`.
std::string single_quoted(const std::string& text, const std::string& apostrophe);

}  // namespace pc::cli
