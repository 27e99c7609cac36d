// Messages that a person types at a terminal: edited, recalled, completed, and pasted whole,
// however many lines the paste has. The home of libedit; without it (PC_HAS_LIBEDIT), and where
// what is shown goes elsewhere than to a terminal that can place its cursor, lines are what the
// terminal hands over.
//
// One at a time. Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pc::cli {

class LineEditor {
 public:
  // All words that may stand at the end of the line; those are offered that begin as it does.
  using Words = std::function<std::vector<std::string>(const std::string& line)>;

  explicit LineEditor(Words words);
  ~LineEditor();

  // For recall, latest last.
  void remember(const std::string& message);

  // What was typed behind the prompt, without its line break; nothing at the end of the input.
  std::optional<std::string> read(const std::string& prompt);
  // Did the line that was read last end with a paste? A backslash there is what was pasted.
  bool ends_with_paste() const { return ends_with_paste_; }

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;  // null: lines are not edited
  bool ends_with_paste_ = false;
};

}  // namespace pc::cli
