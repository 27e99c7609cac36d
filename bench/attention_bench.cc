// How fast does attention read cached keys and values, and how far is that from the floor?
//
//   attention_bench [--shape 1.1B|Llama-3.2-1B|7B] [--new N] [--cached N] [--isa a,b]
//                   [--kv bf16,q8] [--threads 0] [--repeat 7] [--json]
//
// For each shape, number of new tokens and number of cached tokens: one layer's
// attention of the new tokens over a cached segment and over themselves, as
// runtime/cpu/attention/attention.h does it. Layers are as many as fill 256 MiB, so that states
// come from memory, as in a model. With several instruction sets (--isa, values
// of PC_ISA) or types of states (--kv; default bf16) their runs alternate and
// ratios to the first are shown. The floor is the larger of bytes over bandwidth
// and operations over the peak of the multiplier that is best at the states'
// type here, both measured in this run. With
// --threads 1 it is CPU time that is measured: what others run does not enter.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "bench/machine.h"
#include "runtime/cpu/attention/attention.h"
#include "runtime/cpu/states/kv_q4.h"
#include "runtime/cpu/states/kv_row.h"
#include "runtime/json/json_writer.h"

namespace pc::bench {
namespace {

struct Shape {
  const char* name;
  std::uint32_t n_heads, n_kv_heads, head_dim, n_layers;
};
constexpr Shape kShapes[] = {
    {"1.1B", 32, 4, 64, 22}, {"Llama-3.2-1B", 32, 8, 64, 16}, {"7B", 32, 32, 128, 32}};

struct Arguments {
  std::vector<Shape> shapes{std::begin(kShapes), std::end(kShapes)};
  std::vector<std::uint32_t> fresh{1, 16, 64, 256}, cached{1024, 4096, 16384};
  std::vector<const simd::Kernels*> tables;
  std::vector<KvType> types{KvType::kBf16};
  std::uint32_t threads = 0, repeat = 7;
  bool json = false;
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "attention_bench: %s\n", message.c_str());
  std::exit(1);
}

std::vector<const simd::Kernels*> tables_of(const std::string& names) {
  std::vector<const simd::Kernels*> found;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    ::setenv("PC_ISA", names.substr(at, comma - at).c_str(), 1);
    found.push_back(simd::selected_kernels());
    if (!found.back()) die(names.substr(at, comma - at) + " does not run here");
    at = comma + 1;
  }
  return found;
}

std::vector<KvType> types_of(const std::string& names) {
  std::vector<KvType> found;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, comma - at);
    const std::size_t known = found.size();
    for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kQ4})
      if (name == kv_type_name(type)) found.push_back(type);
    if (found.size() == known) die("--kv takes f32, bf16, q8 and q4, not '" + name + "'");
    at = comma + 1;
  }
  return found;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--json") {
      a.json = true;
      continue;
    }
    if (i + 1 == argc) die(arg + " wants a value, or is unknown");
    const char* value = argv[++i];
    const auto number = static_cast<std::uint32_t>(std::atoi(value));
    if (arg == "--shape")
      std::erase_if(a.shapes, [&](const Shape& s) { return std::strcmp(s.name, value) != 0; });
    else if (arg == "--new")
      a.fresh = {std::max(1u, number)};
    else if (arg == "--cached")
      a.cached = {std::max(1u, number)};
    else if (arg == "--isa")
      a.tables = tables_of(value);
    else if (arg == "--kv")
      a.types = types_of(value);
    else if (arg == "--threads")
      a.threads = number;
    else if (arg == "--repeat")
      a.repeat = std::max(1u, number);
    else
      die("unknown argument " + arg);
  }
  if (a.tables.empty()) a.tables.push_back(simd::selected_kernels());
  if (!a.tables[0]) die("PC_ISA names an instruction set that does not run here");
  if (a.shapes.empty()) die("unknown shape");
  return a;
}

// Keys and values of all layers: one cached segment and the new tokens' own.
struct States {
  AlignedBuffer<std::byte> data;
  KvGeometry kinds[2];
  KvSegment segments[2];
  std::uint32_t n_layers;
  double layer_bytes;

  States(const Shape& shape, KvType type, std::uint32_t cached, std::uint32_t fresh) {
    const KvType types[2] = {type, fresh_type(type)};
    const std::uint32_t blocks[2] = {kv_blocks(cached), kv_blocks(fresh)};
    std::size_t layer = 0;
    for (int s = 0; s < 2; ++s)
      layer += KvGeometry(1, shape.n_kv_heads, shape.head_dim, types[s]).state_bytes(blocks[s]);
    layer_bytes = static_cast<double>(layer);
    n_layers = static_cast<std::uint32_t>(
        std::clamp<std::size_t>((std::size_t{256} << 20) / layer, 1, shape.n_layers));
    data = AlignedBuffer<std::byte>(layer * n_layers);
    std::byte* bytes = data.data();
    for (int s = 0; s < 2; ++s) {
      kinds[s] = KvGeometry(n_layers, shape.n_kv_heads, shape.head_dim, types[s]);
      const std::size_t n_bytes = kinds[s].state_bytes(blocks[s]);
      fill(kinds[s].head(0), {bytes, n_bytes});
      segments[s] = {{bytes, &kinds[s], blocks[s], 0},
                     0,
                     s ? fresh : cached,
                     s ? static_cast<std::int32_t>(cached) : 0,
                     s ? static_cast<std::int32_t>(cached) : 0};
      bytes += n_bytes;
    }
  }

  // Pairs of a block of keys and one of values, one after the other: which is which
  // matters to nobody here, as long as both are sound.
  void fill(KvHead one, std::span<std::byte> states) {
    std::uint32_t state = 1;
    const std::size_t block = one.block_bytes(), hd = one.dims;
    std::vector<float> keys(kKvBlockTokens * hd), values(keys.size());
    for (std::size_t at = 0; at + 2 * block <= states.size(); at += 2 * block) {
      for (auto* plane : {&keys, &values})
        for (float& x : *plane) {  // up to 2, either sign
          state = state * 1664525u + 1013904223u;
          x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-30f;
        }
      std::byte* const to = states.data() + at;
      if (one.type == KvType::kQ4)
        write_q4_block(one.dims, kKvBlockTokens, keys.data(), values.data(), to, to + block);
      for (std::uint32_t t = 0; one.type != KvType::kQ4 && t < kKvBlockTokens; ++t)
        write_kv_row(one, t, keys.data() + t * hd, values.data() + t * hd, to, to + block);
    }
  }
};

struct Series {
  std::vector<double> values;
  double layer_bytes = 0;
  double quantile(double q) const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
};

// Microseconds a layer, for each type and table; runs alternate.
std::vector<Series> measure(const Arguments& a, const Shape& shape, std::uint32_t cached,
                            std::uint32_t fresh) {
  const std::uint32_t threads = Parallel(a.threads).n_threads();
  std::vector<std::unique_ptr<States>> states;
  for (const KvType type : a.types)
    states.push_back(std::make_unique<States>(shape, type, cached, fresh));
  std::vector<double> inv_freq(shape.head_dim / 2);
  for (std::size_t i = 0; i < inv_freq.size(); ++i)
    inv_freq[i] = std::pow(1e4, -2.0 * static_cast<double>(i) / shape.head_dim);
  const pc_rope rope{shape.head_dim, 0, 1.0f, inv_freq.data()};
  std::uint32_t most_layers = 0;
  for (const auto& s : states) most_layers = std::max(most_layers, s->n_layers);
  std::vector<pc_layer> layers(most_layers);
  for (pc_layer& layer : layers) {
    layer.n_heads = shape.n_heads;
    layer.n_kv_heads = shape.n_kv_heads;
    layer.head_dim = shape.head_dim;
    layer.attn_scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    layer.states = static_cast<std::uint32_t>(&layer - layers.data());
    layer.wk.data = &rope;  // it has keys
  }
  pc_model_desc desc{};
  desc.n_layers = most_layers;
  desc.n_ropes = 1;
  desc.ropes = &rope;
  desc.layers = layers.data();

  std::vector<std::int32_t> positions(fresh);
  for (std::uint32_t i = 0; i < fresh; ++i) positions[i] = static_cast<std::int32_t>(cached + i);
  const std::size_t width = std::size_t{shape.n_heads} * shape.head_dim;
  std::vector<float> q(fresh * width), out(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i % 7919)) * 2.0f;

  std::vector<std::unique_ptr<Attention>> attention;
  for (std::size_t i = 0; i < a.types.size(); ++i)
    for (const simd::Kernels* table : a.tables)
      attention.push_back(std::make_unique<Attention>(desc, *table, Parallel(a.threads), fresh));
  std::vector<Series> result(attention.size());
  for (std::uint32_t round = 0; round <= a.repeat; ++round) {
    for (std::size_t i = 0; i < attention.size(); ++i) {
      const States& s = *states[i / a.tables.size()];
      const double start = now_seconds(threads);
      const TimelineRows rows{0, fresh, s.segments};
      attention[i]->plan(positions, {&rows, 1});
      for (std::uint32_t l = 0; l < s.n_layers; ++l) attention[i]->run(l, q.data(), out.data());
      const double us = 1e6 * (now_seconds(threads) - start);
      result[i].layer_bytes = s.layer_bytes;
      if (round != 0) result[i].values.push_back(us / s.n_layers);  // the first warms up
    }
  }
  return result;
}

}  // namespace

int main_checked(const Arguments& a) {
  const std::uint32_t threads = Parallel(a.threads).n_threads();
  const Machine machine = measure_machine(threads);
  std::printf(
      "%s, %u threads; read %.1f GB/s, f32 %.0f GFLOP/s, bf16 %.0f GFLOP/s, int8 %.0f GOP/s\n\n",
      machine.cpu.c_str(), threads, machine.read_gb_per_s, machine.f32_gflops, machine.bf16_gflops,
      machine.int8_gops);
  std::printf("%-13s %5s %7s  %-4s %-13s %6s %20s %8s %8s %10s\n", "shape", "new", "cached", "kv",
              "isa", "ratio", "us a layer (range)", "GB/s", "GFLOP/s", "floor us");
  std::string text;
  JsonWriter json(&text);
  json.begin_array();
  for (const Shape& shape : a.shapes) {
    for (const std::uint32_t fresh : a.fresh) {
      for (const std::uint32_t cached : a.cached) {
        const double pairs = fresh * (cached + (fresh + 1) / 2.0);
        const double flop = 4.0 * pairs * shape.n_heads * shape.head_dim;
        const std::vector<Series> series = measure(a, shape, cached, fresh);
        for (std::size_t i = 0; i < series.size(); ++i) {
          const KvType type = a.types[i / a.tables.size()];
          const char* isa = a.tables[i % a.tables.size()]->name;
          const double us = series[i].quantile(0.5), bytes = series[i].layer_bytes;
          const double peak = type == KvType::kQ8 ? machine.best_int8() : machine.best_bf16();
          const double floor = std::max(bytes / machine.read_gb_per_s, flop / peak) / 1e3;
          std::printf(
              "%-13s %5u %7u  %-4s %-13s %6.2f %8.0f (%.0f..%.0f) %8.1f %8.0f %7.0f (%.1fx)\n",
              shape.name, fresh, cached, kv_type_name(type), isa, series[0].quantile(0.5) / us, us,
              series[i].quantile(0), series[i].quantile(1), bytes / us / 1e3, flop / us / 1e3,
              floor, us / floor);
          json.begin_object().key("shape").value(shape.name).key("new").value(fresh);
          json.key("cached")
              .value(cached)
              .key("kv")
              .value(kv_type_name(type))
              .key("isa")
              .value(isa);
          json.key("us").value(us).key("floor_us").value(floor).end_object();
        }
        std::fflush(stdout);
      }
    }
  }
  json.end_array();
  if (a.json) std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(pc::bench::parse(argc, argv));
}
