// llama-bench's names of options where ours are of another form: several letters behind one dash
// ("-ngl"), and words with underscores ("--n_prompt"). A parser that reads "-ngl" as "-n gl" must
// not see them. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pc::cli {

// "--n-gpu-layers": {"-ngl"}; none for most.
std::vector<std::string> dashed_names(std::string_view long_name);

// The words of a command line, the program's name first; those of `promptcache bench` with the
// names that our options have.
std::vector<std::string> with_long_names(std::span<const char* const> words);

}  // namespace pc::cli
