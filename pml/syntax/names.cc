#include "pml/syntax/names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace pc::pml {
namespace {

constexpr std::size_t kShownBytes = 64;  // of a name in a message
constexpr std::size_t kShownNames = 8;   // of those known
constexpr std::size_t kComparedBytes = 64;

// Optimal string alignment distance: three rows of the table are kept.
std::size_t slips(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kComparedBytes + 1>;
  Row before{}, last{}, now{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

// Cut at the start of a character.
std::string shortened(std::string_view name) {
  if (name.size() <= kShownBytes) return std::string(name);
  std::size_t n = kShownBytes;
  while (n > 0 && (static_cast<unsigned char>(name[n]) & 0xC0) == 0x80) --n;
  return std::string(name.substr(0, n)) + "...";
}

}  // namespace

std::string quote(std::string_view name) {
  return "'" + shortened(name) + "'";
}

std::string tag(std::string_view name) {
  return "<" + shortened(name) + ">";
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> known) {
  if (name.size() > kComparedBytes) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_slips = 0;
  for (std::string_view candidate : known) {
    if (candidate.size() > kComparedBytes) continue;
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    const std::size_t n = slips(name, candidate);
    // As many slips as letters would "correct" any one-letter name to any other.
    if (n > allowed || n >= candidate.size()) continue;
    if (!best || n < best_slips) best = candidate, best_slips = n;
  }
  return best;
}

std::string name_hint(std::string_view name, std::span<const std::string_view> known) {
  if (const auto near = nearest_name(name, known)) return "; did you mean " + quote(*near) + "?";
  if (known.empty()) return "";
  std::string hint = "; known here: ";
  for (std::size_t i = 0; i < std::min(known.size(), kShownNames); ++i)
    hint += (i == 0 ? "" : ", ") + quote(known[i]);
  return known.size() > kShownNames ? hint + ", ..." : hint;
}

}  // namespace pc::pml
