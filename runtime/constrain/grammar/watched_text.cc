#include "runtime/constrain/grammar/watched_text.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pc::constrain {
namespace {

// A beginning of a word that the text may end in; the first is the empty one.
using Place = std::array<std::uint32_t, 256>;  // where each byte leads
constexpr std::uint32_t kNowhere = UINT32_MAX, kWordIsOver = UINT32_MAX - 1;

void add_word(std::vector<Place>& places, std::string_view word) {
  assert(!word.empty());
  std::size_t at = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(word[i]);
    if (places[at][byte] == kWordIsOver) return;
    if (i + 1 == word.size()) places[at][byte] = kWordIsOver;
    if (places[at][byte] == kNowhere) {
      places[at][byte] = static_cast<std::uint32_t>(places.size());
      places.emplace_back().fill(kNowhere);
    }
    at = places[at][byte];
  }
}

// Where a byte leads nowhere, the longest other beginning that the text ends in goes on with it.
void complete(std::vector<Place>& places) {
  Place nothing;
  nothing.fill(0);
  std::vector<std::uint32_t> other(places.size()), order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t at = order[i];
    const Place fallen = at == 0 ? nothing : places[other[at]];  // shorter, so complete
    for (std::size_t byte = 0; byte < fallen.size(); ++byte) {
      std::uint32_t& to = places[at][byte];
      if (to == kNowhere || fallen[byte] == kWordIsOver)
        to = fallen[byte];
      else if (to != kWordIsOver) {
        other[to] = fallen[byte];
        order.push_back(to);
      }
    }
  }
}

}  // namespace

void add_watched_text(Nfa& nfa, NodeId begin, std::span<const std::string> words,
                      std::optional<NodeId> behind_word, NodeId end) {
  std::vector<Place> places(1);
  places[0].fill(kNowhere);
  for (const std::string& word : words) add_word(places, word);
  complete(places);
  std::vector<NodeId> nodes{begin};
  while (nodes.size() < places.size()) nodes.push_back(nfa.add());
  for (std::size_t at = 0; at < places.size(); ++at) {
    for (std::size_t byte = 0; byte < places[at].size(); ++byte) {
      const std::uint32_t to = places[at][byte];
      if (to == kNowhere) continue;  // of a beginning behind which a shorter word was over
      if (to == kWordIsOver && !behind_word) continue;
      const auto value = static_cast<std::uint8_t>(byte);
      nfa.edge(nodes[at], value, value, to == kWordIsOver ? *behind_word : nodes[to]);
    }
    nfa.skip(nodes[at], end);
  }
}

}  // namespace pc::constrain
