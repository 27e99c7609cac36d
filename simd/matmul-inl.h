// Products of a few rows of x with stored weights.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_MATMUL_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_MATMUL_
#undef PROMPTCACHE_SIMD_MATMUL_
#else
#define PROMPTCACHE_SIMD_MATMUL_
#endif

#include <hwy/highway.h>

#include "simd/elements-inl.h"
#include "simd/kernels.h"
#include "simd/quant-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// kM rows of x times kW rows of w. kM * kW independent sums hide the FMA's
// latency (4 cycles x 2 ports = 8 in flight) from 2 x 4 on.
template <class E, std::size_t kM, std::size_t kW>
HWY_INLINE void matmul_tile(const MatmulArgs& a, std::size_t i0, std::size_t j0) {
  const auto* w = static_cast<const typename E::T*>(a.w) + j0 * a.k;
  const float* x = a.x + i0 * a.x_stride;
  VF sum[kM][kW];
  for (std::size_t i = 0; i < kM; ++i)
    for (std::size_t j = 0; j < kW; ++j) sum[i][j] = hn::Zero(kF);
  std::size_t k = 0;
  for (; k + kN <= a.k; k += kN) {
    VF wv[kW];
    for (std::size_t j = 0; j < kW; ++j) wv[j] = E::load(w + j * a.k + k);
    for (std::size_t i = 0; i < kM; ++i) {
      const VF xv = load_f32(x + i * a.x_stride + k);
      for (std::size_t j = 0; j < kW; ++j) sum[i][j] = hn::MulAdd(xv, wv[j], sum[i][j]);
    }
  }
  if (const std::size_t rest = a.k - k; rest != 0) {
    for (std::size_t i = 0; i < kM; ++i) {
      const VF xv = load_tail<F32>(x + i * a.x_stride + k, rest);
      for (std::size_t j = 0; j < kW; ++j)
        sum[i][j] = hn::MulAdd(xv, load_tail<E>(w + j * a.k + k, rest), sum[i][j]);
    }
  }
  for (std::size_t i = 0; i < kM; ++i) {
    float* y = a.y + (i0 + i) * a.y_stride + j0;
    for (std::size_t j = 0; j < kW; ++j) {
      const float s = hn::GetLane(hn::SumOfLanes(kF, sum[i][j]));
      y[j] = a.accumulate ? y[j] + s : s;
    }
  }
}

// One row of x with all rows of w. The rows of w are read one after another, in the order
// of their addresses, so that the CPU sees a single stream of reads. Each cache line is
// prefetched when the loop is kAheadBytes in front of it.
template <class E>
HWY_INLINE void matmul_row(const MatmulArgs& a, std::size_t i) {
  constexpr std::size_t kAheadBytes = 8192, kUnroll = 8;
  const float* x = a.x + i * a.x_stride;
  for (std::size_t j = a.n_begin; j < a.n_end; ++j) {
    const auto* w = static_cast<const typename E::T*>(a.w) + j * a.k;
    VF sum[kUnroll];
    for (VF& s : sum) s = hn::Zero(kF);
    std::size_t k = 0;
    for (; k + kUnroll * kN <= a.k; k += kUnroll * kN) {
      for (std::size_t at = 0; at < kUnroll * kN * sizeof(*w); at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(w + k) + kAheadBytes + at, 0, 2);
      for (std::size_t u = 0; u < kUnroll; ++u)
        sum[u] = hn::MulAdd(load_f32(x + k + u * kN), E::load(w + k + u * kN), sum[u]);
    }
    for (; k + kN <= a.k; k += kN) sum[0] = hn::MulAdd(load_f32(x + k), E::load(w + k), sum[0]);
    if (const std::size_t rest = a.k - k; rest != 0)
      sum[1] = hn::MulAdd(load_tail<F32>(x + k, rest), load_tail<E>(w + k, rest), sum[1]);
    for (std::size_t u = 1; u < kUnroll; ++u) sum[0] = hn::Add(sum[0], sum[u]);
    const float s = hn::GetLane(hn::SumOfLanes(kF, sum[0]));
    float* y = a.y + i * a.y_stride + j;
    *y = a.accumulate ? *y + s : s;
  }
}

#if HWY_TARGET != HWY_SCALAR  // a vector of one element holds no pairs
// So many elements of x are parted into even and odd columns at once: 64 KiB on the stack.
constexpr std::size_t kParted = 16384;

// Columns of each row of w in front of the first whole vector, where all rows lie alike: loads that
// reach into two cache lines take 1.4 times as long here, and GGUF files align tensors to half a
// line.
HWY_INLINE std::size_t columns_before_vectors(const MatmulArgs& a) {
  constexpr std::size_t kVector = 4 * kN;  // bytes
  const auto address = reinterpret_cast<std::uintptr_t>(a.w);
  if (2 * a.k % kVector != 0 || address % 2 != 0) return 0;
  return (kVector - address % kVector) % kVector / 2;
}

// Adds columns [0, n) of a row, few of them.
HWY_INLINE VF few_columns(const float* x, const std::uint16_t* w, std::size_t n, VF sum) {
  for (std::size_t k = 0; k < n; k += kN) {
    const std::size_t rest = n - k < kN ? n - k : kN;
    sum = hn::MulAdd(load_tail<F32>(x + k, rest), load_tail<Bf16>(w + k, rest), sum);
  }
  return sum;
}

// Adds the columns [k0, k0 + n) for matmul_row_of_pairs, of which the first `before` stand in front
// of whole vectors. `parted` holds the others of x: a vector of even columns, then a vector of the
// odd columns between them, and so on.
HWY_INLINE void add_pairs(const MatmulArgs& a, std::size_t i, std::size_t k0, std::size_t before,
                          std::size_t n, const float* parted) {
  constexpr std::size_t kAheadBytes = 4096, kUnroll = 4, kPairs = 2 * kN;
  const float* x = a.x + i * a.x_stride + k0;
  for (std::size_t j = a.n_begin; j < a.n_end; ++j) {
    const auto* w = static_cast<const std::uint16_t*>(a.w) + j * a.k + k0;
    VF even[kUnroll], odd[kUnroll];
    for (std::size_t u = 0; u < kUnroll; ++u) even[u] = odd[u] = hn::Zero(kF);
    odd[1] = few_columns(x, w, before, odd[1]);
    w += before;
    const auto add = [&](std::size_t k, std::size_t u) HWY_ATTR {
      const auto pairs = hn::BitCast(kU, hn::LoadU(hn::Repartition<std::uint16_t, DF>(), w + k));
      const VF low = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
      const VF high = hn::BitCast(kF, hn::And(pairs, hn::Set(kU, 0xffff0000u)));
      even[u] = hn::MulAdd(load_f32(parted + k), low, even[u]);
      odd[u] = hn::MulAdd(load_f32(parted + k + kN), high, odd[u]);
    };
    const std::size_t rest = n - before;
    std::size_t k = 0;
    for (; k + kUnroll * kPairs <= rest; k += kUnroll * kPairs) {
      for (std::size_t at = 0; at < kUnroll * kPairs * sizeof *w; at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(w + k) + kAheadBytes + at, 0, 3);
      for (std::size_t u = 0; u < kUnroll; ++u) add(k + u * kPairs, u);
    }
    for (; k + kPairs <= rest; k += kPairs) add(k, 0);
    odd[0] = few_columns(x + before + k, w + k, rest - k, odd[0]);
    for (std::size_t u = 1; u < kUnroll; ++u) {
      even[0] = hn::Add(even[0], even[u]);
      odd[0] = hn::Add(odd[0], odd[u]);
    }
    const float s = hn::GetLane(hn::SumOfLanes(kF, hn::Add(even[0], odd[0])));
    float* y = a.y + i * a.y_stride + j;
    *y = a.accumulate || k0 != 0 ? *y + s : s;
  }
}

// matmul_row for bf16. It loads a vector of pairs of weights at once, where matmul_row
// would do two loads that widen, so the CPU looks further ahead in the stream; the products
// are as exact. Prefetching a page ahead makes it 1.4 times as fast on a Zen 5 (2 % slower on a
// Zen 4). Rows of up to kParted columns are read as one stream.
HWY_INLINE void matmul_row_of_pairs(const MatmulArgs& a, std::size_t i) {
  alignas(64) float parted[kParted];
  std::size_t k0 = 0, before = columns_before_vectors(a);
  do {
    const std::size_t n = a.k - k0 < kParted ? a.k - k0 : kParted;
    before = before < n ? before : n;
    const float* x = a.x + i * a.x_stride + k0 + before;
    for (std::size_t k = 0; k + 2 * kN <= n - before; k += 2 * kN) {
      VF even, odd;
      hn::LoadInterleaved2(kF, x + k, even, odd);
      hn::Store(even, kF, parted + k);
      hn::Store(odd, kF, parted + k + kN);
    }
    add_pairs(a, i, k0, before, n, parted);
    k0 += n;
  } while (k0 < a.k);
}
#endif

template <class E>
HWY_INLINE void one_row(E, const MatmulArgs& a, std::size_t i) {
  matmul_row<E>(a, i);
}
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void one_row(Bf16, const MatmulArgs& a, std::size_t i) {
  matmul_row_of_pairs(a, i);
}
#endif

template <class E, std::size_t kM>
HWY_INLINE void matmul_rows(const MatmulArgs& a, std::size_t i) {
  std::size_t j = a.n_begin;
  for (; j + 4 <= a.n_end; j += 4) matmul_tile<E, kM, 4>(a, i, j);
  for (; j < a.n_end; ++j) matmul_tile<E, kM, 1>(a, i, j);
}

template <class E>
void matmul_typed(const MatmulArgs& a) {
  std::size_t i = 0;
  for (; i + 4 <= a.m; i += 4) matmul_rows<E, 4>(a, i);
  switch (a.m - i) {
    case 3:
      matmul_rows<E, 3>(a, i);
      break;
    case 2:
      matmul_rows<E, 2>(a, i);
      break;
    case 1:
      a.alike ? matmul_rows<E, 1>(a, i) : one_row(E(), a, i);
      break;
  }
}

// Blocks are widened a stretch at a time for four rows of w, and each stretch is
// used by all rows of x while it lies in the L1 cache: 8 KiB, beside the same
// of four rows of x. A stretch is whole blocks of every type.
constexpr std::size_t kStretch = 512;

void matmul_blocks(const MatmulArgs& a) {
  alignas(64) float wide[4 * kStretch];
  const std::size_t row_bytes = bytes_of(a.type, a.k);
  for (std::size_t j = a.n_begin; j < a.n_end; j += 4) {
    const std::size_t rows = a.n_end - j < 4 ? a.n_end - j : 4;
    bool accumulate = a.accumulate;
    std::size_t k = 0;
    do {
      const std::size_t n = a.k - k < kStretch ? a.k - k : kStretch;
      const auto* w = static_cast<const std::uint8_t*>(a.w) + j * row_bytes + bytes_of(a.type, k);
      for (std::size_t r = 0; r < rows; ++r) to_f32(w + r * row_bytes, a.type, n, wide + r * n);
      matmul_typed<F32>({a.x + k, wide, a.y + j, a.x_stride, a.y_stride, a.m, n, 0, rows,
                         Type::kF32, accumulate, a.alike});
      accumulate = true;
      k += n;
    } while (k < a.k);
  }
}

void matmul(const MatmulArgs& a) {
  switch (a.type) {
    case Type::kF32:
      return matmul_typed<F32>(a);
    case Type::kF16:
      return matmul_typed<F16>(a);
    case Type::kBf16:
      return matmul_typed<Bf16>(a);
    default:
      return matmul_blocks(a);
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
