#include "tools/output/sizes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace pc::cli {
namespace {

constexpr std::string_view kPrefixes = "kmgt";

// The factor of a suffix in lower case: "", "b", "k", "kb", "kib", ...
std::optional<double> factor_of(std::string_view suffix) {
  if (suffix.empty() || suffix == "b") return 1;
  const std::size_t prefix = kPrefixes.find(suffix.front());
  if (prefix == std::string_view::npos) return std::nullopt;
  const std::string_view unit = suffix.substr(1);
  const bool decimal = unit == "b";
  if (!decimal && !unit.empty() && unit != "ib") return std::nullopt;
  return std::pow(decimal ? 1000.0 : 1024.0, static_cast<double>(prefix + 1));
}

std::string print(const char* format, double value, const char* unit) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value, unit);
  return text.data();
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (problem != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string suffix(rest, end);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto factor = factor_of(suffix);
  if (!factor || number * *factor >= 0x1p64) return std::nullopt;
  return static_cast<std::uint64_t>(number * *factor);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit)
    value /= 1024;  // 1023.95 prints as 1024.0
  return print("%.1f %s", value, kUnits[unit]);
}

std::string format_duration(std::uint64_t microseconds) {
  const auto us = static_cast<double>(microseconds);
  if (us < 99'950)
    return print("%.1f %s", us / 1e3, "ms");  // where %.1f would begin to print 100.0
  if (us < 999'500) return print("%.0f %s", us / 1e3, "ms");
  return print("%.2f %s", us / 1e6, "s");
}

std::string format_count(std::uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace pc::cli
