// A table of text: columns as wide as their widest cell, two blanks between
// them, no rules, nothing after the last character of a line.
// Cells are printable text (terminal.h). Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pc::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);

  // As many cells as there are columns; missing ones are empty.
  void add_row(std::vector<std::string> cells);

  // The title line, unless every title is empty, and the rows.
  std::string text() const;

 private:
  void append_line(const std::vector<std::string>& cells, std::string* out) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pc::cli
