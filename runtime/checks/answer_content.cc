#include "runtime/checks/answer_content.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "runtime/jinja/values/unicode.h"

namespace pc {
namespace {

using Words = std::vector<std::string>;

bool is_between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

// Of scripts that write no spaces between words: Thai and Lao, Burmese, Khmer, and Chinese,
// Japanese and what else stands behind Unicode's radicals. Korean has spaces.
bool is_word_by_itself(char32_t c) {
  return is_between(c, 0x0E00, 0x0EFF) || is_between(c, 0x1000, 0x109F) ||
         is_between(c, 0x1780, 0x17FF) || (c >= 0x2E80 && !is_between(c, 0xAC00, 0xD7AF));
}

Words each_once(Words words) {
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool is_number(const std::string& word) {
  return jinja::all_of(word, jinja::is_decimal);
}

bool has(const Words& sorted, const std::string& word) {
  return std::ranges::binary_search(sorted, word);
}

}  // namespace

Words words_of(std::string_view text) {
  const std::string lower = jinja::to_lower(text.substr(0, utf8_valid_prefix(text)));
  Words words;
  bool is_inside = false, goes_on = false;  // a word; and the next letter is of the same one
  for (std::size_t at = 0; at < lower.size();) {
    const std::size_t begin = at;
    const char32_t c = utf8_next(lower, &at);
    const bool is_letter = jinja::is_alpha(c) || jinja::is_numeric(c);
    is_inside = is_letter || (is_inside && jinja::is_mark(c));
    goes_on = goes_on && is_inside;
    if (is_letter && (!goes_on || is_word_by_itself(c))) words.emplace_back();
    if (is_letter) goes_on = !is_word_by_itself(c);
    if (is_inside) words.back() += lower.substr(begin, at - begin);
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
