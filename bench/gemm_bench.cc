// How fast are matrix products with each weight type, and how far is that from the floor?
//
//   gemm_bench [--shape KxN] [--rows 1,8,16,32,64,128,512] [--types Q4_0,...] [--isa a,b]
//              [--threads 0] [--repeat 7] [--offset 0] [--gated] [--json]
//
// For each type and number of rows: y = x W^T as runtime/cpu/products/gemm.h does it, packed
// where the kernels multiply packed weights, over as many matrices as fill
// 512 MiB, so that weights come from memory, as in a model. With several
// instruction sets (--isa, values of PC_ISA) runs alternate; amx-few and amx-many are amx with
// few rows multiplied in these ways (simd/packed/amx_rows.h), never by codes. The floor is the
// larger of bytes over bandwidth and operations over peak, of the multiplier that
// the type's path uses (8-bit integers, bf16 or f32), measured in this run.
// x is uniform, or with --gated what a feed-forward layer's last matrix gets,
// silu(normal) * normal, where outliers rule half of the groups of 32. Stored weights begin
// --offset bytes behind a cache line: files align tensors to half of one, or less.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mapped_file.h"  // expect_all
#include "bench/machine.h"
#include "runtime/cpu/products/gemm.h"
#include "runtime/json/json_writer.h"
#include "runtime/packed/packed_weights.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"

namespace pc::bench {
namespace {

using simd::Type;

constexpr std::size_t kBytes = std::size_t{512} << 20;

struct Arguments {
  std::uint32_t k = 2048, n = 5632;  // TinyLlama-1.1B's feed-forward
  std::vector<std::uint32_t> rows{1, 8, 16, 32, 64, 128, 512};
  std::vector<Type> types{Type::kQ4_0, Type::kQ4_K, Type::kQ6_K, Type::kQ8_0, Type::kBf16};
  std::vector<const simd::Kernels*> tables;
  std::uint32_t threads = 0, repeat = 7, offset = 0;
  bool json = false, gated = false;
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "gemm_bench: %s\n", message.c_str());
  std::exit(1);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

const simd::Kernels* named_table(const std::string& name) {
  ::setenv("PC_ISA", name.c_str(), 1);
  const simd::Kernels* found = simd::selected_kernels();
  return found ? found : (die(name + " does not run here"), nullptr);
}

// amx with `product` in place of the products that few rows take.
const simd::Kernels* amx_by(const char* name,
                            void (*simd::AmxKernels::*product)(const simd::AmxMatmulArgs&)) {
  static std::deque<simd::AmxKernels> ways;
  static std::deque<simd::Kernels> tables;
  simd::Kernels& table = tables.emplace_back(*named_table("amx"));
  simd::AmxKernels& way = ways.emplace_back(*table.amx);
  way.matmul_codes = way.matmul_few = way.*product;
  table.name = name;
  table.amx = &way;
  return &table;
}

const simd::Kernels* table_of(const std::string& name) {
  if (name == "amx-few") return amx_by("amx-few", &simd::AmxKernels::matmul_few);
  if (name == "amx-many") return amx_by("amx-many", &simd::AmxKernels::matmul_many);
  return named_table(name);
}

Type type_of(const std::string& name) {
  for (std::uint32_t t = 1; t < simd::kTypeShapes.size(); ++t) {
    if (simd::kTypeShapes[t].name == name) return static_cast<Type>(t);
  }
  die("unknown type " + name);
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--json") {
      a.json = true;
      continue;
    }
    if (arg == "--gated") {
      a.gated = true;
      continue;
    }
    if (i + 1 == argc) die(arg + " wants a value, or is unknown");
    const std::string value = argv[++i];
    if (arg == "--shape") {
      if (std::sscanf(value.c_str(), "%ux%u", &a.k, &a.n) != 2 || !a.n || !a.k || a.k % 256)
        die("--shape wants KxN, K a multiple of 256");
    } else if (arg == "--rows") {
      a.rows.clear();
      for (const auto& part : split(value))
        a.rows.push_back(static_cast<std::uint32_t>(std::max(1, std::atoi(part.c_str()))));
    } else if (arg == "--types") {
      a.types.clear();
      for (const auto& part : split(value)) a.types.push_back(type_of(part));
    } else if (arg == "--isa") {
      for (const auto& part : split(value)) a.tables.push_back(table_of(part));
    } else if (arg == "--threads") {
      a.threads = static_cast<std::uint32_t>(std::atoi(value.c_str()));
    } else if (arg == "--offset") {
      a.offset = static_cast<std::uint32_t>(std::atoi(value.c_str()));
      if (a.offset % 4 != 0 || a.offset >= 64) die("--offset wants a multiple of 4 below 64");
    } else if (arg == "--repeat") {
      a.repeat = static_cast<std::uint32_t>(std::max(1, std::atoi(value.c_str())));
    } else {
      die("unknown argument " + arg);
    }
  }
  if (a.tables.empty()) a.tables.push_back(simd::selected_kernels());
  if (!a.tables[0]) die("PC_ISA names an instruction set that does not run here");
  return a;
}

// Room in large pages where the kernel has them: so a model's packed weights are mapped.
AlignedBuffer<std::byte> large_pages(std::size_t n_bytes) {
  AlignedBuffer<std::byte> room(n_bytes);
  expect_all(room.span());
  return room;
}

// Matrices of one type, as stored and packed: random codes, sound scales.
struct Weights {
  double bytes;  // of one, as the product reads it
  AlignedBuffer<std::byte> stored, panels;
  std::vector<pc_tensor> tensors;
  std::unordered_map<const void*, const std::byte*> packed;

  Weights(Type type, std::uint32_t k, std::uint32_t n, std::uint32_t offset) {
    const std::size_t size = (simd::bytes_of(type, std::size_t{n} * k) + 63) / 64 * 64;
    const bool packs = simd::packs(type);
    const std::size_t packed_size = packs ? simd::packed_bytes(type, n, k) : 0;
    bytes = static_cast<double>(packs ? packed_size : size);
    const auto count = static_cast<std::size_t>(static_cast<double>(kBytes) / bytes) + 1;
    stored = large_pages(count * size + offset);
    panels = large_pages(count * packed_size);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::byte> w = stored.span().subspan(i * size + offset, size);
      for (std::byte& b : w) {
        state = state * 1664525u + 1013904223u;
        b = static_cast<std::byte>(state >> 24 & 0x3b);  // as halves: finite, and below 1
      }
      // Not denormal: some CPUs take 150 cycles for such a one, and trained weights have hardly
      // any.
      if (type == Type::kBf16)
        for (std::size_t j = 1; j < size; j += 2) w[j] |= std::byte{0x30};
      tensors.push_back({w.data(), static_cast<std::uint32_t>(type), n, k});
      if (!packs) continue;
      std::byte* p = panels.data() + i * packed_size;
      for (std::size_t panel = 0; panel * simd::kPanelRows < n; ++panel)
        simd::pack_panel(type, w.data(), n, k, panel, p);
      packed[w.data()] = p;
    }
  }
};

void fill(std::span<float> x, bool gated) {
  std::uint32_t state = 1;
  const auto uniform = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  };
  const auto normal = [&] {  // six terms of variance 1/3
    float sum = 0.0f;
    for (int term = 0; term < 6; ++term) sum += uniform();
    return sum * 0.70710678f;
  };
  for (float& v : x) {
    const float gate = gated ? normal() : 0.0f;
    v = gated ? gate / (1.0f + std::exp(-gate)) * normal() : uniform();
  }
}

struct Series {
  std::vector<double> values;
  double quantile(double q) const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
};

// Microseconds a product, for each table; runs alternate.
std::vector<Series> measure(const Arguments& a, const Weights& weights, std::uint32_t m) {
  const PackedWeights packed(weights.packed);
  const std::uint32_t threads = Parallel(a.threads).n_threads();
  const std::uint32_t room = (m + kGemmRowGranule - 1) / kGemmRowGranule * kGemmRowGranule;
  AlignedBuffer<float> x(std::size_t{room} * a.k), y(std::size_t{room} * a.n);
  fill(x.span(), a.gated);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (const simd::Kernels* table : a.tables)
    gemms.push_back(std::make_unique<Gemm>(*table, Parallel(a.threads), room, a.k, &packed));
  // Few rows: all matrices. Many rows: as many as take about as long as 64 rows.
  const std::size_t count = std::max<std::size_t>(
      1, std::min<std::size_t>(weights.tensors.size(), 64 * weights.tensors.size() / m));
  std::vector<Series> result(gemms.size());
  for (std::uint32_t round = 0; round <= a.repeat; ++round) {
    for (std::size_t i = 0; i < gemms.size(); ++i) {
      const double start = now_seconds(threads);
      for (std::size_t t = 0; t < count; ++t) {
        const Status done = gemms[i]->linear({x.data(), m}, weights.tensors[t], false, y.data());
        if (!done.ok()) die(done.error().message);
      }
      const double us = 1e6 * (now_seconds(threads) - start) / static_cast<double>(count);
      if (round != 0) result[i].values.push_back(us);  // the first warms up
    }
  }
  return result;
}

// Of the fastest multiplier that any of the tables takes.
double peak_of(const Machine& machine, const Arguments& a, Type type, std::uint32_t m) {
  const bool tiles =
      (simd::packs(type) || type == Type::kBf16) && simd::amx_way(type, m) != simd::AmxWay::kNone &&
      std::any_of(a.tables.begin(), a.tables.end(), [](const auto* t) { return t->amx; });
  if (tiles) return machine.bf16_gflops;
  if (simd::packs(type) && machine.int8_gops > 0) return machine.int8_gops;
  if (type == Type::kBf16 && machine.bf16_gflops > 0) return machine.bf16_gflops;
  return machine.f32_gflops;
}

int run(const Arguments& a) {
  const Machine machine = measure_machine(Parallel(a.threads).n_threads());
  std::printf(
      "%s, %u threads; read %.1f GB/s, f32 %.0f, bf16 %.0f GFLOP/s, int8 %.0f Gop/s\n"
      "W [%u, %u]\n\n",
      machine.cpu.c_str(), machine.threads, machine.read_gb_per_s, machine.f32_gflops,
      machine.bf16_gflops, machine.int8_gops, a.n, a.k);
  std::printf("%-5s %5s  %-13s %6s %22s %7s %7s %14s\n", "type", "rows", "isa", "ratio",
              "us a product (range)", "GB/s", "Gop/s", "floor us");
  std::string text;
  JsonWriter json(&text);
  json.begin_array();
  for (const Type type : a.types) {
    const Weights weights(type, a.k, a.n, a.offset);
    for (const std::uint32_t m : a.rows) {
      const double ops = 2.0 * m * a.k * a.n;
      const double floor =
          std::max(weights.bytes / machine.read_gb_per_s, ops / peak_of(machine, a, type, m)) / 1e3;
      const auto series = measure(a, weights, m);
      for (std::size_t i = 0; i < series.size(); ++i) {
        const double us = series[i].quantile(0.5);
        std::printf("%-5s %5u  %-13s %6.2f %9.0f (%.0f..%.0f) %7.1f %7.0f %8.0f (%.1fx)\n",
                    simd::shape_of(type).name, m, a.tables[i]->name, series[0].quantile(0.5) / us,
                    us, series[i].quantile(0), series[i].quantile(1), weights.bytes / us / 1e3,
                    ops / us / 1e3, floor, us / floor);
        json.begin_object().key("type").value(simd::shape_of(type).name).key("rows").value(m);
        json.key("isa").value(a.tables[i]->name).key("us").value(us);
        json.key("floor_us").value(floor).end_object();
      }
      std::fflush(stdout);
    }
  }
  json.end_array();
  if (a.json) std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::run(pc::bench::parse(argc, argv));
}
