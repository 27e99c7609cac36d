#include "tools/word_wrap.h"

#include "tools/terminal.h"

namespace pc::cli {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::size_t kTold = 4;  // bytes of a line that tell whether it is code

}  // namespace

bool WordWrap::is_code() const {
  return fenced_ || line_.starts_with(kFence) || line_.starts_with("    ") ||
         line_.starts_with('\t');
}

void WordWrap::show_word(std::string* shown) {
  const std::size_t width = display_width(word_);
  if (column_ > 0 && column_ + width > columns_ && !is_code()) {
    *shown += '\n';
    column_ = 0;
  }
  *shown += word_;
  column_ += width;
  word_.clear();
}

void WordWrap::take(char c, std::string* shown) {
  if (c == '\n') {
    show_word(shown);
    if (line_.starts_with(kFence)) fenced_ = !fenced_;
    *shown += c;
    column_ = 0;
    line_.clear();
    return;
  }
  if (line_.size() < kTold) line_ += c;
  if (c == ' ' || c == '\t') {
    show_word(shown);
    *shown += c;
    ++column_;
    return;
  }
  word_ += c;
  if (is_code() && line_.size() == kTold) show_word(shown);
}

std::string WordWrap::add(std::string_view text) {
  if (columns_ == 0) return std::string(text);
  std::string shown;
  for (const char c : text) take(c, &shown);
  return shown;
}

std::string WordWrap::end() {
  std::string shown;
  show_word(&shown);
  column_ = 0;
  line_.clear();
  fenced_ = false;
  return shown;
}

}  // namespace pc::cli
