// Reads a text from its beginning to its end: words in which white space does not count, names, and
// JSON amid other text.
//
// Borrows the text. Threads: one at a time.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/json/json_value.h"

namespace pc::calls {

// What does not count in words.
inline constexpr std::string_view kSpace = " \t\r\n";

class CallCursor {
 public:
  explicit CallCursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  void skip(std::size_t n) { rest_.remove_prefix(n); }
  void skip_space();

  // Takes the word, whatever white space stands before it or in it. An empty word is always there.
  bool take(std::string_view word);
  // The same where the text is over before the word is.
  bool take_beginning(std::string_view word);
  // All up to a word, which is taken, too; nothing where it does not come.
  std::optional<std::string_view> take_until(std::string_view word);
  // All up to a word, which stays; nothing where it does not come.
  std::optional<std::string_view> take_before(std::string_view word);
  // A tool's name: letters, digits and _ - . :
  std::optional<std::string_view> take_name();
  // One object or list.
  std::optional<Json> take_json();
  // An object, a list or a string in quotes, where the word stands behind it, which is taken, too.
  std::optional<Json> take_json_and(std::string_view word);

 private:
  std::optional<Json> take_enclosed();
  // How much of the text the word takes; npos where it is another. is_over: also where the text
  // ends before.
  std::size_t match(std::string_view word, bool is_over) const;

  std::string_view rest_;
};

// What take_name() takes, and nothing else.
bool is_call_name(std::string_view text);

// Without white space at its ends.
std::string_view trimmed(std::string_view text);

// Up to its first white space.
std::string_view first_word(std::string_view words);

// Is the text over before the word is, and its beginning until there? Also where it is white space.
bool is_cut(std::string_view text, std::string_view word);

// The place of the word in the text or, at the text's end, of the word's beginning; the text's size
// where neither is there.
std::size_t place_of(std::string_view text, std::string_view word);

// How deep in brackets a place in JSON is.
struct Brackets {
  int depth = 0;
  bool in_string = false, is_escaped = false;

  void take(char c);
};

// Where the object, the list or the string in quotes ends that a text begins with, behind white
// space. The text may grow between two questions: none of it is looked at twice.
class JsonEnd {
 public:
  enum class Kind { kMore /* of the text is needed */, kNone, kFound };

  Kind find_in(std::string_view text);
  std::size_t place() const { return n_read_; }  // kFound: behind it

 private:
  Kind read(char c);

  Kind kind_ = Kind::kMore;
  std::size_t n_read_ = 0;
  bool is_begun_ = false;
  Brackets brackets_;
};

}  // namespace pc::calls
