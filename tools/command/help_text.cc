#include "tools/command/help_text.h"

#include <algorithm>

namespace pc::cli {

std::string help_entry(std::string_view left, std::string_view right) {
  std::string out = "  " + std::string(left);
  std::size_t column = out.size();
  if (column + 2 > kHelpLeft) {
    out += '\n';
    column = 0;
  }
  out.append(kHelpLeft - column, ' ');
  column = kHelpLeft;
  for (std::size_t begin = 0; begin < right.size();) {
    const std::size_t end = std::min(right.find(' ', begin), right.size());
    const std::size_t word = end - begin;
    if (column > kHelpLeft && column + 1 + word > kHelpWidth) {
      out += '\n' + std::string(kHelpLeft, ' ');
      column = kHelpLeft;
    }
    if (column > kHelpLeft) out += ' ', ++column;
    out += right.substr(begin, word);
    column += word;
    begin = end + 1;
  }
  return out + '\n';
}

}  // namespace pc::cli
