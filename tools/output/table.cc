#include "tools/output/table.h"

#include <algorithm>

#include "tools/output/terminal.h"

namespace pc::cli {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(display_width(column.title));
}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::string out;
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  if (std::any_of(titles.begin(), titles.end(), [](const std::string& t) { return !t.empty(); }))
    append_line(titles, &out);
  for (const auto& row : rows_) append_line(row, &out);
  return out;
}

void Table::append_line(const std::vector<std::string>& cells, std::string* out) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths_[i] - display_width(cells[i]), ' ');
    line += i == 0 ? "" : "  ";
    line += columns_[i].align == Align::kRight ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line + "\n";
}

}  // namespace pc::cli
