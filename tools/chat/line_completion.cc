#include "tools/chat/line_completion.h"

#include <algorithm>
#include <vector>

namespace pc::cli {

std::string completion_of(const std::string& line, std::span<const std::string> words) {
  const std::string begun = line.substr(line.rfind(' ') + 1);  // npos + 1: all of it
  std::vector<std::string> rests;
  for (const std::string& word : words)
    if (word.starts_with(begun)) rests.push_back(word.substr(begun.size()));
  if (rests.empty()) return "";
  if (rests.size() == 1) return rests.front() + (rests.front().ends_with('=') ? "" : " ");
  std::string common = rests.front();
  for (const std::string& rest : rests)
    common.resize(
        static_cast<std::size_t>(std::ranges::mismatch(common, rest).in1 - common.begin()));
  return common;
}

}  // namespace pc::cli
