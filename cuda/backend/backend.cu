// The plug-in's table: C functions over Executor, ModuleCache and Timeline.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/backend/executor.h"
#include "cuda/backend/version.h"
#include "runtime/backend/backend.h"
#include "runtime/step/guarded.h"

using pc::Code;
using pc::error;
using pc::ok;
using pc::Status;

struct pc_backend_model {
  pc::cuda::Stream stream;
  pc::cuda::Model model;
  std::shared_ptr<pc::cuda::PagePool> pages;
  std::unique_ptr<pc::cuda::ModuleCache> modules;
  std::unique_ptr<pc::cuda::Executor> executor;
};

struct pc_backend_resident {
  pc::cuda::ModuleCache* modules;
  std::vector<pc::cuda::ModuleRun> runs;
  std::shared_ptr<pc::cuda::ModuleCopy> copy;
};

namespace pc::cuda {
namespace {

// Rows of a sweep: enough that products reach the device's speed, at scratch of some 25 KB a row
// for each thousand of d_model.
constexpr std::uint32_t kMaxRows = 2048;

// What modules may take of the memory that is left once a model is open; conversations have the
// rest.
constexpr double kModulesShare = 0.6;

// Of the host's memory, a part that its other programs do not miss.
constexpr std::size_t kHostShare = 4;

// What a variable of the environment says, or `otherwise`.
Result<std::size_t> bytes_asked(const char* variable, std::size_t otherwise) {
  const char* asked = std::getenv(variable);
  if (!asked || !*asked) return otherwise;
  char* end = nullptr;
  errno = 0;
  const unsigned long long bytes = std::strtoull(asked, &end, 10);
  const bool begins = *asked >= '0' && *asked <= '9';  // a sign would be taken
  if (!begins || *end != '\0' || errno != 0)
    return error(Code::kInvalidArgument,
                 std::string(variable) + " is \"" + asked + "\"; it is a number of bytes");
  return static_cast<std::size_t>(bytes);
}

// Memory that is not there is not promised.
Result<std::size_t> module_budget() {
  std::size_t free = 0, total = 0;
  PC_CHECK_OK(check(cudaMemGetInfo(&free, &total), "looking for memory"));
  return bytes_asked("PC_CUDA_MODULE_BYTES",
                     static_cast<std::size_t>(kModulesShare * static_cast<double>(free)));
}

// The host's memory: the machine's, or less where a container may have less.
std::size_t host_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  std::size_t bytes = pages > 0 && page_bytes > 0
                          ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes)
                          : 0;
  // As a container sees its own group: of version 2, and of 1. "max" is no number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(file) >> limit) bytes = std::min(bytes, limit);
  }
  return bytes;
}

// What may be locked of it for states that the device has no room for.
Result<std::size_t> host_budget() {
  return bytes_asked("PC_CUDA_HOST_BYTES", host_bytes() / kHostShare);
}

Result<cudaDeviceProp> find_device() {
  int n = 0;
  const cudaError_t found = cudaGetDeviceCount(&n);
  if (found != cudaSuccess || n == 0) {
    cudaGetLastError();
    return error(Code::kUnsupported,
                 std::string("there is no CUDA device that could be used") +
                     (found == cudaSuccess ? "" : std::string(": ") + cudaGetErrorString(found)));
  }
  cudaDeviceProp device{};
  PC_CHECK_OK(check(cudaGetDeviceProperties(&device, 0), "looking at the device"));
  PC_CHECK_OK(check(cudaSetDevice(0), "choosing the device"));
  constexpr int kLeastMajor = 8;  // bf16 on tensor cores, and copies to shared memory
  if (device.major < kLeastMajor)
    return error(Code::kUnsupported, std::string("the CUDA device ") + device.name +
                                         " is of compute capability " +
                                         std::to_string(device.major) + "." +
                                         std::to_string(device.minor) + "; 8.0 is needed");
  return device;
}

std::int32_t model_open(const pc_model_desc* desc, std::uint32_t kv_type, std::uint32_t precision,
                        std::uint32_t, const pc_pack_options*, pc_backend_model** out,
                        pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_CHECK_OK(check_model(*desc, kv_type));
    if (precision == PC_BACKEND_DETERMINISTIC)
      return error(Code::kUnsupported,
                   "the CUDA device has no deterministic precision, since how it multiplies a row "
                   "depends on how many are computed at once; the CPU has it");
    if (precision > PC_BACKEND_DETERMINISTIC)
      return error(Code::kUnsupported, "precision " + std::to_string(precision) + " is unknown");
    PC_TRY(const cudaDeviceProp device, find_device());
    auto model = std::make_unique<pc_backend_model>();
    PC_TRY(model->stream, make_stream());
    cudaStream_t stream = model->stream.get();
    PC_TRY(model->model, Model::load(*desc, static_cast<KvType>(kv_type), stream));
    PC_TRY(Transformer transformer, Transformer::make(model->model, precision == PC_BACKEND_EXACT,
                                                      kMaxRows, device, stream));
    PC_TRY(const std::size_t host_bytes, host_budget());
    const auto host = std::make_shared<HostRoom>(host_bytes);
    model->pages = std::make_shared<PagePool>(model->model.kv, host);
    PC_TRY(const std::size_t budget, module_budget());
    PC_TRY(model->modules, ModuleCache::make(model->model.kv, budget, host));
    model->executor = std::make_unique<Executor>(model->model, std::move(transformer),
                                                 *model->modules, *model->pages, kMaxRows, stream);
    *out = model.release();
    return ok();
  });
}

void model_close(pc_backend_model* model) {
  delete model;
}

std::int32_t resident_create(pc_backend_model* model, const std::uint8_t* identity,
                             const pc_kv_segment* segments, std::uint32_t n_segments,
                             pc_backend_resident** out, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    auto resident = std::make_unique<pc_backend_resident>();
    resident->modules = model->modules.get();
    resident->runs = runs_of(segments, n_segments);
    Identity id;
    std::copy_n(identity, id.size(), id.begin());
    resident->copy = model->modules->add(id, resident->runs);
    *out = resident.release();
    return ok();
  });
}

void resident_prefetch(pc_backend_resident* resident) {
  guarded(nullptr, [&]() -> Status {
    resident->modules->prefetch(resident->copy);
    return ok();
  });
}

void resident_release(pc_backend_resident* resident) {
  resident->modules->drop(resident->copy, resident->runs);
  delete resident;
}

std::int32_t timeline_open(pc_backend_model* model, pc_backend_timeline** out,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *out = new pc_backend_timeline{model, Timeline(model->model.kv, model->pages)};
    return ok();
  });
}

void timeline_close(pc_backend_timeline* timeline) {
  delete timeline;
}

// A run of the module that has tokens [first, first + n).
Result<const ModuleRun*> run_of(const pc_backend_resident& resident, std::uint32_t index,
                                std::uint32_t first, std::uint32_t n) {
  if (index >= resident.runs.size() ||
      std::uint64_t{first} + n > resident.runs[index].source.n_tokens)
    return error(Code::kInvalidArgument, "the module has no such run, or a shorter one");
  return &resident.runs[index];
}

std::int32_t timeline_attach(pc_backend_timeline* timeline, const pc_backend_resident* resident,
                             const pc_attachment* a, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_TRY(const ModuleRun* run, run_of(*resident, a->segment, a->first, a->n_tokens));
    const std::uint32_t begin = run->begin() + a->first;
    Timeline::Attached attached{resident->copy,
                                begin,
                                a->n_tokens,
                                a->position,
                                run->source.key_position + static_cast<std::int32_t>(a->first),
                                nullptr};
    if (a->hidden) {
      std::vector<std::uint32_t> bits(resident->copy->room() / 32 + 1);
      for (std::uint32_t i = 0; i < a->n_tokens; ++i)
        if (a->hidden[i / 32] >> i % 32 & 1u) bits[(begin + i) / 32] |= 1u << (begin + i) % 32;
      attached.hidden = std::make_shared<const std::vector<std::uint32_t>>(std::move(bits));
    }
    timeline->timeline.attach(std::move(attached));
    return ok();
  });
}

std::int32_t timeline_fork(const pc_backend_timeline* timeline, pc_backend_timeline** out,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    *out = new pc_backend_timeline(*timeline);
    return ok();
  });
}

std::int32_t timeline_rewind(pc_backend_timeline* timeline, std::uint32_t n_tokens,
                             std::uint32_t n_attached, std::uint32_t* n_left, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    timeline->timeline.rewind(n_tokens, n_attached);
    *n_left = timeline->timeline.n_tokens();
    return ok();
  });
}

std::int32_t timeline_read(const pc_backend_timeline* timeline, std::uint32_t first,
                           std::uint32_t n_tokens, const pc_kv_planes* planes,
                           pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    if (!timeline->timeline.is_run(first, n_tokens))
      return error(Code::kInvalidArgument, "the timeline has no such run of tokens");
    return timeline->model->executor->read(timeline->timeline, first, n_tokens, *planes);
  });
}

// Models with such layers are refused.
std::int32_t timeline_recurrent(const pc_backend_timeline*, std::uint32_t, const float** numbers,
                                pc_backend_error*) {
  *numbers = nullptr;
  return 0;
}

std::int32_t timeline_compare(const pc_backend_timeline* timeline, std::uint32_t first,
                              std::uint32_t n_tokens, const pc_backend_resident* resident,
                              std::uint32_t index, std::uint32_t first_of_segment,
                              std::uint32_t layer, float* distances, pc_backend_error* e) {
  return guarded(e, [&]() -> Status {
    PC_TRY(const ModuleRun* run, run_of(*resident, index, first_of_segment, n_tokens));
    const pc_backend_model& model = *timeline->model;
    if (layer >= model.model.desc.n_layers ||
        std::uint64_t{first} + n_tokens > timeline->timeline.n_tokens())
      return error(Code::kInvalidArgument, "the timeline has not so many tokens, or layers");
    return model.executor->compare(timeline->timeline, first, n_tokens, resident->copy,
                                   run->begin() + first_of_segment, layer, distances);
  });
}

void step(pc_backend_model* model, pc_step_item* items, std::uint32_t n_items) {
  const std::span all(items, n_items);
  pc_backend_error e{};
  const std::int32_t failed = guarded(&e, [&]() -> Status {
    PC_CHECK_OK(check(cudaSetDevice(0), "choosing the device"));
    model->executor->step(all);
    return ok();
  });
  if (failed == 0) return;
  for (pc_step_item& item : all) {
    item.status = failed;
    item.error = e;
  }
}

constexpr pc_backend_v1 kCuda = {PC_BACKEND_ABI,   sizeof(pc_backend_v1),
                                 "cuda",           kNumericsVersion,
                                 kMaxRows,         1,
                                 model_open,       model_close,
                                 resident_create,  resident_prefetch,
                                 resident_release, timeline_open,
                                 timeline_close,   timeline_attach,
                                 timeline_fork,    timeline_rewind,
                                 timeline_read,    timeline_recurrent,
                                 timeline_compare, step};

}  // namespace
}  // namespace pc::cuda

extern "C" __attribute__((visibility("default"))) const pc_backend_v1* pc_backend_entry_v1(void) {
  return &pc::cuda::kCuda;
}
