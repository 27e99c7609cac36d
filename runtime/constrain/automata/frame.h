// What goes on once a rule of an automaton is over: a frame knows all who called it, and each of
// these has a frame of its own, down to the automaton's start.
//
// A text can be as deep in rules as it is long. So frames are freed one behind the other and not
// inside each other, as the stack of a thread would not hold that, and freeing allocates nothing.
//
// Invariant: frames are in no circle, as a frame is complete before it is owned.
//
// Frames are immutable and shared; the last FramePtr frees one. Threads: any.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

// What two frames or states are told apart by: 128 bits, which two that differ do not have in
// common by chance.
struct Fingerprint {
  std::uint64_t high = 0, low = 0;

  void mix(std::uint64_t value);
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

struct Frame;

// Null: what goes on is the end of the automaton's text.
class FramePtr {
 public:
  FramePtr() = default;
  FramePtr(std::nullptr_t) {}  // NOLINT: implicit as of any pointer
  explicit FramePtr(std::unique_ptr<Frame> made);
  FramePtr(const FramePtr& other);
  FramePtr(FramePtr&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  FramePtr& operator=(FramePtr other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~FramePtr() {
    if (frame_) release(frame_);
  }

  const Frame* operator->() const { return frame_; }
  explicit operator bool() const { return frame_ != nullptr; }
  friend bool operator==(const FramePtr&, const FramePtr&) = default;

 private:
  static void release(Frame* frame) noexcept;

  Frame* frame_ = nullptr;
};

struct Frame {
  struct Return {
    NodeId node;
    FramePtr frame;
  };
  std::vector<Return> returns;  // where it goes on once the rule is over
  std::uint16_t nesting = 0;    // arrays and objects that are open
  Fingerprint fingerprint;

 private:
  friend class FramePtr;
  std::atomic<std::uint32_t> n_owners_ = 0;
  Frame* next_unowned_ = nullptr;  // while frames are freed
};

inline FramePtr::FramePtr(const FramePtr& other) : frame_(other.frame_) {
  if (frame_) frame_->n_owners_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace pc::constrain

template <>
struct std::hash<pc::constrain::Fingerprint> {
  std::size_t operator()(const pc::constrain::Fingerprint& f) const {
    return static_cast<std::size_t>(f.low);
  }
};
