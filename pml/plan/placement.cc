#include "pml/plan/placement.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pc::pml {
namespace {

Position length(const Step& step) {
  return static_cast<Position>(step.run.tokens.size());
}

// The schema layout under construction.
class SchemaPlacer {
 public:
  explicit SchemaPlacer(std::vector<Step>& steps) : steps_(steps) {}

  Placement place() {
    for (std::size_t first = 0; first < steps_.size();) {
      if (steps_[first].anchor) {
        end_ = put(first, first + 1, *steps_[first].anchor + shift_, false);
        ++first;
        continue;
      }
      std::size_t next = first;
      while (next < steps_.size() && !steps_[next].anchor) ++next;
      place_group(first, next);
      first = next;
    }
    for (const auto& [first, last] : behind_) end_ = put(first, last, end_, last != steps_.size());
    return {end_, shift_};
  }

 private:
  void place_group(std::size_t first, std::size_t next) {
    if (next == steps_.size()) return behind_.emplace_back(first, next), void();
    const Position wanted = put(first, next, end_, false);
    const Position anchor = *steps_[next].anchor + shift_;
    if (wanted > anchor && !steps_[first].is_border) {
      behind_.emplace_back(first, next);
      return;
    }
    shift_ += std::max(0, wanted - anchor);
    end_ = wanted;
  }

  // The position behind the last.
  Position put(std::size_t first, std::size_t last, Position position, bool moved) {
    for (; first < last; ++first) {
      Step& step = steps_[first];
      if (step.floor > 0) position = std::max(position, step.floor + shift_);
      step.run.position = position;
      step.run.moved = moved;
      position += length(step);
    }
    return position;
  }

  std::vector<Step>& steps_;
  std::vector<std::pair<std::size_t, std::size_t>> behind_;  // [first, last) of steps
  Position end_ = 0;
  Position shift_ = 0;
};

}  // namespace

Placement place_compact(std::vector<Step>& steps) {
  Position end = 0;
  for (Step& step : steps) {
    step.run.position = end;
    end += length(step);
  }
  return {end, 0};
}

Placement place_at_schema(std::vector<Step>& steps) {
  const Placement placement = SchemaPlacer(steps).place();
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.run.position < b.run.position; });
  return placement;
}

}  // namespace pc::pml
