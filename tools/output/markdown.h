// A table in Markdown, its columns aligned in the text as well. Cells are printable text
// (terminal.h). Thread-compatible.
#pragma once

#include <string>
#include <vector>

namespace pc::cli {

class MarkdownTable {
 public:
  struct Column {
    std::string title;
    bool right = true;
  };

  explicit MarkdownTable(std::vector<Column> columns);

  void add_row(std::vector<std::string> cells);  // as many as there are columns

  std::string text() const;  // "" without a row

 private:
  std::string line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pc::cli
