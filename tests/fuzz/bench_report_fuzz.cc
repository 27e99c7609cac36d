// Fuzzes what reads and compares reports of bench: whatever comes, it is read or refused in words,
// and what is said of two reports holds together. The inputs are two reports with a NUL between
// them; without one, a report is compared with itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tools/bench/compare/comparison_text.h"
#include "tools/output/failure.h"

namespace {

using namespace pc::cli;

void require(bool promise) {
  if (!promise) std::abort();
}

std::optional<std::vector<ReportRow>> read(std::string_view text) {
  try {
    return read_report(text, "fuzz");
  } catch (const Failure& failure) {
    require(failure.place.starts_with("fuzz") && std::string_view(failure.what()).size() > 0);
    return std::nullopt;
  }
}

void check(const RowPair& pair) {
  require(pair.speed.middle > 0 && pair.chance >= 0 && pair.chance <= 1);
  if (const auto& interval = pair.speed.interval)
    require(interval->low <= pair.speed.middle && pair.speed.middle <= interval->high);
  require(!pair.a.seconds.empty() && !pair.b.seconds.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  const auto a = read(text.substr(0, end));
  const auto b = end == text.npos ? a : read(text.substr(end + 1));
  if (!a || !b) return 0;
  try {
    const Comparison comparison = compare_reports(*a, *b);
    for (const RowPair& pair : comparison.pairs) check(pair);
    require(comparison.pairs.size() + comparison.only_a.size() <= a->size());
    require(end != text.npos || comparison.differences.empty());
    require(!text_of(comparison, {"a", "b"}).empty());
    require(json_of(comparison).is_object());
  } catch (const Failure& failure) {
    require(std::string_view(failure.what()).size() > 0);  // too many samples
  }
  return 0;
}
