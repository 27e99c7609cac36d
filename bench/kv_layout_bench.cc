// What do packed keys (docs/adr/0003-kv-layout.md) save over rows as they are computed?
//
//   kv_layout_bench [--tokens 1024]
//
// Scores of 8, 64 and 512 query rows against bf16 keys of 64 dimensions that lie in the L2
// cache, on one thread, by vdpbf16ps:
//
//   packed       [16 tokens' pairs of dimensions][64/2]: a step adds to 16 tokens' scores
//   rows         [token][64]: two products a token, then sums across lanes, of 16 tokens at once
//   rearranged   rows that are packed on the way, 16 tokens at a time, once for all query rows
//
// Nanoseconds a score, the best of many passes, and times packed's. Compiled for this machine.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/machine.h"

#ifdef __AVX512BF16__
#include <immintrin.h>

namespace pc::bench {
namespace {

constexpr std::size_t kDim = 64, kWords = kDim / 2, kBlock = 16, kTile = 8;

using Words = std::vector<std::uint32_t>;  // pairs of bf16

__m512 dot(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

__m512i load(const std::uint32_t* p) {
  return _mm512_loadu_si512(p);
}

// 8 query rows against two packed blocks at a time.
void packed_tile(const std::uint32_t* q, const std::uint32_t* keys, std::size_t tokens,
                 float* scores, std::size_t stride) {
  for (std::size_t t = 0; t < tokens; t += 2 * kBlock) {
    const std::uint32_t* k = keys + t * kWords;
    __m512 sum[kTile][2] = {};
    for (std::size_t w = 0; w < kWords; ++w) {
      const __m512i a = load(k + w * kBlock), b = load(k + (kWords + w) * kBlock);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kTile; ++r) {
        const __m512i factor = _mm512_set1_epi32(static_cast<int>(q[r * kWords + w]));
        sum[r][0] = dot(sum[r][0], factor, a);
        sum[r][1] = dot(sum[r][1], factor, b);
      }
    }
    for (std::size_t r = 0; r < kTile; ++r) {
      _mm512_storeu_ps(scores + r * stride + t, sum[r][0]);
      _mm512_storeu_ps(scores + r * stride + t + kBlock, sum[r][1]);
    }
  }
}

// Rows of 16 words become columns.
void transpose(__m512i (&v)[16]) {
  __m512i u[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    u[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    u[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(u[i], u[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(u[i], u[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(u[i + 1], u[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(u[i + 1], u[i + 3]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const int at = i % 4 + i / 4 * 8;
    u[at] = _mm512_shuffle_i32x4(v[at], v[at + 4], 0x88);
    u[at + 4] = _mm512_shuffle_i32x4(v[at], v[at + 4], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    v[i] = _mm512_shuffle_i32x4(u[i], u[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(u[i], u[i + 8], 0xdd);
  }
}

// One query row against rows: the products of 16 tokens, then their sums by transposing.
void rows_tile(const std::uint32_t* q, const std::uint32_t* keys, std::size_t tokens, float* scores,
               std::size_t stride) {
  for (std::size_t t = 0; t < tokens; t += kBlock) {
    for (std::size_t r = 0; r < kTile; ++r) {
      const __m512i low = load(q + r * kWords), high = load(q + r * kWords + 16);
      __m512i part[16];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i) {
        const std::uint32_t* k = keys + (t + i) * kWords;
        part[i] =
            _mm512_castps_si512(dot(dot(_mm512_setzero_ps(), low, load(k)), high, load(k + 16)));
      }
      transpose(part);
      __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i) sum = _mm512_add_ps(sum, _mm512_castsi512_ps(part[i]));
      _mm512_storeu_ps(scores + r * stride + t, sum);
    }
  }
}

// Rows -> packed, 16 tokens.
void pack_block(const std::uint32_t* rows, std::uint32_t* packed) {
  for (std::size_t half = 0; half < kWords; half += 16) {
    __m512i v[16];
    for (std::size_t i = 0; i < 16; ++i) v[i] = load(rows + i * kWords + half);
    transpose(v);
    for (std::size_t i = 0; i < 16; ++i) _mm512_storeu_si512(packed + (half + i) * kBlock, v[i]);
  }
}

struct Problem {
  std::size_t tokens, n_rows;
  Words q, rows, packed, room;
  std::vector<float> scores;

  Problem(std::size_t n_tokens, std::size_t n_queries)
      : tokens(n_tokens),
        n_rows(n_queries),
        q(n_rows * kWords),
        rows(tokens * kWords),
        packed(rows.size()),
        room(rows.size()),
        scores(n_rows * tokens) {
    std::uint32_t state = 1;
    for (Words* words : {&q, &rows}) {
      for (std::uint32_t& w : *words) {
        state = state * 1664525u + 1013904223u;
        w = (state >> 4 & 0x807f807fu) | 0x3f003f00u;  // magnitudes of 0.5 to 1
      }
    }
    for (std::size_t t = 0; t < tokens; t += kBlock)
      pack_block(&rows[t * kWords], &packed[t * kWords]);
  }

  void run_packed(const Words& keys) {
    for (std::size_t r = 0; r < n_rows; r += kTile)
      packed_tile(&q[r * kWords], keys.data(), tokens, &scores[r * tokens], tokens);
  }
  void run_rows() {
    for (std::size_t r = 0; r < n_rows; r += kTile)
      rows_tile(&q[r * kWords], rows.data(), tokens, &scores[r * tokens], tokens);
  }
  void run_rearranged() {
    for (std::size_t t = 0; t < tokens; t += kBlock)
      pack_block(&rows[t * kWords], &room[t * kWords]);
    run_packed(room);
  }
};

template <class Run>
double ns_a_score(const Problem& p, Run run) {
  double best = 1e30;
  for (int i = 0; i < 300; ++i) {
    const double start = now_seconds(1);
    run();
    best = std::min(best, now_seconds(1) - start);
  }
  return best * 1e9 / static_cast<double>(p.n_rows * p.tokens);
}

void check(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i] - b[i]) < 1e-3f * static_cast<float>(kDim)) continue;
    std::fprintf(stderr, "kv_layout_bench: the layouts' scores differ\n");
    std::exit(1);
  }
}

void measure(std::size_t tokens, std::size_t n_rows) {
  Problem p(tokens, n_rows);
  const double packed = ns_a_score(p, [&] { p.run_packed(p.packed); });
  const auto want = p.scores;
  const double rows = ns_a_score(p, [&] { p.run_rows(); });
  check(p.scores, want);
  const double rearranged = ns_a_score(p, [&] { p.run_rearranged(); });
  check(p.scores, want);
  std::printf("%5zu %10.3f %10.3f (%.2fx) %10.3f (%.2fx)\n", n_rows, packed, rows, rows / packed,
              rearranged, rearranged / packed);
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  std::size_t tokens = 1024;
  if (argc == 3 && std::strcmp(argv[1], "--tokens") == 0)
    tokens = std::max<std::size_t>(32, std::strtoul(argv[2], nullptr, 10) / 32 * 32);
  else if (argc != 1)
    return std::fprintf(stderr, "usage: kv_layout_bench [--tokens N]\n"), 1;
  std::printf("%s; nanoseconds a score, %zu tokens\n", pc::bench::measure_machine(1).cpu.c_str(),
              tokens);
  std::printf("%5s %10s %18s %18s\n", "rows", "packed", "rows", "rearranged");
  for (const std::size_t n_rows : {8, 64, 512}) pc::bench::measure(tokens, n_rows);
}

#else

int main() {
  std::fprintf(stderr, "kv_layout_bench: this machine has no AVX512_BF16\n");
  return 1;
}

#endif
