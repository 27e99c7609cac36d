#include "runtime/checks/answer_content.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace pc {
namespace {

using Words = std::vector<std::string>;

bool is_between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

// Unicode's blocks of punctuation, and ASCII's and Latin-1's.
bool is_in_word(char32_t c) {
  if (c < 0x80)
    return is_between(c, '0', '9') || is_between(c, 'a', 'z') || is_between(c, 'A', 'Z');
  return !is_between(c, 0x80, 0xBF) && !is_between(c, 0x2000, 0x206F) &&
         !is_between(c, 0x3000, 0x303F) && !is_between(c, 0xFF00, 0xFF0F);
}

// Chinese, Japanese, and what else stands behind Unicode's radicals; Korean has spaces.
bool is_word_by_itself(char32_t c) {
  return c >= 0x2E80 && !is_between(c, 0xAC00, 0xD7AF);
}

Words each_once(Words words) {
  std::ranges::sort(words);
  const auto [first, last] = std::ranges::unique(words);
  words.erase(first, last);
  return words;
}

bool is_number(const std::string& word) {
  return word.find_first_not_of("0123456789") == std::string::npos;
}

bool has(const Words& sorted, const std::string& word) {
  return std::ranges::binary_search(sorted, word);
}

}  // namespace

Words words_of(std::string_view text) {
  text = text.substr(0, utf8_valid_prefix(text));
  Words words;
  bool goes_on = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = utf8_next(text, &at);
    const bool is_word = is_in_word(c);
    if (is_word && (!goes_on || is_word_by_itself(c))) words.emplace_back();
    goes_on = is_word && !is_word_by_itself(c);
    if (!is_word) continue;
    words.back() += text.substr(begin, at - begin);
    if (is_between(c, 'A', 'Z')) words.back().back() += 'a' - 'A';
  }
  return words;
}

AnswerContent::AnswerContent(std::string_view answer, const AskedAbout& about) {
  const Words question = each_once(words_of(about.question));
  std::vector<Words> documents;
  for (const std::string& text : about.documents) documents.push_back(each_once(words_of(text)));
  const auto tells_apart = [&](const std::string& word) {
    const auto n = std::ranges::count_if(documents, [&](const Words& d) { return has(d, word); });
    return documents.size() < 2 || static_cast<std::size_t>(n) * 2 <= documents.size();
  };
  Words all = each_once(words_of(answer));
  for (const std::string& word : all)
    if (!has(question, word) && tells_apart(word)) said_.push_back(word);
  if (said_.empty()) said_ = std::move(all);
}

bool AnswerContent::is_in(std::string_view other) const {
  const Words words = each_once(words_of(other));
  if (said_.empty()) return words.empty();
  const auto is_lost = [&](const std::string& w) { return is_number(w) && !has(words, w); };
  if (std::ranges::any_of(said_, is_lost)) return false;
  const auto n = std::ranges::count_if(said_, [&](const std::string& w) { return has(words, w); });
  return static_cast<std::size_t>(n) * 2 > said_.size();
}

}  // namespace pc
