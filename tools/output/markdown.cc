#include "tools/output/markdown.h"

#include <algorithm>

#include "tools/output/terminal.h"

namespace pc::cli {

MarkdownTable::MarkdownTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(display_width(column.title));
}

void MarkdownTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  rows_.push_back(std::move(cells));
}

std::string MarkdownTable::text() const {
  if (rows_.empty()) return "";
  std::vector<std::string> titles, rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool right = columns_[i].right;
    titles.push_back(columns_[i].title);
    rules.push_back(std::string(widths_[i] - (right ? 1 : 0), '-') + (right ? ":" : ""));
  }
  std::string out = line(titles) + line(rules);
  for (const auto& row : rows_) out += line(row);
  return out;
}

std::string MarkdownTable::line(const std::vector<std::string>& cells) const {
  std::string out = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths_[i] - display_width(cells[i]), ' ');
    out += " " + (columns_[i].right ? padding + cells[i] : cells[i] + padding) + " |";
  }
  return out + "\n";
}

}  // namespace pc::cli
