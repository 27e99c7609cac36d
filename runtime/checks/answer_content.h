// What an answer says, as far as its words show: whether another answer to the same question says
// it, too. Nobody has to know the right answer for that, and neither has to be worded alike.
//
// Said are the words of an answer that the question does not have and that tell the prompt's
// documents apart: in no more than half of them, or in none, as a number that was counted. Where
// that leaves nothing ("a red bicycle", of a question that names it), all of its words.
//
// Pure. Threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pc {

// Words in lower case, without punctuation; in scripts that write no spaces, letters with their
// marks. What is not UTF-8 ends the text.
std::vector<std::string> words_of(std::string_view text);

struct AskedAbout {
  std::string question;
  std::vector<std::string> documents;
};

class AnswerContent {
 public:
  AnswerContent(std::string_view answer, const AskedAbout& about);

  // More than half of what the answer says, and each of its numbers. What says nothing is in
  // nothing but that.
  bool is_in(std::string_view other) const;

 private:
  std::vector<std::string> said_;  // sorted, each once
};

}  // namespace pc
