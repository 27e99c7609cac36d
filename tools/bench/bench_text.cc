#include "tools/bench/bench_text.h"

#include <algorithm>

namespace pc::cli {
namespace {

constexpr std::string_view kPassage =
    "The harbour of the old town lies where the river meets the sea. Every morning, before the "
    "first tram leaves the square, the fishermen bring their boats in, and the market opens under "
    "the long glass roof: herring and cod, bread still warm, apples from the hills, and cheese "
    "that has ripened for two years in the cellars below the castle. Visitors who come in summer "
    "find the streets crowded and the evenings light until eleven; in winter, when snow lies on "
    "the quays, the cafes put candles into their windows, and one hears the bells of the cathedral "
    "across the water. A ticket costs six euros, the ferry to the islands takes forty minutes, and "
    "the museum, built in 1894 by an engineer who had never designed a house before, is closed on "
    "Mondays. ";

// Around the length at which the number is passed: as far as words reach.
constexpr std::size_t kNearBytes = 48;
// More than any word of a vocabulary has on average, so that the search ends.
constexpr std::size_t kMostBytesOfToken = 64;

std::string passage_of(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += kPassage;
  return text.substr(0, bytes);
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

BenchText text_of_tokens(std::uint64_t n, const CountTokens& count) {
  const std::size_t most = (n + 1) * kMostBytesOfToken;
  std::size_t enough = n;  // bytes
  while (enough < most && count(passage_of(enough)) < n) enough *= 2;
  const std::string text = passage_of(enough + kNearBytes);
  const std::string_view view = text;
  std::size_t too_few = 0;
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (count(view.substr(0, middle)) < n ? too_few : enough) = middle;
  }
  BenchText best{text.substr(0, enough), count(view.substr(0, enough))};
  const std::size_t first = std::max(enough, kNearBytes + 1) - kNearBytes;
  for (std::size_t bytes = first; best.tokens != n && bytes <= text.size(); ++bytes) {
    const std::uint64_t tokens = count(view.substr(0, bytes));
    if (distance(tokens, n) < distance(best.tokens, n)) best = {text.substr(0, bytes), tokens};
  }
  return best;
}

}  // namespace pc::cli
