#include "pml/syntax/repair.h"

#include <charconv>
#include <cstdio>
#include <optional>

namespace pc::pml {
namespace {

constexpr std::string_view kLeading = "leading:", kAttended = "attended:", kSelected = "selected:";

// All of the text is this number.
template <class T>
bool read(std::string_view text, T* number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return failure == std::errc() && end == text.data() + text.size();
}

// "<kind>15%"
std::optional<double> share_of(std::string_view text, std::string_view kind) {
  double percent = 0.0;
  if (!text.starts_with(kind) || !text.ends_with('%')) return std::nullopt;
  text = text.substr(kind.size(), text.size() - kind.size() - 1);
  if (!read(text, &percent) || !(percent > 0.0 && percent <= 100.0)) return std::nullopt;
  return percent / 100.0;
}

}  // namespace

Result<Repair> parse_repair(std::string_view text) {
  if (text == "none") return Repair{};
  if (text == "all") return Repair{.kind = Repair::Kind::kLeading, .n_tokens = kAllTokens};
  if (text == "auto") return Repair{.kind = Repair::Kind::kAuto};
  Repair leading{.kind = Repair::Kind::kLeading};
  if (text.starts_with(kLeading) && read(text.substr(kLeading.size()), &leading.n_tokens) &&
      leading.n_tokens > 0)
    return leading;
  if (const auto share = share_of(text, kAttended))
    return Repair{Repair::Kind::kAttended, 0, *share};
  if (const auto share = share_of(text, kSelected))
    return Repair{Repair::Kind::kSelected, 0, *share};
  return error(Code::kInvalidArgument,
               "a repair is none, all, auto, leading:N with a number of tokens, or attended:P% or "
               "selected:P% with a share of the modules' tokens, not \"" +
                   std::string(text) + "\"");
}

std::string to_string(const Repair& repair) {
  if (repair.kind == Repair::Kind::kNone) return "none";
  if (repair.kind == Repair::Kind::kAuto) return "auto";
  if (repair.kind == Repair::Kind::kLeading && repair.n_tokens == kAllTokens) return "all";
  if (repair.kind == Repair::Kind::kLeading)
    return std::string(kLeading) + std::to_string(repair.n_tokens);
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.6g%%", repair.share * 100.0);
  return std::string(repair.kind == Repair::Kind::kAttended ? kAttended : kSelected) + percent;
}

}  // namespace pc::pml
