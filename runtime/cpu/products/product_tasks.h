// Products as the tasks of one loop (base/parallel.h): threads that are done with one
// product go on with the next, and wait once for all of them.
//
// Values; a list keeps its memory when it is cleared. Threads: thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "runtime/backend/backend.h"  // pc_tensor
#include "simd/types.h"

namespace pc {

// Tasks that a thread should find in a product, so that one that is held up is helped out. Not
// more: a task reads weights in one stream, and what is asked for beyond its end is wasted
// (decoding was 4 % slower with tasks of 300 KB).
inline constexpr std::uint32_t kTasksPerProduct = 4;

// Weight rows that a task which multiplies stored weights takes at least: enough to
// amortise its start (about 0.2 us) at 2 KiB a row.
inline constexpr std::uint32_t kRowsPerTask = 64;

inline simd::Type type_of(const pc_tensor& w) {
  return static_cast<simd::Type>(w.dtype);
}

// Rows [first_row, first_row + m) of x times w. Units: w's panels, or its rows as they are stored.
struct ProductTask {
  const pc_tensor* w;
  float* y;               // [m, w->rows]
  const std::byte* data;  // of w: as the kernel reads it
  std::uint32_t units;
  std::uint32_t first_row, m;
  std::size_t x_at;                // where these rows of x begin, as the kernel reads them
  std::uint32_t each, first_task;  // units a task: set by cut()
};

class ProductTasks {
 public:
  bool empty() const { return products_.empty(); }
  void clear() { products_.clear(); }
  void add(const ProductTask& product) { products_.push_back(product); }
  const std::vector<ProductTask>& products() const { return products_; }

  // Each of up to three products (queries, keys and values) into about `wanted` tasks, more
  // products into as many together; a task has `fewest` to `most` units.
  void cut(std::uint32_t wanted, std::uint32_t fewest, std::uint32_t most) {
    const auto n = static_cast<std::uint32_t>(products_.size());
    const std::uint32_t wanted_each = std::max(3 * wanted / std::max(n, 3u), 1u);
    n_tasks_ = 0;
    for (ProductTask& product : products_) {
      product.each = std::clamp(product.units / wanted_each, fewest, most);
      product.first_task = n_tasks_;
      n_tasks_ += (product.units + product.each - 1) / product.each;
    }
  }

  // body(product, first unit, end, thread)
  template <class Body>
  void run(const Parallel& parallel, const Body& body) const {
    parallel.for_each(n_tasks_, [&](std::uint32_t task, std::uint32_t thread) {
      const auto behind = std::ranges::upper_bound(products_, task, {}, &ProductTask::first_task);
      const ProductTask& product = *(behind - 1);
      const std::uint32_t first = (task - product.first_task) * product.each;
      body(product, first, std::min(first + product.each, product.units), thread);
    });
  }

 private:
  std::vector<ProductTask> products_;
  std::uint32_t n_tasks_ = 0;
};

}  // namespace pc
