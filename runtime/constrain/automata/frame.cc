#include "runtime/constrain/automata/frame.h"

namespace pc::constrain {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t scrambled(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

void Fingerprint::mix(std::uint64_t value) {
  low = scrambled(low ^ (value + 0x9e3779b97f4a7c15u));
  high = scrambled(high + (value ^ 0xd1b54a32d192ed03u)) ^ low << 1;
}

FramePtr::FramePtr(std::unique_ptr<Frame> made) : frame_(made.release()) {
  if (frame_) frame_->n_owners_.store(1, std::memory_order_relaxed);
}

// Frames that nobody owns any more wait in a list, which goes through them.
void FramePtr::release(Frame* frame) noexcept {
  Frame* unowned = nullptr;
  const auto give_up = [&unowned](Frame* one) {
    if (one->n_owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    one->next_unowned_ = std::exchange(unowned, one);
  };
  give_up(frame);
  while (unowned) {
    const std::unique_ptr<Frame> one(std::exchange(unowned, unowned->next_unowned_));
    for (Frame::Return& to : one->returns)
      if (Frame* const caller = std::exchange(to.frame.frame_, nullptr)) give_up(caller);
  }
}

}  // namespace pc::constrain
