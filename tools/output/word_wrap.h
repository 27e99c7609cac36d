// Breaks the lines of a text that comes piece by piece where words end. Lines of code (between ```
// fences, or indented by four spaces or a tab) stay whole: who copies them wants them so. Blanks at
// the end of a line are left out.
//
// Pure. Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pc::cli {

class WordWrap {
 public:
  // columns: of a line; 0: nothing is broken.
  explicit WordWrap(std::size_t columns) : columns_(columns) {}

  // What can be shown of the text so far and was not yet. A word is held until it has ended; of
  // scripts without spaces, a character until the next.
  std::string add(std::string_view text);
  // The end: what was held.
  std::string end();

 private:
  void take(char c, std::string* shown);
  void show_word(std::string* shown);
  bool is_code() const;

  std::size_t columns_;
  std::size_t column_ = 0;     // of what is shown
  std::string blanks_, word_;  // that are not shown yet; the word has not ended
  std::string line_;           // as it was given, up to where it is clear whether it is code
  bool fenced_ = false;
  bool goes_on_ = false;  // the word, whose beginning filled a line and is shown
};

}  // namespace pc::cli
