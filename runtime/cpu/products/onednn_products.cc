#include "runtime/cpu/products/onednn_products.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"  // align_up
#include "runtime/cpu/products/product_tasks.h"

#ifdef PC_HAVE_ONEDNN
#include <dnnl.hpp>
#endif

namespace pc {

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
// of W on the thread that runs it.
struct OneDnnProducts::Impl {
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

  const simd::Kernels& kernels;
  Parallel parallel;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<Key, Primitive> primitives;
  std::vector<Scratch> scratch;         // by thread
  AlignedBuffer<std::uint16_t> x_bf16;  // of an x
  bool multiplies_bf16 = false;
  std::uint32_t small_rows = kSmallRows;  // that go to the project's own kernel
  // Not with AVX-512, where the project's kernel is 1.2 to 8 times faster on types that
  // oneDNN does not take as they are (docs/adr/0009-onednn.md).
  bool widening_pays = true;

  Impl(const simd::Kernels& used_kernels, Parallel used_parallel, std::size_t most_elements,
       std::uint32_t max_k)
      : kernels(used_kernels),
        parallel(used_parallel),
        scratch(used_parallel.n_threads()),
        x_bf16(most_elements) {
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

std::unique_ptr<OneDnnProducts> OneDnnProducts::make(const simd::Kernels& kernels,
                                                     Parallel parallel, std::size_t most_elements,
                                                     std::uint32_t max_k, Precision precision) {
  if (precision == Precision::kDeterministic) return nullptr;
  auto impl = std::make_unique<Impl>(kernels, parallel, most_elements, max_k);
  if (precision == Precision::kExact) impl->multiplies_bf16 = false;
  impl->small_rows = precision == Precision::kFast && kernels.amx ? kSmallRowsAmx : kSmallRows;
  return std::unique_ptr<OneDnnProducts>(new OneDnnProducts(std::move(impl)));
}

bool OneDnnProducts::pays(std::uint32_t m, const pc_tensor& w) const {
  return m > impl_->small_rows && (impl_->takes(w) || (m >= kWidenedRows && impl_->widening_pays));
}

bool OneDnnProducts::rounds(const pc_tensor& w) const {
  return impl_->rounds(w);
}

void OneDnnProducts::round_row(const float* x, std::uint32_t row, std::uint32_t k) {
  impl_->kernels.to_bf16(x, k, impl_->x_bf16.data() + std::size_t{row} * k);
}

// Tasks are rows of W, which the thread widens first where oneDNN does not take them as they lie.
Status OneDnnProducts::multiply(const float* x, std::uint32_t first_row, std::uint32_t m,
                                const pc_tensor& w, bool accumulate, float* y) {
  Impl& my = *impl_;
  const bool in_place = my.takes(w), bf16 = my.rounds(w);
  const auto rows = static_cast<std::uint32_t>(align_up(m, kGemmRowGranule));
  const std::size_t begin = std::size_t{first_row} * w.cols;
  const void* input = bf16 ? static_cast<const void*>(my.x_bf16.data() + begin) : x + begin;
  const auto shared = static_cast<std::uint32_t>(
      align_up(w.rows / (kTasksPerProduct * my.parallel.n_threads()), kRowsPerTask));
  const std::uint32_t each = std::min(
      w.rows, in_place ? std::clamp(shared, kRowsPerTask, kOneDnnRows) : Impl::panel_rows(w.cols));
  const std::size_t row_bytes = simd::bytes_of(type_of(w), w.cols);
  const auto key_of = [&](std::uint32_t n) { return Impl::Key{rows, n, w.cols, bf16}; };
  try {
    my.prepare(key_of(each));
    if (w.rows % each) my.prepare(key_of(w.rows % each));
    my.parallel.for_each((w.rows - 1) / each + 1, [&](std::uint32_t task, std::uint32_t thread) {
      const std::uint32_t n0 = task * each, n = std::min(each, w.rows - n0);
      const auto* const stored = static_cast<const std::byte*>(w.data) + n0 * row_bytes;
      float* const panel = my.scratch[thread].panel.data();
      if (!in_place) my.kernels.to_f32(stored, type_of(w), std::size_t{n} * w.cols, panel);
      const float* const product =
          my.run(key_of(n), thread, input, in_place ? static_cast<const void*>(stored) : panel);
      for (std::uint32_t i = 0; i < m; ++i)
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

#else

struct OneDnnProducts::Impl {};

std::unique_ptr<OneDnnProducts> OneDnnProducts::make(const simd::Kernels&, Parallel, std::size_t,
                                                     std::uint32_t, Precision) {
  return nullptr;
}

bool OneDnnProducts::pays(std::uint32_t, const pc_tensor&) const {
  return false;
}
bool OneDnnProducts::rounds(const pc_tensor&) const {
  return false;
}
void OneDnnProducts::round_row(const float*, std::uint32_t, std::uint32_t) {}

Status OneDnnProducts::multiply(const float*, std::uint32_t, std::uint32_t, const pc_tensor&, bool,
                                float*) {
  return error(Code::kInternal, "a product for oneDNN without oneDNN");
}

const char* gemm_description() {
  return "own kernels";
}

#endif

OneDnnProducts::OneDnnProducts(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OneDnnProducts::~OneDnnProducts() = default;

}  // namespace pc
