#include "runtime/cpu/products/gemm.h"

#include <algorithm>

#include "runtime/packed/packed_weights.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"

namespace pc {
namespace {

// Groups of 32 activations, of all rows, that a task rounds to 8 bits: about
// 10 us. One row of less than twice that is not worth waking a thread.
constexpr std::uint32_t kGroupsPerTask = 512;

const PackedWeights* usable(const PackedWeights* packed, const simd::Kernels& kernels,
                            Precision precision) {
  const bool any = packed && !packed->empty() && precision != Precision::kExact;
  return any && kernels.matmul_packed ? packed : nullptr;
}

template <class Size>
std::size_t most(std::span<const Gemm::Extent> extents, const Size& size) {
  std::size_t n = 0;
  for (const Gemm::Extent& e : extents) n = std::max<std::size_t>(n, size(e));
  return n;
}

// Each group's tiles are rounded up to kAmxRows rows. Only groups of kAmxFewestRows have any.
std::size_t tiled_elements(const Gemm::Extent& e) {
  const std::size_t n_tiled = std::min<std::size_t>(e.groups, e.rows / simd::kAmxFewestRows);
  return simd::amx_elements(e.rows + n_tiled * (simd::kAmxRows - 1), e.k);
}

// A group's rows rounded up to kGemmRowGranule may end behind x.
std::size_t padded_elements(const Gemm::Extent& e) {
  return (std::size_t{e.rows} + (e.groups > 1 ? kGemmRowGranule : 0)) * e.k;
}

// Is this product multiplied on tiles, where the CPU has them?
bool is_tiled(const pc_tensor& w, std::uint32_t rows, bool has_panels) {
  const simd::Type type = type_of(w);
  return (has_panels || type == simd::Type::kBf16) &&
         simd::amx_way(type, rows) != simd::AmxWay::kNone;
}

simd::AmxWay way_of(const ProductTask& task) {
  return simd::amx_way(type_of(*task.w), task.m);
}

bool wants_sums(const ProductTask& task) {
  return way_of(task) == simd::AmxWay::kCodes && simd::packed_shape_of(type_of(*task.w)).minima;
}

}  // namespace

Gemm::Gemm(const simd::Kernels& kernels, Parallel parallel, std::span<const Extent> largest,
           const PackedWeights* packed, Precision precision)
    : kernels_(&kernels),
      parallel_(parallel),
      alike_(precision == Precision::kDeterministic),
      packed_(usable(packed, kernels, precision)),
      amx_(precision == Precision::kFast ? kernels.amx : nullptr),
      x_int8_(packed_ ? most(largest,
                             [](const Extent& e) { return simd::quantised_bytes(e.rows, e.k); })
                      : 0),
      x_tiles_(amx_ ? most(largest, tiled_elements) : 0),
      tile_scratch_(amx_ ? parallel.n_threads() * simd::kAmxScratchBytes : 0),
      onednn_(OneDnnProducts::make(
          kernels, parallel, most(largest, padded_elements),
          static_cast<std::uint32_t>(most(largest, [](const Extent& e) { return e.k; })),
          precision)) {}

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;

Status Gemm::linear(const Input& x, const pc_tensor& w, bool accumulate, float* y) {
  const Product one{&w, y};
  return linear(x, std::span(&one, 1), accumulate);
}

Status Gemm::linear(const Input& x, std::span<const Product> products, bool accumulate) {
  const Group all{0, x.m, products};
  return linear(x, std::span(&all, 1), accumulate);
}

Status Gemm::linear(Input x, std::span<const Group> groups, bool accumulate) {
  sort(groups);
  const std::uint32_t k = groups[0].products[0].w->cols;
  if (!tiled_.empty()) multiply_tiled(x, k, groups, accumulate);
  if (!packed_products_.empty()) multiply_packed(x, k, groups, accumulate);
  if (!stored_.empty()) multiply_stored(x, k, accumulate);
  return others_.empty() ? ok() : multiply_onednn(x, k, accumulate);
}

// Every product to those that are multiplied as it is best.
void Gemm::sort(std::span<const Group> groups) {
  for (ProductTasks* tasks : {&tiled_, &packed_products_, &stored_, &others_}) tasks->clear();
  std::size_t tiles_at = 0;  // elements of x_tiles_
  for (const Group& group : groups) {
    const std::size_t n_tiled = tiled_.products().size();
    for (const Product& product : group.products) {
      const pc_tensor& w = *product.w;
      const auto* data = static_cast<const std::byte*>(w.data);
      const std::byte* panels = packed_ ? packed_->find(w.data) : nullptr;
      ProductTask task{&w, product.y, panels ? panels : data, w.rows, group.first, group.n, 0,
                       0,  0};
      if (amx_ && is_tiled(w, group.n, panels)) {
        task.units = (w.rows + simd::kPanelRows - 1) / simd::kPanelRows;
        task.x_at = tiles_at;
        tiled_.add(task);
      } else if (panels) {
        task.units = (w.rows + simd::kPanelRows - 1) / simd::kPanelRows;
        task.x_at = simd::quantised_bytes(group.first, w.cols);
        packed_products_.add(task);
      } else if (onednn_ && onednn_->pays(group.n, w)) {
        others_.add(task);
      } else {
        task.x_at = std::size_t{group.first} * w.cols;
        stored_.add(task);
      }
    }
    if (tiled_.products().size() > n_tiled)
      tiles_at += simd::amx_elements(group.n, group.products[0].w->cols);
  }
  const std::uint32_t wanted = kTasksPerProduct * parallel_.n_threads();
  tiled_.cut(wanted, 1, simd::kAmxPanels);
  packed_products_.cut(wanted, 1, UINT32_MAX);
  stored_.cut(wanted, kRowsPerTask, UINT32_MAX);
}

void Gemm::make_rows(Input& x) const {
  if (x.make_row) parallel_.for_each(x.m, [&](std::uint32_t i, std::uint32_t) { x.make_row(i); });
  x.make_row = {};
}

// Tasks are tiles of rows where there are enough of them, made and rounded by one
// thread; else runs of columns.
void Gemm::quantise(Input& x, std::uint32_t k, std::span<const Group> groups) {
  constexpr std::uint32_t kTile = simd::kMaxTileRows;
  if (groups.size() == 1 && x.m < 2 * kTile * parallel_.n_threads()) return quantise_columns(x, k);
  const std::uint32_t n = k / simd::kPackGroup;
  const auto round = [&](const Group& group, std::uint32_t first) {
    const std::uint32_t end = std::min(first + kTile, group.n);
    for (std::uint32_t i = first; x.make_row && i < end; ++i) x.make_row(group.first + i);
    kernels_->quantise({x.x + std::size_t{group.first} * k,
                        x_int8_.data() + simd::quantised_bytes(group.first, k), group.n, k, first,
                        end, 0, n});
  };
  if (groups.size() == 1) {
    parallel_.for_each((x.m - 1) / kTile + 1,
                       [&](std::uint32_t task, std::uint32_t) { round(groups[0], task * kTile); });
  } else {  // groups are many and small
    parallel_.for_each(static_cast<std::uint32_t>(groups.size()),
                       [&](std::uint32_t task, std::uint32_t) {
                         for (std::uint32_t first = 0; first < groups[task].n; first += kTile)
                           round(groups[task], first);
                       });
  }
  x.make_row = {};
}

void Gemm::quantise_columns(Input& x, std::uint32_t k) {
  const std::uint32_t n = k / simd::kPackGroup;
  make_rows(x);
  const std::uint32_t each = std::clamp(kGroupsPerTask / x.m, 4u, n);
  parallel_.for_each((n - 1) / each + 1, [&](std::uint32_t task, std::uint32_t) {
    const std::uint32_t first = task * each;
    kernels_->quantise({x.x, x_int8_.data(), x.m, k, 0, x.m, first, std::min(first + each, n)});
  });
}

// Rows that have products on tiles, for them.
void Gemm::arrange(Input& x, std::uint32_t k, std::span<const Group> groups) {
  if (groups.size() > 1) make_rows(x);
  const bool sums = std::ranges::any_of(tiled_.products(), wants_sums);
  const ProductTask* last = nullptr;
  for (const ProductTask& task : tiled_.products()) {
    if (last && last->x_at == task.x_at) continue;  // the same rows
    last = &task;
    parallel_.for_each(task.m, [&](std::uint32_t i, std::uint32_t) {
      if (x.make_row) x.make_row(i);
      amx_->tile_row(
          {x.x + (std::size_t{task.first_row} + i) * k, x_tiles_.data() + task.x_at, i, k, sums});
    });
  }
  x.make_row = {};
}

void Gemm::multiply_tiled(Input& x, std::uint32_t k, std::span<const Group> groups,
                          bool accumulate) {
  arrange(x, k, groups);
  tiled_.run(parallel_, [&](const ProductTask& task, std::uint32_t first, std::uint32_t end,
                            std::uint32_t thread) {
    const pc_tensor& w = *task.w;
    const simd::AmxWay way = way_of(task);
    const auto product = way == simd::AmxWay::kCodes ? amx_->matmul_codes
                         : way == simd::AmxWay::kFew ? amx_->matmul_few
                                                     : amx_->matmul_many;
    product({x_tiles_.data() + task.x_at, task.data, task.y, w.rows, task.m, k, w.rows, first, end,
             type_of(w), accumulate, tile_scratch_.data() + thread * simd::kAmxScratchBytes});
  });
}

void Gemm::multiply_packed(Input& x, std::uint32_t k, std::span<const Group> groups,
                           bool accumulate) {
  quantise(x, k, groups);
  packed_products_.run(parallel_, [&](const ProductTask& task, std::uint32_t first,
                                      std::uint32_t end, std::uint32_t) {
    const pc_tensor& w = *task.w;
    kernels_->matmul_packed({x_int8_.data() + task.x_at, task.data, task.y, w.rows, task.m, k,
                             w.rows, first, end, type_of(w), accumulate});
  });
}

void Gemm::multiply_stored(Input& x, std::uint32_t k, bool accumulate) {
  make_rows(x);
  stored_.run(parallel_,
              [&](const ProductTask& task, std::uint32_t first, std::uint32_t end, std::uint32_t) {
                const pc_tensor& w = *task.w;
                kernels_->matmul({x.x + task.x_at, task.data, task.y, k, w.rows, task.m, k, first,
                                  end, type_of(w), accumulate, alike_});
              });
}

Status Gemm::multiply_onednn(Input& x, std::uint32_t k, bool accumulate) {
  if (std::ranges::any_of(others_.products(),
                          [&](const ProductTask& task) { return onednn_->rounds(*task.w); })) {
    parallel_.for_each(x.m, [&](std::uint32_t i, std::uint32_t) {
      if (x.make_row) x.make_row(i);
      onednn_->round_row(x.x + std::size_t{i} * k, i, k);
    });
    x.make_row = {};
  }
  make_rows(x);
  for (const ProductTask& task : others_.products()) {
    PC_CHECK_OK(onednn_->multiply(x.x, task.first_row, task.m, *task.w, accumulate, task.y));
  }
  return ok();
}

}  // namespace pc
