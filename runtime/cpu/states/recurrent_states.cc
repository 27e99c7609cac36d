#include "runtime/cpu/states/recurrent_states.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/status.h"  // PC_EXPECT

namespace pc {

RecurrentStates::RecurrentStates(std::size_t n_numbers) : n_numbers_(n_numbers), most_places_(0) {
  if (n_numbers == 0) return;
  most_places_ = std::clamp<std::size_t>(kPlaceBytes / (n_numbers * sizeof(float)), 2, kPlaces);
  auto zeros = std::make_shared<Block>(n_numbers);
  std::fill_n(zeros->data(), n_numbers, 0.0f);
  places_.push_back({0, 0, 0, std::move(zeros), false, false});
}

void RecurrentStates::attach(std::int32_t position, const std::optional<AttachedMap>& map) {
  PC_EXPECT(is_behind(position));
  if (!has_numbers()) return;
  attached_.push_back({position, map});
}

// Of the first n_attached attachments those in front of `position` that are none of the first
// n_passed that were passed, in order of position.
std::vector<std::uint32_t> RecurrentStates::in_front(std::int32_t position, std::size_t n_passed,
                                                     std::uint32_t n_attached) const {
  std::vector<std::uint32_t> found;
  const std::span passed(passed_.data(), n_passed);
  for (std::uint32_t i = 0; i < n_attached; ++i)
    if (attached_[i].position < position && std::ranges::find(passed, i) == passed.end())
      found.push_back(i);
  std::ranges::stable_sort(found, {}, [this](std::uint32_t i) { return attached_[i].position; });
  return found;
}

bool RecurrentStates::knows(std::int32_t position, std::size_t n_passed,
                            std::uint32_t n_attached) const {
  bool known = true;
  for (const std::uint32_t i : in_front(position, n_passed, n_attached)) {
    const std::optional<AttachedMap>& map = attached_[i].map;
    known = map && (known || !map->shape);
  }
  return known;
}

bool RecurrentStates::knows(std::int32_t position) const {
  if (passed_.size() == attached_.size()) return true;
  return knows(position, passed_.size(), static_cast<std::uint32_t>(attached_.size()));
}

void RecurrentStates::pass(std::int32_t position, std::vector<AttachedMap>* maps) {
  if (passed_.size() == attached_.size()) return;
  const std::size_t n_before = maps->size();
  const auto n_attached = static_cast<std::uint32_t>(attached_.size());
  for (const std::uint32_t i : in_front(position, passed_.size(), n_attached)) {
    passed_.push_back(i);
    const std::optional<AttachedMap>& map = attached_[i].map;
    if (!map) continue;
    // States are what they are whatever was before.
    if (!map->shape) maps->resize(n_before);
    maps->push_back(*map);
  }
}

std::int32_t RecurrentStates::next_attached() const {
  std::int32_t first = kAnywhere;
  if (passed_.size() == attached_.size()) return first;
  for (std::uint32_t i = 0; i < attached_.size(); ++i)
    if (std::ranges::find(passed_, i) == passed_.end())
      first = std::min(first, attached_[i].position);
  return first;
}

void RecurrentStates::pass_again() {
  passed_.resize(places_.back().n_passed);
}

float* RecurrentStates::next() {
  if (!next_ || next_.use_count() > 1) next_ = std::make_shared<Block>(n_numbers_);
  if (places_.size() == places_.capacity()) places_.reserve(2 * places_.size());  // for commit()
  return next_->data();
}

void RecurrentStates::commit(std::uint32_t n_tokens, std::int32_t end, bool kept) {
  PC_EXPECT(next_);
  places_.push_back({n_tokens, end, passed_.size(), std::exchange(next_, nullptr), kept, false});
}

void RecurrentStates::end_step(std::uint32_t first, std::uint32_t n_tokens) {
  if (n_numbers_ == 0) return;
  const std::uint32_t last = places_.back().n_tokens;
  for (Place& place : places_) place.begins_many |= place.n_tokens == first && n_tokens > 1;
  limit(&Place::kept);
  limit(&Place::begins_many);
  const auto goes = [&](const Place& place) {
    const bool stays = place.n_tokens == 0 || place.n_tokens == first || place.n_tokens == last;
    return !stays && !place.kept && !place.begins_many;
  };
  // A block that goes is the next one, unless somebody shares it: see next().
  const auto gone = std::ranges::find_if(places_, goes);
  if (gone != places_.end()) next_ = gone->numbers;
  std::erase_if(places_, goes);
}

// The latest most_places_ stay for this reason.
void RecurrentStates::limit(bool Place::*reason) {
  std::size_t n = 0;
  for (auto place = places_.rbegin(); place != places_.rend(); ++place)
    if ((*place).*reason && ++n > most_places_) (*place).*reason = false;
}

// The latest whose tokens and attachments are all among these.
const RecurrentStates::Place* RecurrentStates::find(std::uint32_t n_tokens,
                                                    std::uint32_t n_attached) const {
  const Place* found = nullptr;
  const auto is_there = [&](std::uint32_t attachment) { return attachment < n_attached; };
  for (const Place& place : places_)
    if (place.n_tokens <= n_tokens &&
        std::ranges::all_of(std::span(passed_.data(), place.n_passed), is_there))
      found = &place;
  return found;
}

const float* RecurrentStates::at(std::uint32_t n_tokens) const {
  if (n_numbers_ == 0) return nullptr;
  const Place* const place = find(n_tokens, static_cast<std::uint32_t>(attached_.size()));
  return place->n_tokens == n_tokens ? place->numbers->data() : nullptr;
}

std::optional<std::uint32_t> RecurrentStates::nearest(std::uint32_t n_tokens,
                                                      std::uint32_t n_attached) const {
  if (n_numbers_ == 0) return n_tokens;
  n_attached = std::min(n_attached, static_cast<std::uint32_t>(attached_.size()));
  const Place* const place = find(n_tokens, n_attached);
  if (!knows(kAnywhere, place->n_passed, n_attached)) return std::nullopt;
  return place->n_tokens;
}

void RecurrentStates::rewind(std::uint32_t n_tokens, std::uint32_t n_attached) {
  if (n_numbers_ == 0) return;
  n_attached = std::min(n_attached, static_cast<std::uint32_t>(attached_.size()));
  const Place* const place = find(n_tokens, n_attached);
  PC_EXPECT(place->n_tokens == n_tokens);
  places_.erase(places_.begin() + (place - places_.data()) + 1, places_.end());
  passed_.resize(places_.back().n_passed);
  attached_.resize(n_attached);
}

}  // namespace pc
