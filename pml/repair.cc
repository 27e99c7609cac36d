#include "pml/repair.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace pc::pml {
namespace {

constexpr std::string_view kLeading = "leading:", kSelected = "selected:";

// All of the text is this number.
template <class T>
bool read(std::string_view text, T* number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Repair> parse_repair(std::string_view text) {
  if (text == "none") return Repair{};
  Repair repair;
  if (text.starts_with(kLeading) && read(text.substr(kLeading.size()), &repair.n_tokens) &&
      repair.n_tokens > 0) {
    repair.kind = Repair::Kind::kLeading;
    return repair;
  }
  double percent = 0.0;
  if (text.starts_with(kSelected) && text.ends_with('%') &&
      read(text.substr(kSelected.size(), text.size() - kSelected.size() - 1), &percent) &&
      percent > 0.0 && percent <= 100.0) {
    repair.kind = Repair::Kind::kSelected;
    repair.share = percent / 100.0;
    return repair;
  }
  return error(
      Code::kInvalidArgument,
      "a repair is none, leading:N with a number of tokens, or selected:P% with a share of "
      "the modules' tokens, not \"" +
          std::string(text) + "\"");
}

std::string to_string(const Repair& repair) {
  switch (repair.kind) {
    case Repair::Kind::kNone:
      return "none";
    case Repair::Kind::kLeading:
      return std::string(kLeading) + std::to_string(repair.n_tokens);
    case Repair::Kind::kSelected:
      break;
  }
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.6g%%", repair.share * 100.0);
  return std::string(kSelected) + percent;
}

}  // namespace pc::pml
