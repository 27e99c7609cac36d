#include "cuda/standin/block.h"

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/standin/fatal.h"
#include "cuda/standin/fiber.h"
#include "cuda/standin/shared_memory.h"

namespace pc::cuda::standin {

constinit thread_local const uint3* thread_index = nullptr;
constinit thread_local const BlockView* block_view = nullptr;

namespace {

constexpr std::uint32_t kMostWarps = kMostThreads / kWarpLanes;

struct Thread {
  uint3 index;
  std::uint32_t warp, lane;
  Fiber* fiber;  // while it is started and has not returned
  AsyncCopies copies;
};

// Of lanes as bits.
struct Warp {
  std::uint32_t living;   // have not returned
  std::uint32_t waiting;  // at a collective
  std::uint32_t ready;    // may go on
  std::uint32_t at_block_barrier;
  std::uint32_t masks[kWarpLanes];
  const Collective* collectives[kWarpLanes];
  void* operands[kWarpLanes];
};

class BlockRunner {
 public:
  void run(const Launch& launch);
  void meet_warp(std::uint32_t mask, const Collective& collective, void* operands);
  bool meet_block(const char* name, bool predicate);
  Thread& running() { return *running_; }

 private:
  static void serve(Fiber& self);
  void number_threads(const Launch& launch);
  void run_block(const uint3& index);
  void run_next(Fiber& fiber);
  void resume(Thread& thread);
  Thread* ready_in(std::uint32_t warp);
  Thread* ready_in_any();
  Fiber* free_fiber();
  void leave(Fiber& here, bool returned);
  bool release_warp(Warp& warp, std::uint32_t lane);
  void release_returned(Warp& warp);
  bool release_block();
  [[noreturn]] void stop_at_deadlock();

  const Launch* launch_ = nullptr;
  BlockView view_{};
  SharedMemory shared_;
  std::vector<Thread> threads_;
  std::uint32_t n_ = 0;        // threads of a block
  std::uint32_t started_ = 0;  // of them
  std::uint32_t living_ = 0;
  std::uint32_t at_barrier_ = 0;
  const char* barrier_ = nullptr;
  bool predicate_ = false, last_predicate_ = false;
  bool backward_ = false;
  std::uint32_t ready_warps_ = 0;  // warps as bits, that may have ready lanes
  Warp warps_[kMostWarps];

  Thread* running_ = nullptr;
  Fiber caller_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
};

BlockRunner& runner() {
  static thread_local BlockRunner runner;
  return runner;
}

void BlockRunner::number_threads(const Launch& launch) {
  const dim3& block = launch.block;
  n_ = block.x * block.y * block.z;
  if (threads_.size() < n_) threads_.resize(n_);
  std::uint32_t i = 0;
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x, ++i) {
        threads_[i].index = {x, y, z};
        threads_[i].warp = i / kWarpLanes;
        threads_[i].lane = i % kWarpLanes;
      }
}

void BlockRunner::run(const Launch& launch) {
  if (block_view) stop("a kernel launches a kernel");
  launch_ = &launch;
  number_threads(launch);
  shared_.resize(launch.shared_bytes);
  view_ = {{}, launch.block, launch.grid, shared_.data(), launch.shared_bytes};
  block_view = &view_;
  backward_ = false;
  for (unsigned z = 0; z < launch.grid.z; ++z)
    for (unsigned y = 0; y < launch.grid.y; ++y)
      for (unsigned x = 0; x < launch.grid.x; ++x, backward_ = !backward_) run_block({x, y, z});
  block_view = nullptr;
  thread_index = nullptr;
  launch_ = nullptr;
}

void BlockRunner::run_block(const uint3& index) {
  view_.index = index;
  started_ = at_barrier_ = 0;
  living_ = n_;
  ready_warps_ = 0;
  barrier_ = nullptr;
  predicate_ = false;
  for (std::uint32_t first = 0, w = 0; first < n_; first += kWarpLanes, ++w) {
    const std::uint32_t lanes = n_ - first;
    warps_[w].living = lanes < kWarpLanes ? (1u << lanes) - 1 : UINT32_MAX;
    warps_[w].waiting = warps_[w].ready = warps_[w].at_block_barrier = 0;
  }
  shared_.begin_block();
  caller_.switch_to(*free_fiber());
  if (!shared_.end_block())
    stop("block (%u, %u, %u) wrote beyond its %zu bytes of dynamic shared memory", index.x, index.y,
         index.z, launch_->shared_bytes);
}

void BlockRunner::serve(Fiber& self) {
  BlockRunner& block = runner();
  for (;;) {
    block.run_next(self);
    block.leave(self, true);
  }
}

void BlockRunner::run_next(Fiber& fiber) {
  Thread& thread = threads_[backward_ ? n_ - 1 - started_ : started_];
  ++started_;
  thread.fiber = &fiber;
  thread.copies.forget();
  running_ = &thread;
  thread_index = &thread.index;
  launch_->run(launch_->kernel);

  Warp& warp = warps_[thread.warp];
  warp.living &= ~(1u << thread.lane);
  --living_;
  if (warp.waiting != 0) release_returned(warp);
  if (at_barrier_ != 0 && at_barrier_ == living_) release_block();
}

void BlockRunner::resume(Thread& thread) {
  running_ = &thread;
  thread_index = &thread.index;
}

Thread* BlockRunner::ready_in(std::uint32_t warp) {
  std::uint32_t& ready = warps_[warp].ready;
  if (ready == 0) return nullptr;
  const int lane = backward_ ? std::bit_width(ready) - 1 : std::countr_zero(ready);
  ready &= ~(1u << lane);
  return &threads_[warp * kWarpLanes + static_cast<std::uint32_t>(lane)];
}

Thread* BlockRunner::ready_in_any() {
  while (ready_warps_ != 0) {
    const int warp = backward_ ? std::bit_width(ready_warps_) - 1 : std::countr_zero(ready_warps_);
    if (Thread* thread = ready_in(static_cast<std::uint32_t>(warp))) return thread;
    ready_warps_ &= ~(1u << warp);
  }
  return nullptr;
}

Fiber* BlockRunner::free_fiber() {
  if (free_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::serve, fibers_.size()));
    return fibers_.back().get();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

// From the thread that runs, which waits or has returned, to what can go on: a lane of the same
// warp, a thread that has not started, a lane of another warp, or the caller.
void BlockRunner::leave(Fiber& here, bool returned) {
  Thread* next = ready_in(running_->warp);
  const bool start = !next && started_ < n_;
  if (start && returned) return;  // on the same fiber
  if (!next && !start) next = ready_in_any();
  if (!next && !start && living_ != 0) stop_at_deadlock();
  Fiber* to = start ? free_fiber() : next ? next->fiber : &caller_;
  if (next) resume(*next);
  if (returned) free_.push_back(&here);
  here.switch_to(*to);
}

// What the lane waits for, if all lanes have come to it.
bool BlockRunner::release_warp(Warp& warp, std::uint32_t lane) {
  const std::uint32_t lanes = warp.masks[lane] & warp.living;
  if ((warp.waiting & lanes) != lanes) return false;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int other = std::countr_zero(rest);
    if (warp.masks[other] != warp.masks[lane] || warp.collectives[other] != warp.collectives[lane])
      return false;
  }
  if (warp.collectives[lane]->perform) warp.collectives[lane]->perform(warp.operands, lanes);
  warp.waiting &= ~lanes;
  warp.ready |= lanes;
  ready_warps_ |= 1u << (&warp - warps_);
  return true;
}

// A lane has returned: others may have waited for it alone.
void BlockRunner::release_returned(Warp& warp) {
  for (std::uint32_t rest = warp.waiting; rest != 0; rest &= (rest - 1) & warp.waiting)
    release_warp(warp, static_cast<std::uint32_t>(std::countr_zero(rest)));
}

void BlockRunner::meet_warp(std::uint32_t mask, const Collective& collective, void* operands) {
  Thread& self = *running_;
  Warp& warp = warps_[self.warp];
  const std::uint32_t bit = 1u << self.lane;
  if ((mask & bit) == 0)
    stop("%s: lane %u is not in its own mask %08x", collective.name, self.lane, mask);
  warp.masks[self.lane] = mask;
  warp.collectives[self.lane] = &collective;
  warp.operands[self.lane] = operands;
  warp.waiting |= bit;
  if (release_warp(warp, self.lane)) {
    warp.ready &= ~bit;
    return;
  }
  leave(*self.fiber, false);
}

bool BlockRunner::release_block() {
  last_predicate_ = predicate_;
  predicate_ = false;
  barrier_ = nullptr;
  at_barrier_ = 0;
  for (std::uint32_t w = 0; w * kWarpLanes < n_; ++w) {
    warps_[w].ready |= warps_[w].at_block_barrier;
    warps_[w].at_block_barrier = 0;
    ready_warps_ |= 1u << w;
  }
  return last_predicate_;
}

bool BlockRunner::meet_block(const char* name, bool predicate) {
  Thread& self = *running_;
  Warp& warp = warps_[self.warp];
  const std::uint32_t bit = 1u << self.lane;
  if (barrier_ && std::strcmp(barrier_, name) != 0)
    stop("some threads of a block are at %s, others at %s", barrier_, name);
  barrier_ = name;
  predicate_ |= predicate;
  warp.at_block_barrier |= bit;
  if (++at_barrier_ == living_) {
    release_block();
    warp.ready &= ~bit;
  } else {
    leave(*self.fiber, false);
  }
  return last_predicate_;
}

void BlockRunner::stop_at_deadlock() {
  for (std::uint32_t w = 0; w * kWarpLanes < n_; ++w) {
    const Warp& warp = warps_[w];
    if (warp.waiting == 0) continue;
    const int lane = std::countr_zero(warp.waiting);
    stop(
        "deadlock in block (%u, %u, %u) of %u threads: %u have not returned, %u of them are at %s; "
        "lane %d of warp %u is at %s with mask %08x (of its lanes %08x have not returned, %08x are "
        "at such)",
        view_.index.x, view_.index.y, view_.index.z, n_, living_, at_barrier_,
        barrier_ ? barrier_ : "a barrier of the block", lane, w, warp.collectives[lane]->name,
        warp.masks[lane], warp.living, warp.waiting);
  }
  stop("deadlock in block (%u, %u, %u)", view_.index.x, view_.index.y, view_.index.z);
}

}  // namespace

void run_grid(const Launch& launch) {
  runner().run(launch);
}

std::uint32_t lane_of_thread() {
  return runner().running().lane;
}

AsyncCopies& copies_of_thread() {
  return runner().running().copies;
}

void meet_warp(std::uint32_t mask, const Collective& collective, void* operands) {
  runner().meet_warp(mask, collective, operands);
}

bool meet_block(const char* name, bool predicate) {
  return runner().meet_block(name, predicate);
}

}  // namespace pc::cuda::standin
