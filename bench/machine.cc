// Compiled for the machine it runs on (-march=native): a floor is what this
// CPU can do, whatever the library uses of it.

#include "bench/machine.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
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

// Eight sums hide the latency of adding; the result keeps the loop alive.
float read_all(const float* p, std::size_t n) {
  Vec sum[8] = {};
  for (std::size_t i = 0; i + 128 <= n; i += 128) {
    for (int j = 0; j < 8; ++j) sum[j] += *reinterpret_cast<const Vec*>(p + i + 16 * j);
  }
  float total = 0;
  for (const Vec& v : sum)
    for (int l = 0; l < 16; ++l) total += v[l];
  return total;
}

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

Machine measure_machine(std::uint32_t threads) {
  Machine m;
  m.cpu = cpu_name();
  m.threads = threads;
  std::vector<float> data(std::size_t{128} << 20, 1.0f);  // 512 MiB
  const std::size_t share = data.size() / threads;
  const double read = best_seconds(
      threads, 5, [&](std::uint32_t t) { sink = read_all(data.data() + t * share, share); });
  m.read_gb_per_s = static_cast<double>(share * threads * sizeof(float)) / read / 1e9;
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
  return m;
}

}  // namespace pc::bench
