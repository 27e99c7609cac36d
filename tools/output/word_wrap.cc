#include "tools/output/word_wrap.h"

namespace pc::cli {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::size_t kTold = 4;  // bytes of a line that tell whether it is code

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// Of scripts that put no spaces between words, by the first byte of UTF-8: Thai and its kin (U+0800
// to U+1FFF), and those of East Asia (U+3000 on), whose characters take two columns.
bool is_word_alone(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte == 0xE0 || byte == 0xE1 || byte >= 0xE3;
}

std::size_t columns_of(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text)
    if (begins_character(c)) n += static_cast<unsigned char>(c) >= 0xE3 ? 2 : 1;
  return n;
}

}  // namespace

bool WordWrap::is_code() const {
  return fenced_ || line_.starts_with(kFence) || line_.starts_with("    ") ||
         line_.starts_with('\t');
}

// Blanks in front of a word that begins another line are its break.
void WordWrap::show_word(std::string* shown) {
  if (word_.empty()) return;
  const std::size_t width = columns_of(word_);
  if (column_ > 0 && column_ + blanks_.size() + width > columns_ && !is_code() && !goes_on_) {
    *shown += '\n';
    column_ = 0;
  } else {
    *shown += blanks_;
    column_ += blanks_.size();
  }
  *shown += word_;
  column_ += width;
  word_.clear();
  blanks_.clear();
}

void WordWrap::take(char c, std::string* shown) {
  if (c == '\n') {
    show_word(shown);
    if (line_.starts_with(kFence)) fenced_ = !fenced_;
    *shown += c;
    column_ = 0;
    line_.clear();
    blanks_.clear();
    goes_on_ = false;
    return;
  }
  if (line_.size() < kTold) line_ += c;
  if (c == ' ' || c == '\t') {
    show_word(shown);
    goes_on_ = false;
    blanks_ += c;
    return;
  }
  if (!word_.empty() && begins_character(c)) {
    const bool alone = is_word_alone(word_.front()) || is_word_alone(c);
    const bool fills = columns_of(word_) >= columns_;
    if (alone || fills || is_code()) show_word(shown);
    goes_on_ = (goes_on_ || fills) && !alone;
  }
  word_ += c;
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
  *this = WordWrap(columns_);
  return shown;
}

}  // namespace pc::cli
