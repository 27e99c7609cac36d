// The answer's text while it grows: tokens in, whole characters out, stop
// strings cut off.
//
// Text is held back while it is half a character, or may still become the
// beginning of a stop string. Once a stop string is complete, it and all that
// follows are dropped.
//
// A text of its own loses a space in front, where the tokenizer puts one in front of every text;
// one that goes on with a text keeps it, since it stands between two words.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "pml/turns/text_encoder.h"  // Begins, TokenId
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

class TextStream {
 public:
  // `tokenizer` is borrowed. Empty stop strings are ignored.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop, pml::Begins begins,
             Tokenizer::Controls controls = Tokenizer::Controls::kHide);

  // Takes a token in; text() is then what became certain by it.
  // Returns true when a stop string is complete: the generation is over.
  bool push(TokenId token);

  // Which of the stop strings that was: the first in the text and, of those that begin there, the
  // first that was given. -1: none is complete.
  std::int32_t stop() const { return found_; }

  // The generation is over without a stop string: what was held back is certain.
  void finish();

  void clear() { text_.clear(); }

  // Valid until the next call.
  const std::string& text() const { return text_; }

 private:
  bool release(bool all);

  const Tokenizer* tokenizer_;
  std::vector<std::string> stop_;
  Tokenizer::Controls controls_;
  Utf8Stream utf8_;
  std::string bytes_;    // of one token
  std::string pending_;  // whole characters not yet certain
  std::string text_;
  std::int32_t found_ = -1;
  bool drop_space_;  // a space in front is still to be dropped
};

}  // namespace pc
