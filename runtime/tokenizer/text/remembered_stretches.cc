#include "runtime/tokenizer/text/remembered_stretches.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/hash.h"

namespace pc {
namespace {

// A list's node and a map's, beside what they hold.
constexpr std::size_t kOverhead = 128;

// One stretch takes no more than this part of all room.
constexpr std::size_t kShare = 8;

std::uint64_t hash_of(std::string_view text) {
  return checksum64(std::as_bytes(std::span(text)));
}

}  // namespace

std::size_t RememberedStretches::Stretch::n_bytes() const {
  return kOverhead + sizeof *this + text.size() + tokens.size() * sizeof tokens[0] +
         2 * cuts.size() * sizeof cuts[0];
}

bool RememberedStretches::find(std::string_view text, bool prefix, Cuts cuts, Tokens* tokens) {
  if (text.size() < kMinBytes) return false;
  const std::uint64_t hash = hash_of(text);
  const MutexLock lock(mutex_);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return false;
  const Stretch& known = *found->second;
  if (known.text != text || known.prefix != prefix || !std::ranges::equal(known.cuts, cuts))
    return false;
  std::ranges::copy(known.counts, cuts.begin());
  tokens->insert(tokens->end(), known.tokens.begin(), known.tokens.end());
  known_.splice(known_.begin(), known_, found->second);
  return true;
}

void RememberedStretches::add(std::string_view text, bool prefix, std::vector<std::size_t> cuts,
                              std::vector<std::size_t> counts, const Tokens& tokens) {
  if (text.size() < kMinBytes) return;
  Stretches one;  // made outside of the lock
  one.push_back(
      {hash_of(text), std::string(text), prefix, std::move(cuts), std::move(counts), tokens});
  const std::size_t n_bytes = one.front().n_bytes();
  if (n_bytes > max_bytes_ / kShare) return;
  const MutexLock lock(mutex_);
  if (const auto same = by_hash_.find(one.front().hash); same != by_hash_.end()) drop(same->second);
  while (n_bytes_ + n_bytes > max_bytes_) drop(std::prev(known_.end()));
  by_hash_.emplace(one.front().hash, one.begin());
  known_.splice(known_.begin(), one);
  n_bytes_ += n_bytes;
}

void RememberedStretches::drop(Stretches::iterator stretch) {
  n_bytes_ -= stretch->n_bytes();
  by_hash_.erase(stretch->hash);
  known_.erase(stretch);
}

std::size_t RememberedStretches::n_bytes() const {
  const MutexLock lock(mutex_);
  return n_bytes_;
}

}  // namespace pc
