// The kernels of attention on tensor cores against the definition in double.

#include <catch2/catch.hpp>
#include <string>

#include "tests/cuda/attention/attention_cases.h"

namespace pc::test {
namespace {

using cuda::KvType;

// Queries, weights and values that were codes are rounded to bf16.
constexpr double kBf16Rounding = 1.0 / 512;

struct Kernel {
  const char* name;
  Attend attend;
};
constexpr Kernel kKernels[] = {{"tiles", cuda::attend_tiles}, {"few", cuda::attend_few}};
constexpr KvType kTypes[] = {KvType::kBf16, KvType::kQ8};

std::string described(const AttentionOptions& o) {
  return "type " + std::to_string(static_cast<int>(o.type)) + ", heads of " +
         std::to_string(o.head_dim) + ", group " + std::to_string(o.group) + ", rows " +
         std::to_string(o.n_rows) + ", timelines " + std::to_string(o.n_timelines) + ", tasks of " +
         std::to_string(o.rows_of_task) + ", shares " + std::to_string(o.shares) + ", window " +
         std::to_string(o.window) + ", half " + std::to_string(o.half) + ", softcap " +
         std::to_string(o.softcap) + (o.alibi ? ", slopes" : "") + (o.hidden ? ", hidden" : "") +
         (o.gaps ? ", gaps" : "") + (o.out_bf16 ? ", bf16" : "");
}

// By each kernel, of states of each type.
void check_kernels(AttentionOptions options, std::uint64_t seed) {
  for (const KvType type : kTypes) {
    options.type = type;
    Random random(seed);
    const AttentionCase c = make_case(options, random);
    for (const Kernel& kernel : kKernels) {
      INFO(kernel.name << ", seed " << seed << ": " << described(options));
      check_case(c, kernel.attend, kBf16Rounding);
    }
  }
}

TEST_CASE("tensor cores take what they fit", "[cuda]") {
  CHECK(cuda::attend_tiles_fits({KvType::kBf16, 1, 1, 16}));
  CHECK(cuda::attend_tiles_fits({KvType::kQ8, 1, 1, 256}));
  CHECK_FALSE(cuda::attend_tiles_fits({KvType::kF32, 1, 1, 64}));
  CHECK_FALSE(cuda::attend_tiles_fits({KvType::kBf16, 1, 1, 72}));
  CHECK_FALSE(cuda::attend_tiles_fits({KvType::kBf16, 1, 1, 272}));
}

TEST_CASE("heads of any size that fits are attended", "[cuda]") {
  std::uint64_t seed = 1;
  for (const std::uint32_t head_dim : {16u, 48u, 64u, 80u, 96u, 112u, 128u, 160u, 256u}) {
    AttentionOptions options;
    options.head_dim = head_dim;
    options.half = head_dim / 2;
    options.group = 3;
    options.n_rows = 7;
    check_kernels(options, seed++);
  }
}

TEST_CASE("groups of any size are attended, in several blocks", "[cuda]") {
  std::uint64_t seed = 100;
  for (const std::uint32_t group : {1u, 2u, 4u, 5u, 7u, 8u, 71u}) {
    AttentionOptions options;
    options.group = group;
    options.n_kv_heads = group > 8 ? 1 : 2;
    options.half = 13;
    options.n_rows = group > 8 ? 3 : 50;
    options.most_keys = 200;
    check_kernels(options, seed++);
  }
}

TEST_CASE("shares of a row's attention are written as parts", "[cuda]") {
  for (std::uint64_t seed = 200; seed < 204; ++seed) {
    AttentionOptions options;
    options.shares = 3;
    options.group = 2;
    options.n_rows = 9;
    options.rows_of_task = 4;
    options.half = 32;
    options.window = seed % 2 == 0 ? 40 : 0;
    check_kernels(options, seed);
  }
}

TEST_CASE("timelines see the same bytes at places of their own", "[cuda]") {
  for (std::uint64_t seed = 300; seed < 304; ++seed) {
    AttentionOptions options;
    options.n_timelines = 6;
    options.n_rows = 20;
    options.half = 20;
    options.group = 4;
    options.window = seed % 2 == 0 ? 25 : 0;
    check_kernels(options, seed);
  }
}

TEST_CASE("hidden rows and gaps are not seen", "[cuda]") {
  for (std::uint64_t seed = 400; seed < 408; ++seed) {
    AttentionOptions options;
    options.hidden = seed % 3 != 0;
    options.gaps = seed % 3 != 1;
    options.group = 2;
    options.n_rows = 12;
    options.half = 8;
    options.n_visits = 6;
    options.alibi = seed % 2 == 0;
    check_kernels(options, seed);
  }
}

TEST_CASE("anything at once", "[cuda]") {
  constexpr std::uint32_t kHeadDims[] = {16, 32, 64, 80, 96, 128, 192, 256};
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    Random random(seed);
    AttentionOptions options;
    options.head_dim = kHeadDims[random.below(8)];
    options.n_kv_heads = random.between(1, 3);
    options.group = random.between(1, 8);
    options.n_rows = random.between(1, 40);
    options.n_timelines = random.chance(0.5) ? 1 : random.between(1, options.n_rows);
    options.rows_of_task = random.between(1, 40);
    options.n_visits = random.below(7);
    options.most_keys = random.between(1, 180);
    options.shares = random.chance(0.5) ? 1 : random.between(2, 3);
    options.window = random.chance(0.5) ? 0 : random.between(1, 60);
    options.half = random.chance(0.2) ? 0 : random.between(1, options.head_dim / 2);
    options.softcap = random.chance(0.3) ? 5.0f : 0.0f;
    options.alibi = random.chance(0.3);
    options.hidden = random.chance(0.3);
    options.gaps = random.chance(0.3);
    options.out_bf16 = random.chance(0.5);
    check_kernels(options, seed);
  }
}

}  // namespace
}  // namespace pc::test
