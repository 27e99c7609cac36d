#include "runtime/cpu/states/recurrent_states.h"

#include <algorithm>
#include <utility>

#include "base/status.h"  // PC_EXPECT

namespace pc {

RecurrentStates::RecurrentStates(std::size_t n_numbers) : n_numbers_(n_numbers), most_places_(0) {
  if (n_numbers == 0) return;
  most_places_ = std::clamp<std::size_t>(kPlaceBytes / (n_numbers * sizeof(float)), 2, kPlaces);
  auto zeros = std::make_shared<Block>(n_numbers);
  std::fill_n(zeros->data(), n_numbers, 0.0f);
  const float* const numbers = zeros->data();
  places_.push_back({0, 0, std::move(zeros), numbers, true, false, false});
}

float* RecurrentStates::next() {
  if (!next_ || next_.use_count() > 1) next_ = std::make_shared<Block>(n_numbers_);
  make_room();  // commit() has it
  return next_->data();
}

void RecurrentStates::make_room() {
  if (places_.size() == places_.capacity()) places_.reserve(2 * places_.size());
}

void RecurrentStates::commit(std::uint32_t n_tokens, bool kept) {
  PC_EXPECT(next_);
  const float* const numbers = next_->data();
  const std::uint32_t n_attached = places_.back().n_attached;
  places_.push_back(
      {n_tokens, n_attached, std::exchange(next_, nullptr), numbers, false, kept, false});
}

void RecurrentStates::attach(std::uint32_t n_attached, const float* numbers) {
  const std::uint32_t n_tokens = places_.back().n_tokens;
  places_.push_back({n_tokens, n_attached, nullptr, numbers, true, false, false});
}

void RecurrentStates::end_step(std::uint32_t first, std::uint32_t n_tokens) {
  if (n_numbers_ == 0) return;
  const std::uint32_t last = places_.back().n_tokens;
  for (Place& place : places_) place.begins_many |= place.n_tokens == first && n_tokens > 1;
  limit(&Place::kept);
  limit(&Place::begins_many);
  const auto goes = [&](const Place& place) {
    const bool stays = place.attached || place.n_tokens == first || place.n_tokens == last;
    return !stays && !place.kept && !place.begins_many;
  };
  // A block that goes is the next one, unless somebody shares it: see next().
  const auto gone = std::ranges::find_if(places_, goes);
  if (gone != places_.end()) next_ = gone->block;
  std::erase_if(places_, goes);
}

// The latest most_places_ stay for this reason.
void RecurrentStates::limit(bool Place::*reason) {
  std::size_t n = 0;
  for (auto place = places_.rbegin(); place != places_.rend(); ++place)
    if ((*place).*reason && ++n > most_places_) (*place).*reason = false;
}

const RecurrentStates::Place* RecurrentStates::find(std::uint32_t n_tokens,
                                                    std::uint32_t n_attached) const {
  const Place* found = nullptr;
  for (const Place& place : places_)
    if (place.n_tokens <= n_tokens && place.n_attached <= n_attached) found = &place;
  return found;
}

const float* RecurrentStates::at(std::uint32_t n_tokens) const {
  if (n_numbers_ == 0) return nullptr;
  const Place* const place = find(n_tokens, places_.back().n_attached);
  const bool is_it = place->n_tokens == n_tokens && place->n_attached == places_.back().n_attached;
  return is_it ? place->numbers : nullptr;
}

std::optional<std::uint32_t> RecurrentStates::nearest(std::uint32_t n_tokens,
                                                      std::uint32_t n_attached,
                                                      std::uint32_t n_all) const {
  if (n_numbers_ == 0) return n_tokens;
  const Place* const place = find(n_tokens, n_attached);
  // What was attached behind the place, without states of its own, is not in its states.
  const bool has_all = n_attached >= n_all ? place->n_attached == places_.back().n_attached
                                           : place->n_attached == n_attached;
  if (!has_all) return std::nullopt;
  return place->n_tokens;
}

void RecurrentStates::rewind(std::uint32_t n_tokens, std::uint32_t n_attached) {
  if (n_numbers_ == 0) return;
  std::erase_if(places_, [&](const Place& place) {
    return place.n_tokens > n_tokens || place.n_attached > n_attached;
  });
  PC_EXPECT(places_.back().n_tokens == n_tokens);
}

}  // namespace pc
