#include "runtime/cpu/states/recurrent_states.h"

#include <algorithm>
#include <utility>

#include "base/status.h"  // PC_EXPECT

namespace pc {

RecurrentStates::RecurrentStates(std::size_t n_numbers) : n_numbers_(n_numbers) {
  if (n_numbers == 0) return;
  auto zeros = std::make_shared<Block>(n_numbers);
  std::fill_n(zeros->data(), n_numbers, 0.0f);
  places_.push_back({0, std::move(zeros), false});
}

float* RecurrentStates::next() {
  if (!next_ || next_.use_count() > 1) next_ = std::make_shared<Block>(n_numbers_);
  if (places_.size() == places_.capacity())
    places_.reserve(2 * places_.size());  // commit() has room
  return next_->data();
}

void RecurrentStates::commit(std::uint32_t n_tokens) {
  PC_EXPECT(next_);
  places_.push_back({n_tokens, std::exchange(next_, nullptr), false});
}

void RecurrentStates::end_step(std::uint32_t first, std::uint32_t n_tokens) {
  if (n_numbers_ == 0) return;
  const std::uint32_t last = places_.back().n_tokens;
  for (Place& place : places_) place.begins_many |= place.n_tokens == first && n_tokens > 1;
  const auto goes = [&](const Place& place) {
    const bool stays = place.n_tokens == 0 || place.n_tokens == first || place.n_tokens == last;
    return !stays && !place.begins_many;
  };
  // A block that goes is the next one, unless somebody shares it: see next().
  const auto gone = std::ranges::find_if(places_, goes);
  if (gone != places_.end()) next_ = gone->block;
  std::erase_if(places_, goes);
  const auto n_many = std::ranges::count(places_, true, &Place::begins_many);
  if (n_many <= std::ptrdiff_t{kPlaces}) return;
  const auto oldest = std::ranges::find_if(
      places_, [](const Place& place) { return place.begins_many && place.n_tokens != 0; });
  places_.erase(oldest);
}

std::uint32_t RecurrentStates::nearest(std::uint32_t n_tokens) const {
  std::uint32_t found = n_numbers_ == 0 ? n_tokens : 0;
  for (const Place& place : places_)
    if (place.n_tokens <= n_tokens) found = place.n_tokens;
  return found;
}

void RecurrentStates::rewind(std::uint32_t n_tokens) {
  if (n_numbers_ == 0) return;
  PC_EXPECT(nearest(n_tokens) == n_tokens);
  std::erase_if(places_, [&](const Place& place) { return place.n_tokens > n_tokens; });
}

}  // namespace pc
