#include "tests/cuda/attention/attention_cases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace pc::test {
namespace {

// Arrays on the device until the end of a run.
class DeviceArrays {
 public:
  ~DeviceArrays() {
    for (void* array : arrays_) cudaFree(array);
  }
  template <class T>
  T* make(std::size_t n) {
    void* array = nullptr;
    const std::size_t bytes = std::max<std::size_t>(n, 1) * sizeof(T);
    REQUIRE(cudaMalloc(&array, bytes) == cudaSuccess);
    arrays_.push_back(array);
    REQUIRE(cudaMemset(array, 0xff, bytes) == cudaSuccess);  // no numbers
    return static_cast<T*>(array);
  }
  template <class T>
  T* copy(const std::vector<T>& from) {
    T* const to = make<T>(from.size());
    if (!from.empty()) {
      const std::size_t bytes = from.size() * sizeof(T);
      REQUIRE(cudaMemcpy(to, from.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    }
    return to;
  }

 private:
  std::vector<void*> arrays_;
};

template <class T>
std::vector<T> fetch(const T* from, std::size_t n) {
  std::vector<T> to(n);
  if (n != 0)
    REQUIRE(cudaMemcpy(to.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
  return to;
}

void copy_tasks(const AttentionCase& c, DeviceArrays& device, cuda::AttentionArgs& args) {
  std::vector<std::byte*> planes;
  for (const CasePlanes& p : c.planes) planes.push_back(device.copy(p.bytes));
  std::vector<cuda::Task> tasks;
  std::vector<cuda::Visit> visits;
  std::vector<cuda::Use> uses;
  for (const CaseTask& task : c.tasks) {
    const auto first_visit = static_cast<std::uint32_t>(visits.size());
    for (const CaseVisit& visit : task.visits) {
      const auto first_use = static_cast<std::uint32_t>(uses.size());
      for (cuda::Use use : visit.uses) {
        if (!visit.hidden.empty()) use.hidden = device.copy(visit.hidden);
        if (!visit.positions.empty()) use.positions = device.copy(visit.positions);
        uses.push_back(use);
      }
      visits.push_back({{planes[visit.planes], c.planes[visit.planes].room},
                        visit.begin,
                        visit.end,
                        first_use,
                        static_cast<std::uint32_t>(uses.size())});
    }
    tasks.push_back({task.first_row, task.n_rows, first_visit,
                     static_cast<std::uint32_t>(visits.size()), task.first_partial});
  }
  args.tasks = device.copy(tasks);
  args.visits = device.copy(visits);
  args.uses = device.copy(uses);
}

// Where an array's row of a query is, and whether that of its task.
struct Place {
  std::size_t slot;
  bool whole;
};

void check_query(const AttentionCase& c, const CaseResult& result, const Expected& expected,
                 Place place, double rounding) {
  const std::uint32_t hd = c.shape.head_dim;
  // Errors of products are of either sign: six times their deviation.
  const double of_score = 6.0 * rounding * expected.score_size + 4.0 * rounding * rounding;
  double sum = expected.sum;
  if (!place.whole) {
    const float2 got = result.sums[place.slot];
    if (expected.sum == 0.0) {
      CHECK(got.x == -std::numeric_limits<float>::infinity());
      CHECK(got.y == 0.0f);
    } else {
      const double log_sum = double{got.x} + std::log(double{got.y});
      CHECK(std::abs(log_sum - expected.top - std::log(expected.sum)) <= of_score + 4e-6);
    }
    sum = double{got.y};
  }
  const float* const row = (place.whole ? result.out : result.partial_out).data() + place.slot * hd;
  for (std::uint32_t d = 0; d < hd; ++d) {
    if (expected.sum == 0.0) {
      if (row[d] != 0.0f) FAIL_CHECK("dimension " << d << " is " << row[d] << " of no key");
      continue;
    }
    const double want = expected.acc[d] / expected.sum;
    const double got = place.whole ? double{row[d]} : double{row[d]} / sum;
    const double room = (2.0 * of_score + 2.0 * rounding) * expected.size[d] / expected.sum +
                        (c.options.out_bf16 ? std::abs(want) / 256 : 0.0) + 1e-6;
    if (!(std::abs(got - want) <= room)) {
      FAIL_CHECK("dimension " << d << " is " << got << ", not " << want << " (" << room << ")");
      return;
    }
  }
}

}  // namespace

CaseResult run_case(const AttentionCase& c, Attend attend) {
  DeviceArrays device;
  const AttentionOptions& o = c.options;
  const std::size_t heads = c.n_heads(), numbers = c.q.size();
  cuda::AttentionArgs args{};
  args.shape = c.shape;
  args.layer = AttentionCase::kLayer;
  args.n_heads = c.n_heads();
  args.window = o.window;
  args.half = o.half;
  args.rope_scale = c.rope_scale;
  args.attn_scale = c.attn_scale;
  args.softcap = o.softcap;
  args.rotations = {device.copy(c.row_turns), device.copy(c.move_turns)};
  args.slopes = c.slopes.empty() ? nullptr : device.copy(c.slopes);
  args.positions = device.copy(c.positions);
  args.q = device.copy(c.q);
  copy_tasks(c, device, args);
  float* const out = device.make<float>(numbers);  // of bf16 half is used
  args.out = out;
  args.out_bf16 = o.out_bf16;
  args.sums = device.make<float2>(c.n_partials * heads);
  args.partial_out = device.make<float>(c.n_partials * heads * o.head_dim);
  std::uint32_t most_rows = 0;
  for (const CaseTask& task : c.tasks) most_rows = std::max(most_rows, task.n_rows);
  attend(args, static_cast<std::uint32_t>(c.tasks.size()), most_rows, nullptr);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);

  CaseResult result;
  if (o.out_bf16) {
    for (const std::uint16_t x : fetch(reinterpret_cast<const std::uint16_t*>(out), numbers))
      result.out.push_back(cuda::from_bf16(x));
  } else {
    result.out = fetch(out, numbers);
  }
  result.sums = fetch(args.sums, c.n_partials * heads);
  result.partial_out = fetch(args.partial_out, c.n_partials * heads * o.head_dim);
  return result;
}

void check_case(const AttentionCase& c, Attend attend, double rounding) {
  const CaseResult result = run_case(c, attend);
  for (const CaseTask& task : c.tasks) {
    for (std::uint32_t row = task.first_row; row < task.first_row + task.n_rows; ++row) {
      for (std::uint32_t head = 0; head < c.n_heads(); ++head) {
        INFO("row " << row << " of task from " << task.first_row << ", head " << head);
        const bool whole = task.first_partial == cuda::kWhole;
        const std::size_t at = whole ? row : task.first_partial + row - task.first_row;
        check_query(c, result, expect_of(c, task, row, head), {at * c.n_heads() + head, whole},
                    rounding);
      }
    }
  }
}

}  // namespace pc::test
