// One generation: its text, its tokens, and what they cost.
#pragma once

#include <functional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/opening/options.h"
#include "tools/output/json.h"

namespace pc::cli {

struct Answer {
  std::string text;
  std::vector<std::int32_t> tokens;
  pc_session_stats stats{};
};

// `stop` has the options' strings and is borrowed.
promptcache::SessionOptions session_options(const Options& options, bool reuse,
                                            const std::vector<const char*>& stop);

// Calls on_text with each piece of text as soon as it is certain. Ctrl-C ends
// it with promptcache::Error PC_CANCELLED.
Answer generate(const promptcache::Prompt& prompt, const Options& options, bool reuse,
                const std::function<void(std::string_view)>& on_text);

// 0 where there were too few tokens to tell.
double decode_tokens_per_second(const pc_session_stats& stats);

std::string describe(const pc_session_stats& stats);  // a few lines for people
Json to_json(const Answer& answer);

}  // namespace pc::cli
