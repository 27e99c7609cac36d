// What is wrong with a command line, in a sentence that names the way out: the option or verb that
// was probably meant, what a value may be, and the help of the verb that was asked for.
//
// Internal to tools/command/. Threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace pc::cli {

// words: what stands behind the program's name.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem,
                        std::span<const char* const> words);

}  // namespace pc::cli
