// Does a Dfa without calls take a text?
#pragma once

#include <string_view>

#include "tools/constrain/dfa.h"

namespace pc::constrain::test {

inline bool takes(const Dfa& dfa, std::string_view text) {
  NodeId at = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    bool is_taken = false;
    for (const Edge& edge : dfa.nodes[at].edges)
      if (edge.first <= byte && byte <= edge.last) {
        at = edge.to;
        is_taken = true;
        break;
      }
    if (!is_taken) return false;
  }
  return dfa.nodes[at].is_final;
}

}  // namespace pc::constrain::test
