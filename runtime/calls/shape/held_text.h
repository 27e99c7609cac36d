// An answer's text while it grows, from the place on up to which it is understood; and a word that
// is looked for in it, with none of the text looked through twice.
//
// Bytes are passed by moving a place, and moved in memory only once as many came behind them, so
// that all that is done to a text takes time in proportion to its length. Views of it hold until
// push(). Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {

class HeldText {
 public:
  std::string_view view() const { return std::string_view(text_).substr(at_); }
  // Of the view's first byte, in all that was pushed.
  std::size_t position() const { return n_gone_ + at_; }

  void push(std::string_view text) {
    if (kept_ > text_.size() / 2) {
      text_.erase(0, kept_);
      n_gone_ += kept_;
      at_ -= kept_;
      kept_ = 0;
    }
    text_ += text;
  }

  // The view begins n bytes later, until go_back().
  void pass(std::size_t n) { at_ += n; }
  // For good, with what was passed before.
  void drop(std::size_t n) { kept_ = at_ += n; }
  void go_back() {
    at_ = kept_;
    space_end_ = 0;
  }

  // The white space that the view begins with, in bytes.
  std::size_t n_space() {
    const std::string_view held = view();
    const std::size_t from = space_end_ > position() ? space_end_ - position() : 0;
    const std::size_t n = std::min(held.find_first_not_of(kSpace, from), held.size());
    space_end_ = position() + n;
    return n;
  }
  bool is_space() { return n_space() == view().size(); }

 private:
  std::string text_;
  std::size_t kept_ = 0, at_ = 0;  // in text_: what was passed begins, and the view does
  std::size_t n_gone_ = 0;         // before text_
  std::size_t space_end_ = 0;      // a position: white space from the view's begin, or before it
};

// One word's places, each further on than the one before.
class WordSearch {
 public:
  // As place_of(held.view(), word), from `from` on, in which the word is not before a place that it
  // was looked for from earlier.
  std::size_t place_in(const HeldText& held, std::string_view word, std::size_t from = 0) {
    const std::string_view text = held.view();
    const std::size_t known = certain_ > held.position() ? certain_ - held.position() : 0;
    const std::size_t begin = std::min(std::max(known, from), text.size());
    const std::size_t at = begin + place_of(text.substr(begin), word);
    certain_ = held.position() + at;
    return at;
  }

 private:
  std::size_t certain_ = 0;  // a position: the word begins nowhere before it
};

}  // namespace pc::calls
