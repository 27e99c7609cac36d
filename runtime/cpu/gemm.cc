#include "runtime/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"  // align_up
#include "runtime/packed/packed_weights.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"

#ifdef PC_HAVE_ONEDNN
#include <dnnl.hpp>
#endif

namespace pc {
namespace {

// Tasks a thread should find in a product, so that one that is held up is helped out. Not
// more: a task reads weights in one stream, and what is asked for beyond its end is wasted
// (decoding was 4 % slower with tasks of 300 KB).
constexpr std::uint32_t kTasksPerThread = 4;

// Weight rows that a task which multiplies stored weights takes at least: enough to
// amortise its start (about 0.2 us) at 2 KiB a row.
constexpr std::uint32_t kRowsPerTask = 64;

// Groups of 32 activations, of all rows, that a task rounds to 8 bits: about
// 10 us. One row of less than twice that is not worth waking a thread.
constexpr std::uint32_t kGroupsPerTask = 512;

simd::Type type_of(const pc_tensor& w) {
  return static_cast<simd::Type>(w.dtype);
}

const PackedWeights* usable(const PackedWeights* packed, const simd::Kernels& kernels,
                            Precision precision) {
  const bool any = packed && !packed->empty() && precision != Precision::kExact;
  return any && kernels.matmul_packed ? packed : nullptr;
}

}  // namespace

// Products of one x that are multiplied alike, as the tasks of one loop: threads that are
// done with one product go on with the next, and wait once for all of them. A product's
// units are its panels, or its rows as they are stored.
class Gemm::Tasks {
 public:
  struct Item {
    Product product;
    const std::byte* data;
    std::uint32_t units, each, first_task;  // `each`: units a task
  };

  void add(const Product& product, const std::byte* data, std::uint32_t units, std::uint32_t each) {
    items_[n_++] = {product, data, units, each, n_tasks_};
    n_tasks_ += (units + each - 1) / each;
  }

  bool empty() const { return n_ == 0; }

  // body(item, first unit, end, thread)
  template <class Body>
  void run(const Parallel& parallel, const Body& body) const {
    parallel.for_each(n_tasks_, [&](std::uint32_t task, std::uint32_t thread) {
      std::size_t i = n_ - 1;
      while (task < items_[i].first_task) --i;
      const std::uint32_t first = (task - items_[i].first_task) * items_[i].each;
      body(items_[i], first, std::min(first + items_[i].each, items_[i].units), thread);
    });
  }

 private:
  std::array<Item, kMaxProducts> items_{};
  std::size_t n_ = 0;
  std::uint32_t n_tasks_ = 0;
};

#ifdef PC_HAVE_ONEDNN

namespace {

// Up to here the product is bound by reading W, which both paths do once, and
// oneDNN's call overhead (about 1 us) and shape-specific primitives buy
// nothing (bench/gemm_bench.cc, AMD Zen 4).
constexpr std::uint32_t kSmallRows = 8;

// The same on Intel's CPUs with AMX: 6 rows of bf16 weights take 1.6 times what 9 take with oneDNN.
constexpr std::uint32_t kSmallRowsAmx = 4;

void put(const float* from, std::uint32_t n, bool accumulate, float* y) {
  if (!accumulate) {
    std::copy_n(from, n, y);
  } else {
    for (std::uint32_t i = 0; i < n; ++i) y[i] += from[i];
  }
}

// Rows of W of a task at most, so that its product, of up to 512 rows of x, stays in the L2.
constexpr std::uint32_t kOneDnnRows = 256;

// From here on widening weights for oneDNN pays, where it pays at all.
constexpr std::uint32_t kWidenedRows = 64;

}  // namespace

// Matmul primitives by shape; made on first use (0.3-2 ms), then kept. Each multiplies some rows
// of W on the thread that runs it: the threads are those of our own loops, and oneDNN starts none.
struct Gemm::OneDnn {
  struct Key {
    std::uint32_t m, n, k;
    bool bf16;
    auto tied() const { return std::tie(m, n, k, bf16); }
    bool operator<(const Key& other) const { return tied() < other.tied(); }
  };

  // Descriptions of x, W (stored [n, k], used as its transpose) and y.
  struct Descs {
    dnnl::memory::desc x, w, y;
    explicit Descs(const Key& key) {
      using dt = dnnl::memory::data_type;
      using dims = dnnl::memory::dims;
      const auto type = key.bf16 ? dt::bf16 : dt::f32;
      const dnnl::memory::dim m = key.m, n = key.n, k = key.k;
      x = {{m, k}, type, dims{k, 1}};
      w = {{k, n}, type, dims{1, k}};
      y = {{m, n}, dt::f32, dims{n, 1}};
    }
  };

  struct Primitive {
    dnnl::matmul matmul;
    dnnl::memory::desc scratch;
  };

  // A thread's own: what oneDNN keeps while it multiplies, widened rows of W, and the product,
  // contiguous: where the columns of y are apart, oneDNN takes a slower way (it copies W twice).
  struct Scratch {
    AlignedBuffer<std::byte> onednn;
    AlignedBuffer<float> panel, y;
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<Key, Primitive> primitives;
  std::vector<Scratch> scratch;         // by thread
  AlignedBuffer<std::uint16_t> x_bf16;  // [max_rows, max_k]
  bool multiplies_bf16 = false;
  // Not with AVX-512, where the project's kernel is 1.2 to 8 times faster on types that
  // oneDNN does not take as they are (docs/adr/0009-onednn.md).
  bool widening_pays = true;

  OneDnn(std::uint32_t n_threads, std::uint32_t max_rows, std::uint32_t max_k)
      : scratch(n_threads), x_bf16(std::size_t{max_rows} * max_k) {
#if defined(__x86_64__)
    // Without the instruction oneDNN refuses such a product (AVX2) or emulates
    // it; and it can be told to use less than the CPU has (ONEDNN_MAX_CPU_ISA).
    constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());  // a set of bits
    constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    multiplies_bf16 = (have & kNeeded) == kNeeded;
    widening_pays = (have & kAvx512) != kAvx512;
#endif
    if (widening_pays)
      for (Scratch& s : scratch)
        s.panel = AlignedBuffer<float>(panel_rows(max_k) * std::size_t{max_k});
  }

  // Rows of W that a thread widens at a time: a panel of 1 MiB stays in its L2 for the product
  // that follows. At least 64: x is read once for each panel.
  static std::uint32_t panel_rows(std::uint32_t k) {
    constexpr std::uint32_t kPanelFloats = 1 << 18;
    return std::clamp<std::uint32_t>(kPanelFloats / k / 64 * 64, 64, 256);
  }

  // With x in bf16.
  bool rounds(const pc_tensor& w) const {
    return type_of(w) == simd::Type::kBf16 && multiplies_bf16;
  }
  // As they lie.
  bool takes(const pc_tensor& w) const {
    return type_of(w) == simd::Type::kF32 || rounds(w);
  }

  // Makes what run() of this key needs.
  void prepare(const Key& key) {
    if (primitives.contains(key)) return;
    const Parallel::Alone alone;  // primitives are made for as many threads as they may have
    const Descs d(key);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc pd(engine, d.x, d.w, d.y, attributes);
#else
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(d.x, d.w, d.y), attributes, engine);
#endif
    const std::size_t bytes = pd.scratchpad_desc().get_size();
    for (Scratch& s : scratch) {
      if (s.onednn.size() < bytes) s.onednn = AlignedBuffer<std::byte>(bytes);
      if (s.y.size() < std::size_t{key.m} * key.n)
        s.y = AlignedBuffer<float>(std::size_t{key.m} * key.n);
    }
    primitives.emplace(key, Primitive{dnnl::matmul(pd), pd.scratchpad_desc()});
  }

  // The product, [m, n] f32, in the thread's scratch.
  const float* run(const Key& key, std::uint32_t thread, const void* x, const void* w) {
    const Descs d(key);
    const Primitive& primitive = primitives.at(key);
    Scratch& own = scratch[thread];
    dnnl::stream stream{engine};
    primitive.matmul.execute(
        stream, {{DNNL_ARG_SRC, {d.x, engine, const_cast<void*>(x)}},
                 {DNNL_ARG_WEIGHTS, {d.w, engine, const_cast<void*>(w)}},
                 {DNNL_ARG_DST, {d.y, engine, own.y.data()}},
                 {DNNL_ARG_SCRATCHPAD, {primitive.scratch, engine, own.onednn.data()}}});
    stream.wait();
    return own.y.data();
  }
};

std::unique_ptr<Gemm::OneDnn> Gemm::make_onednn(std::uint32_t n_threads, std::uint32_t max_rows,
                                                std::uint32_t max_k, Precision precision) {
  if (precision == Precision::kDeterministic) return nullptr;  // many_rows() gives it nothing
  auto onednn = std::make_unique<OneDnn>(n_threads, max_rows, max_k);
  if (precision == Precision::kExact) onednn->multiplies_bf16 = false;
  return onednn;
}

bool Gemm::many_rows(std::uint32_t m, const pc_tensor& w) const {
  return onednn_ && m > (amx_ ? kSmallRowsAmx : kSmallRows) &&
         (onednn_->takes(w) || (m >= kWidenedRows && onednn_->widening_pays));
}

Status Gemm::multiply_onednn(Input& x, std::uint32_t k, std::span<const Product> products,
                             bool accumulate) {
  if (std::ranges::any_of(products, [&](const Product& p) { return onednn_->rounds(*p.w); })) {
    std::uint16_t* rounded = onednn_->x_bf16.data();
    parallel_.for_each(x.m, [&](std::uint32_t i, std::uint32_t) {
      if (x.make_row) x.make_row(i);
      kernels_->to_bf16(x.x + std::size_t{i} * k, k, rounded + std::size_t{i} * k);
    });
    x.make_row = {};
  }
  make_rows(x);
  for (const auto& [w, y] : products) PC_CHECK_OK(multiply_onednn(x, *w, accumulate, y));
  return ok();
}

// x is there, and in bf16 where w is. Tasks are rows of W, which the thread widens first where
// oneDNN does not take them as they lie.
Status Gemm::multiply_onednn(const Input& x, const pc_tensor& w, bool accumulate, float* y) const {
  const bool in_place = onednn_->takes(w), bf16 = onednn_->rounds(w);
  const auto rows = static_cast<std::uint32_t>(align_up(x.m, kGemmRowGranule));
  const void* input = bf16 ? static_cast<const void*>(onednn_->x_bf16.data()) : x.x;
  const auto shared = static_cast<std::uint32_t>(
      align_up(w.rows / (kTasksPerThread * parallel_.n_threads()), kRowsPerTask));
  const std::uint32_t each =
      std::min(w.rows, in_place ? std::clamp(shared, kRowsPerTask, kOneDnnRows)
                                : OneDnn::panel_rows(w.cols));
  const std::size_t row_bytes = simd::bytes_of(type_of(w), w.cols);
  const auto key_of = [&](std::uint32_t n) { return OneDnn::Key{rows, n, w.cols, bf16}; };
  try {
    onednn_->prepare(key_of(each));
    if (w.rows % each) onednn_->prepare(key_of(w.rows % each));
    parallel_.for_each((w.rows - 1) / each + 1, [&](std::uint32_t task, std::uint32_t thread) {
      const std::uint32_t n0 = task * each, n = std::min(each, w.rows - n0);
      const auto* const stored = static_cast<const std::byte*>(w.data) + n0 * row_bytes;
      float* const panel = onednn_->scratch[thread].panel.data();
      if (!in_place) kernels_->to_f32(stored, type_of(w), std::size_t{n} * w.cols, panel);
      const float* const product = onednn_->run(
          key_of(n), thread, input, in_place ? static_cast<const void*>(stored) : panel);
      for (std::uint32_t i = 0; i < x.m; ++i)
        put(product + std::size_t{i} * n, n, accumulate, y + std::size_t{i} * w.rows + n0);
    });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    const auto* const own = dynamic_cast<const dnnl::error*>(&e);
    if (own && own->status == dnnl_out_of_memory) throw std::bad_alloc();
    return error(Code::kInternal, std::string("oneDNN failed on a ") + std::to_string(rows) + "x" +
                                      std::to_string(w.cols) + "x" + std::to_string(w.rows) +
                                      " product: " + e.what());
  }
  return ok();
}

const char* gemm_description() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }();
  return text.c_str();
}

#else  // the project's own kernel for all sizes

struct Gemm::OneDnn {};

std::unique_ptr<Gemm::OneDnn> Gemm::make_onednn(std::uint32_t, std::uint32_t, std::uint32_t,
                                                Precision) {
  return nullptr;
}

bool Gemm::many_rows(std::uint32_t, const pc_tensor&) const {
  return false;
}

Status Gemm::multiply_onednn(Input&, std::uint32_t, std::span<const Product>, bool) {
  return error(Code::kInternal, "a product for oneDNN without oneDNN");
}

const char* gemm_description() {
  return "own kernels";
}

#endif

Gemm::Gemm(const simd::Kernels& kernels, Parallel parallel, std::uint32_t max_rows,
           std::uint32_t max_k, const PackedWeights* packed, Precision precision)
    : kernels_(&kernels),
      parallel_(parallel),
      alike_(precision == Precision::kDeterministic),
      packed_(usable(packed, kernels, precision)),
      amx_(precision == Precision::kFast ? kernels.amx : nullptr),
      x_int8_(packed_ ? simd::quantised_bytes(max_rows, max_k) : 0),
      x_tiles_(amx_ ? simd::amx_elements(max_rows, max_k) : 0),
      tile_scratch_(amx_ ? parallel.n_threads() * simd::kAmxScratchBytes : 0),
      onednn_(make_onednn(parallel.n_threads(), max_rows, max_k, precision)) {}

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;

Status Gemm::linear(const Input& x, const pc_tensor& w, bool accumulate, float* y) {
  const Product one{&w, y};
  return linear(x, {&one, 1}, accumulate);
}

Status Gemm::linear(Input x, std::span<const Product> products, bool accumulate) {
  const std::uint32_t wanted = kTasksPerThread * parallel_.n_threads();
  Tasks tiled, packed, stored;
  std::array<Product, kMaxProducts> others{};  // oneDNN's
  std::size_t n_others = 0;
  for (const Product& product : products) {
    const pc_tensor& w = *product.w;
    const auto* data = static_cast<const std::byte*>(w.data);
    const std::byte* panels = packed_ ? packed_->find(w.data) : nullptr;
    const std::uint32_t n = (w.rows + simd::kPanelRows - 1) / simd::kPanelRows;
    if (amx_ && x.m >= simd::kAmxFewestRows && (panels || type_of(w) == simd::Type::kBf16)) {
      tiled.add(product, panels ? panels : data, n,
                std::clamp<std::uint32_t>(n / wanted, 1, simd::kAmxPanels));
    } else if (panels) {
      packed.add(product, panels, n, std::max(n / wanted, 1u));
    } else if (!many_rows(x.m, w)) {
      stored.add(product, data, w.rows, std::max(w.rows / wanted, kRowsPerTask));
    } else {
      others[n_others++] = product;
    }
  }
  const std::uint32_t k = products[0].w->cols;
  if (!tiled.empty()) multiply_tiled(x, k, tiled, accumulate);
  if (!packed.empty()) multiply_packed(x, k, packed, accumulate);
  if (!stored.empty()) multiply_stored(x, k, stored, accumulate);
  return n_others ? multiply_onednn(x, k, std::span(others).first(n_others), accumulate) : ok();
}

void Gemm::make_rows(Input& x) const {
  if (x.make_row) parallel_.for_each(x.m, [&](std::uint32_t i, std::uint32_t) { x.make_row(i); });
  x.make_row = {};
}

// Tasks are tiles of rows where there are enough of them, made and rounded by one
// thread; else runs of columns.
void Gemm::quantise(Input& x, std::uint32_t k) {
  constexpr std::uint32_t kTile = simd::kMaxTileRows;
  const std::uint32_t n = k / simd::kPackGroup;
  if (x.m >= 2 * kTile * parallel_.n_threads()) {
    parallel_.for_each((x.m - 1) / kTile + 1, [&](std::uint32_t task, std::uint32_t) {
      const std::uint32_t first = task * kTile, end = std::min(first + kTile, x.m);
      for (std::uint32_t i = first; x.make_row && i < end; ++i) x.make_row(i);
      kernels_->quantise({x.x, x_int8_.data(), x.m, k, first, end, 0, n});
    });
    x.make_row = {};
    return;
  }
  make_rows(x);
  const std::uint32_t each = std::clamp(kGroupsPerTask / x.m, 4u, n);
  parallel_.for_each((n - 1) / each + 1, [&](std::uint32_t task, std::uint32_t) {
    const std::uint32_t first = task * each;
    kernels_->quantise({x.x, x_int8_.data(), x.m, k, 0, x.m, first, std::min(first + each, n)});
  });
}

void Gemm::arrange(Input& x, std::uint32_t k) {
  parallel_.for_each(x.m, [&](std::uint32_t row, std::uint32_t) {
    if (x.make_row) x.make_row(row);
    amx_->tile_row({x.x + std::size_t{row} * k, x_tiles_.data(), row, k});
  });
  x.make_row = {};
}

void Gemm::multiply_tiled(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate) {
  arrange(x, k);
  tasks.run(parallel_, [&](const Tasks::Item& item, std::uint32_t first, std::uint32_t end,
                           std::uint32_t thread) {
    const auto& [w, y] = item.product;
    amx_->matmul({x_tiles_.data(), item.data, y, w->rows, x.m, k, w->rows, first, end, type_of(*w),
                  accumulate, tile_scratch_.data() + thread * simd::kAmxScratchBytes});
  });
}

void Gemm::multiply_packed(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate) {
  quantise(x, k);
  tasks.run(parallel_,
            [&](const Tasks::Item& item, std::uint32_t first, std::uint32_t end, std::uint32_t) {
              const auto& [w, y] = item.product;
              kernels_->matmul_packed({x_int8_.data(), item.data, y, w->rows, x.m, k, w->rows,
                                       first, end, type_of(*w), accumulate});
            });
}

void Gemm::multiply_stored(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate) const {
  make_rows(x);
  tasks.run(parallel_,
            [&](const Tasks::Item& item, std::uint32_t first, std::uint32_t end, std::uint32_t) {
              const auto& [w, y] = item.product;
              kernels_->matmul({x.x, item.data, y, k, w->rows, x.m, k, first, end, type_of(*w),
                                accumulate, alike_});
            });
}

}  // namespace pc
