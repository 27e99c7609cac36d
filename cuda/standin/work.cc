#include "cuda/standin/work.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/standin/block.h"
#include "cuda/standin/fatal.h"
#include "cuda/standin/faults.h"

namespace standin = pc::cuda::standin;

struct CUstream_st {
  struct Item {
    standin::Work work;     // may be nothing
    standin::Place before;  // must be done first
  };
  std::deque<Item> items;  // that nobody has begun
  std::uint64_t n_queued = 0, n_done = 0;
  bool runs = false;  // a thread carries out the one behind those that are done
};

namespace pc::cuda::standin {
namespace {

struct Streams {
  std::mutex mutex;  // of everything here, and of what streams hold
  std::condition_variable changed;
  Order order = Order::kLate;
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> all{
      {nullptr, std::make_shared<CUstream_st>()}};
};
// Never destroyed: what is freed at the end of the process still finds them.
Streams& streams() {
  static Streams& all = *new Streams;
  return all;
}

// Called with the mutex held, as all that follow up to carry_out().
std::shared_ptr<CUstream_st> find(cudaStream_t handle) {
  const auto found = streams().all.find(handle);
  if (found == streams().all.end()) stop("stream %p does not exist", static_cast<void*>(handle));
  return found->second;
}

Place end_of(std::shared_ptr<CUstream_st> stream) {
  const std::uint64_t n = stream->n_queued;
  return {std::move(stream), n};
}

bool has_passed(const Place& place) {
  return !place.stream || place.stream->n_done >= place.n;
}

// Without the mutex. Work that cannot go on ends the process.
void run_first(CUstream_st& stream, std::unique_lock<std::mutex>& lock) noexcept {
  const Work work = std::move(stream.items.front().work);
  stream.items.pop_front();
  stream.runs = true;
  lock.unlock();
  if (work) work();
  lock.lock();
  stream.runs = false;
  ++stream.n_done;
  streams().changed.notify_all();
}

Place queue_item(cudaStream_t handle, CUstream_st::Item item) {
  if (block_view) stop("a kernel calls the runtime");
  Place place;
  Order order;
  {
    std::lock_guard lock(streams().mutex);
    place.stream = find(handle);
    place.stream->items.push_back(std::move(item));
    place.n = ++place.stream->n_queued;
    order = streams().order;
  }
  if (order == Order::kAtOnce) carry_out(place);
  return place;
}

}  // namespace

cudaStream_t make_stream() {
  auto stream = std::make_shared<CUstream_st>();
  const cudaStream_t handle = stream.get();
  std::lock_guard lock(streams().mutex);
  streams().all[handle] = std::move(stream);
  return handle;
}

bool is_stream(cudaStream_t stream) {
  std::lock_guard lock(streams().mutex);
  return streams().all.contains(stream);
}

void end_stream(cudaStream_t stream) {
  carry_out_stream(stream);
  std::lock_guard lock(streams().mutex);
  streams().all.erase(stream);
}

Place queue(cudaStream_t stream, Work work) {
  return queue_item(stream, {std::move(work), {}});
}

Place queue_wait(cudaStream_t stream, Place before) {
  return queue_item(stream, {nullptr, std::move(before)});
}

void carry_out_stream(cudaStream_t stream) {
  Place end;
  {
    std::lock_guard lock(streams().mutex);
    end = end_of(find(stream));
  }
  carry_out(end);
}

void carry_out_all() {
  std::vector<Place> ends;
  {
    std::lock_guard lock(streams().mutex);
    for (const auto& [handle, stream] : streams().all) ends.push_back(end_of(stream));
  }
  for (const Place& end : ends) carry_out(end);
}

// A place is waited for by what was queued behind it alone, so they wait in no circle.
void carry_out(const Place& place) {
  std::vector<Place> goals{place};  // each for the sake of the one before it
  std::unique_lock lock(streams().mutex);
  while (!goals.empty()) {
    if (has_passed(goals.back())) {
      goals.pop_back();
      continue;
    }
    CUstream_st& stream = *goals.back().stream;
    if (stream.runs)
      streams().changed.wait(lock);
    else if (const Place before = stream.items.front().before; !has_passed(before))
      goals.push_back(before);
    else
      run_first(stream, lock);
  }
}

bool is_done(const Place& place) {
  std::lock_guard lock(streams().mutex);
  return has_passed(place);
}

void set_order(Order order) {
  {
    std::lock_guard lock(streams().mutex);
    streams().order = order;
  }
  carry_out_all();
}

}  // namespace pc::cuda::standin
