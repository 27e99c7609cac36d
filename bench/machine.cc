// Compiled for the machine it runs on (-march=native): a floor is what this
// CPU can do, whatever the library uses of it.

#include "bench/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__x86_64__)
#include "simd/amx_tiles.h"
#include "simd/packed_kernels.h"
#endif

namespace pc::bench {
namespace {

// Runs body(thread) on all threads at once; the time until the last is done.
template <class Body>
double timed(std::uint32_t threads, const Body& body) {
  std::vector<std::thread> team;
  const double start = now_seconds(threads);
  for (std::uint32_t t = 1; t < threads; ++t) team.emplace_back(body, t);
  body(0);
  for (std::thread& t : team) t.join();
  return now_seconds(threads) - start;
}

using Vec = float __attribute__((vector_size(64), aligned(4)));

// As far ahead as the library's own one-row products ask (simd/packed/packed-inl.h).
constexpr std::size_t kAheadFloats = 1024;

// Eight sums hide the latency of adding; the result keeps the loop alive.
float read_all(const float* p, std::size_t n) {
  Vec sum[8] = {};
  for (std::size_t i = 0; i + 128 <= n; i += 128) {
    for (int j = 0; j < 8; ++j) {
      __builtin_prefetch(p + i + 16 * j + kAheadFloats);
      sum[j] += *reinterpret_cast<const Vec*>(p + i + 16 * j);
    }
  }
  float total = 0;
  for (const Vec& v : sum)
    for (int l = 0; l < 16; ++l) total += v[l];
  return total;
}

constexpr std::size_t kProbeFloats = std::size_t{128} << 20, kProbePage = std::size_t{2} << 20;

constexpr long kFmaRounds = 20'000'000;

float fma_chains() {
  Vec acc[12];
  for (int j = 0; j < 12; ++j) acc[j] = Vec{} + static_cast<float>(j);
  Vec a = Vec{} + 0.999f, b = Vec{} + 0.001f;
  asm volatile("" : "+v"(a), "+v"(b));
  for (long i = 0; i < kFmaRounds; ++i)
    for (int j = 0; j < 12; ++j) acc[j] = acc[j] * a + b;  // contracted to an FMA
  float total = 0;
  for (const Vec& v : acc) total += v[0];
  return total;
}

#if defined(__AVX512BF16__)
float bf16_chains() {
  __m512 acc[12];
  for (int j = 0; j < 12; ++j) acc[j] = _mm512_set1_ps(static_cast<float>(j));
  __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f)), b = a;
  asm volatile("" : "+v"(a), "+v"(b));
  for (long i = 0; i < kFmaRounds; ++i)
    for (int j = 0; j < 12; ++j) acc[j] = _mm512_dpbf16_ps(acc[j], a, b);
  float total = 0;
  for (const __m512& v : acc) total += _mm512_cvtss_f32(v);
  return total;
}
#endif

#if defined(__AVX512VNNI__)
constexpr double kInt8Width = 64;
float int8_chains() {
  __m512i acc[12];
  for (int j = 0; j < 12; ++j) acc[j] = _mm512_set1_epi32(j);
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(1);
  asm volatile("" : "+v"(a), "+v"(b));
  for (long i = 0; i < kFmaRounds; ++i)
    for (int j = 0; j < 12; ++j) acc[j] = _mm512_dpbusd_epi32(acc[j], a, b);
  long long total = 0;
  for (const __m512i& v : acc) total += v[0];
  return static_cast<float>(total);
}
#elif defined(__AVX2__)
// The product of bytes, the sum of pairs, the sum.
constexpr double kInt8Width = 32;
float int8_chains() {
  __m256i acc[12];
  for (int j = 0; j < 12; ++j) acc[j] = _mm256_set1_epi32(j);
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  for (long i = 0; i < kFmaRounds; ++i)
    for (int j = 0; j < 12; ++j) {
      asm volatile("" : "+x"(a));
      acc[j] = _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  long long total = 0;
  for (const __m256i& v : acc) total += v[0];
  return static_cast<float>(total);
}
#endif

#if defined(__x86_64__)
// Four products of tiles that stay where they are, a round.
constexpr long kTileRounds = 2'000'000;

template <class Product>
float tile_chains(Product product) {
  using simd::AmxTiles;
  AmxTiles::configure();  // to zeros
  for (long i = 0; i < kTileRounds; ++i) product();
  AmxTiles::release();
  return 0;
}

float bf16_tile_chains() {
  using simd::AmxTiles;
  return tile_chains([] {
    AmxTiles::dot_bf16<0, 4, 6>();
    AmxTiles::dot_bf16<1, 4, 7>();
    AmxTiles::dot_bf16<2, 5, 6>();
    AmxTiles::dot_bf16<3, 5, 7>();
  });
}

float int8_tile_chains() {
  return tile_chains([] {
    asm volatile(
        "tdpbssd %tmm6, %tmm4, %tmm0\n\ttdpbssd %tmm7, %tmm4, %tmm1\n\t"
        "tdpbssd %tmm6, %tmm5, %tmm2\n\ttdpbssd %tmm7, %tmm5, %tmm3");
  });
}
#endif

volatile float sink;

template <class Body>
double best_seconds(std::uint32_t threads, int tries, const Body& body) {
  double best = 1e30;
  for (int i = 0; i < tries; ++i) best = std::min(best, timed(threads, body));
  return best;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

double now_seconds(std::uint32_t threads) {
  timespec now{};
  ::clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

ReadProbe::ReadProbe(std::uint32_t threads)
    : threads_(threads),
      data_(static_cast<float*>(std::aligned_alloc(kProbePage, kProbeFloats * sizeof(float)))) {
  if (!data_) throw std::bad_alloc();
  ::madvise(data_.get(), kProbeFloats * sizeof(float), MADV_HUGEPAGE);
  std::fill_n(data_.get(), kProbeFloats, 1.0f);
}

double ReadProbe::gb_per_s(int tries) const {
  const std::size_t share = kProbeFloats / threads_;
  const double seconds = best_seconds(
      threads_, tries, [&](std::uint32_t t) { sink = read_all(data_.get() + t * share, share); });
  return static_cast<double>(share * threads_ * sizeof(float)) / seconds / 1e9;
}

Machine measure_machine(std::uint32_t threads) {
  Machine m;
  m.cpu = cpu_name();
  m.threads = threads;
  m.read_gb_per_s = ReadProbe(threads).gb_per_s(5);
  const double fma = best_seconds(threads, 3, [](std::uint32_t) { sink = fma_chains(); });
  m.f32_gflops = threads * 12.0 * 16.0 * 2.0 * kFmaRounds / fma / 1e9;
#if defined(__AVX512BF16__)
  const double bf16 = best_seconds(threads, 3, [](std::uint32_t) { sink = bf16_chains(); });
  m.bf16_gflops = threads * 12.0 * 32.0 * 2.0 * kFmaRounds / bf16 / 1e9;
#endif
#if defined(__AVX2__)
  const double int8 = best_seconds(threads, 3, [](std::uint32_t) { sink = int8_chains(); });
  m.int8_gops = threads * 12.0 * kInt8Width * 2.0 * kFmaRounds / int8 / 1e9;
#endif
#if defined(__x86_64__)
  if (simd::amx_available()) {
    const double bf16_tiles =
        best_seconds(threads, 3, [](std::uint32_t) { sink = bf16_tile_chains(); });
    const double int8_tiles =
        best_seconds(threads, 3, [](std::uint32_t) { sink = int8_tile_chains(); });
    // Of 16 rows by 16 columns, 32 bf16 or 64 bytes deep.
    const double products = threads * 4.0 * kTileRounds * 16 * 16 * 2 / 1e9;
    m.bf16_gflops = std::max(m.bf16_gflops, 32 * products / bf16_tiles);
    m.int8_gops = std::max(m.int8_gops, 64 * products / int8_tiles);
  }
#endif
  return m;
}

}  // namespace pc::bench
