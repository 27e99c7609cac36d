#include "runtime/conversation/gone.h"

#include <algorithm>

namespace pc {

bool Gone::has(Position position) const {
  return std::ranges::any_of(stretches_,
                             [=](Stretch s) { return s.begin <= position && position < s.end; });
}

Position Gone::n_tokens() const {
  Position n = 0;
  for (const Stretch& s : stretches_) n += s.size();
  return n;
}

Position Gone::moved(Position position) const {
  Position n_before = 0;
  for (const Stretch& s : stretches_)
    if (s.begin < position) n_before += std::min(s.end, position) - s.begin;
  return position - n_before;
}

std::vector<Stretch> Gone::left_of(Stretch stretch) const {
  std::vector<Stretch> left;
  for (const Stretch& s : stretches_) {
    if (s.end <= stretch.begin || s.begin >= stretch.end) continue;
    if (s.begin > stretch.begin) left.push_back({stretch.begin, s.begin});
    stretch.begin = s.end;
  }
  if (stretch.begin < stretch.end) left.push_back(stretch);
  return left;
}

}  // namespace pc
