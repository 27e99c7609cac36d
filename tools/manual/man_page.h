// A page of the manual for a verb, in the language of man(7), made of what --help says.
// Pure; any thread.
#pragma once

#include <string>

#include "tools/command/command_help.h"

namespace pc::cli {

// "promptcache-cache-ls": what the page is called, and the verb in one word.
std::string page_name(const VerbHelp& verb);

// parent: "promptcache-cache", to which the page refers; empty: to none.
std::string man_page(const VerbHelp& verb, const std::string& parent, const std::string& version);

}  // namespace pc::cli
