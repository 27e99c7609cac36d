// Values of a library report as cells of a table; "-" where there is none.
#pragma once

#include <string>

#include "tools/output/json.h"
#include "tools/output/sizes.h"
#include "tools/output/terminal.h"

namespace pc::cli {

inline std::string cell(const Json& value) {
  return printable(value.text());
}

inline std::string size_cell(const Json& value) {
  const auto bytes = value.number();
  return bytes ? format_size(*bytes) : "-";
}

// A module's path; the text of a schema outside of modules has none.
inline std::string module_cell(const Json& path) {
  const std::string name = cell(path);
  return name == "-" ? "(anonymous text)" : name;
}

// Enough of a digest to tell files apart by eye, and for `cache show`.
inline std::string key_cell(const Json& value) {
  return cell(value).substr(0, 16);
}

}  // namespace pc::cli
