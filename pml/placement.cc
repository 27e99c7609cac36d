#include "pml/placement.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pc::pml {
namespace {

Position length(const Step& step) {
  return static_cast<Position>(step.run.tokens.size());
}

}  // namespace

Position place_compact(std::vector<Step>& steps) {
  Position end = 0;
  for (Step& step : steps) {
    step.run.position = end;
    end += length(step);
  }
  return end;
}

Position place_at_schema(std::vector<Step>& steps) {
  const auto place = [](auto first, auto last, Position position, bool moved) {
    for (; first != last; position += length(*first), ++first) {
      first->run.position = position;
      first->run.moved = moved;
    }
    return position;
  };
  const auto anchored = [](const Step& step) { return step.anchor.has_value(); };
  std::vector<std::pair<std::size_t, std::size_t>> behind;  // [first, last) of steps
  Position end = 0;
  for (auto step = steps.begin(); step != steps.end();) {
    if (step->anchor) {
      end = place(step, step + 1, *step->anchor, false);
      ++step;
      continue;
    }
    const auto next = std::find_if(step, steps.end(), anchored);
    Position size = 0;
    for (auto s = step; s != next; ++s) size += length(*s);
    if (next != steps.end() && size <= *next->anchor - end)
      end = place(step, next, end, false);
    else
      behind.emplace_back(step - steps.begin(), next - steps.begin());
    step = next;
  }
  for (const auto& [first, last] : behind)
    end = place(steps.begin() + first, steps.begin() + last, end, last != steps.size());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.run.position < b.run.position; });
  return end;
}

}  // namespace pc::pml
