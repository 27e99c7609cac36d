// The work of streams: it lies in their queues until somebody waits for it.
//
// A stream's work is carried out in its order, by the OS threads that wait, and by nobody else: as
// late as CUDA allows. With Order::kAtOnce (faults.h) a call waits for what it queues. Handles are
// owned by the list of streams; a place keeps its stream.
//
// Of the process; any thread. A thread blocks only while another carries out one work, which ends:
// so streams that wait for each other's events do not lock up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cuda/standin/runtime.h"

namespace pc::cuda::standin {

using Work = std::function<void()>;

// The first n works of a stream, since it was made.
struct Place {
  std::shared_ptr<CUstream_st> stream;  // none: nothing, which is done
  std::uint64_t n = 0;
};

cudaStream_t make_stream();
bool is_stream(cudaStream_t stream);  // null: the default stream, which is always there
// Carries out what it holds; the handle is gone.
void end_stream(cudaStream_t stream);

// Where the work lies. The process ends where there is no such stream.
Place queue(cudaStream_t stream, Work work);
// What is queued behind it waits for `before`.
Place queue_wait(cudaStream_t stream, Place before);

// All that the stream, or any stream, holds now.
void carry_out_stream(cudaStream_t stream);
void carry_out_all();
void carry_out(const Place& place);
bool is_done(const Place& place);

}  // namespace pc::cuda::standin
