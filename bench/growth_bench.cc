// How does cached TTFT grow with the cached tokens, and how far is its slope from the floor's?
//
//   growth_bench MODEL [--sizes 1024,4096,16384,65536] [--new 1,64] [--repeat 5]
//                [--threads 0] [--backend PATH] [--json FILE]
//
// For each number of cached and of new tokens: TTFT with the cached tokens in
// mapped modules of at most 4,096 tokens each. Their files hold random states,
// published under the right keys: computing 65,536 tokens would take minutes,
// and speed does not depend on what states say. The new tokens' own cost is
// the same at all sizes, so the slope says what a cached token costs. Its
// floor is the larger of bytes over bandwidth and operations over peak. Medians
// and ranges; sizes take turns. Bandwidth is measured at the beginning of every turn, and
// its median taken: on a shared machine it doubles and halves within a minute. What a plug-in
// (--backend) computes on has a floor that is not measured here: its lines have none.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/floor.h"
#include "bench/runs.h"
#include "modules/module_image.h"

namespace pc::bench {
namespace {

constexpr std::uint32_t kModuleTokens = 4096;

struct Arguments {
  std::string model, backend, json;
  std::vector<std::uint32_t> sizes{1024, 2048, 4096, 8192, 16384, 32768, 65536}, fresh{1, 64};
  std::uint32_t repeat = 5, threads = 0;
};

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::vector<std::uint32_t> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');)
    all.push_back(static_cast<std::uint32_t>(std::max(1, std::atoi(one.c_str()))));
  return all;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (arg[0] != '-' && a.model.empty()) {
      a.model = arg;
      continue;
    }
    ++i;
    if (arg == "--sizes")
      a.sizes = numbers(value);
    else if (arg == "--new")
      a.fresh = numbers(value);
    else if (arg == "--repeat")
      a.repeat = numbers(value).empty() ? 0 : numbers(value).front();
    else if (arg == "--threads")
      a.threads = static_cast<std::uint32_t>(std::atoi(value.c_str()));
    else if (arg == "--backend")
      a.backend = value;
    else if (arg == "--json")
      a.json = value;
    else
      die("unknown argument " + arg);
  }
  if (a.model.empty() || a.sizes.empty() || a.fresh.empty() || a.repeat == 0)
    die("usage: growth_bench MODEL [--sizes N,N] [--new N,N] [--repeat N] [--threads N] "
        "[--backend PATH] [--json FILE]");
  std::sort(a.sizes.begin(), a.sizes.end());
  return a;
}

std::uint32_t threads_of(const Arguments& a) {
  return a.threads ? a.threads : usable_threads();
}

// Values of bf16 between 0.5 and 1, of either sign.
void fill_plane(std::byte* plane, std::size_t n_bytes) {
  static const std::vector<std::uint16_t> drawn = [] {
    std::vector<std::uint16_t> values(1 << 20);
    std::mt19937 random(1);
    for (std::uint16_t& v : values) v = static_cast<std::uint16_t>((random() & 0x807F) | 0x3F00);
    return values;
  }();
  for (std::size_t at = 0; at < n_bytes;) {
    const std::size_t n = std::min(n_bytes - at, drawn.size() * 2);
    std::memcpy(plane + at, drawn.data(), n);
    at += n;
  }
}

void publish_random(const LoadedSchema& schema, const SchemaModule& module) {
  const KvGeometry g = schema.engine().geometry();
  ModuleImage image = must(ModuleImage::create(module.identity));
  for (std::uint32_t run = 0; run < image.n_runs(); ++run) {
    const KvPlanes p = image.planes(run);
    for (std::uint32_t layer = 0; layer < g.n_layers(); ++layer) {
      const std::size_t plane_bytes = kv_blocks(p.n_tokens) * g.head(layer).block_bytes();
      for (std::uint32_t head = 0; head < g.n_kv_heads(layer); ++head) {
        fill_plane(p.keys(layer, head), plane_bytes);
        fill_plane(p.values(layer, head), plane_bytes);
      }
    }
  }
  must(schema.engine().store()->publish(must(std::move(image).seal())));
}

// Modules of one size, each with text of its own; a prompt's are its first ones.
struct Cached {
  std::shared_ptr<LoadedSchema> schema;
  std::string imports;
};

Cached cached_modules(const std::shared_ptr<const Engine>& engine, std::uint32_t n_tokens) {
  Cached cached;
  std::string pml = "<schema name=\"g\" attend=\"self\">";
  for (std::uint32_t done = 0, i = 0; done < n_tokens; done += kModuleTokens, ++i) {
    const std::string name = "m" + std::to_string(i);
    const std::uint32_t n = std::min(kModuleTokens, n_tokens - done);
    pml += "<module name=\"" + name + "\">" + text_of_tokens(engine->tokenizer(), n, 1 + i) +
           "</module>";
    cached.imports += "<" + name + "/>";
  }
  cached.schema = must(LoadedSchema::parse(engine, pml + "</schema>", ""));
  for (const auto& module : cached.schema->modules()) {
    bool held = false;
    if (!cached.schema->peek(*module, &held)) publish_random(*cached.schema, *module);
  }
  return cached;
}

struct Point {
  double cached = 0, fresh = 0;
  Series ttft_ms;
  Floor floor;  // 0 where a plug-in computes
};

using Points = std::vector<std::vector<Point>>;  // [new][size]

// read: gets the bandwidth of every turn, where the CPU computes.
Points measure(const std::shared_ptr<const Engine>& engine, const Arguments& a, Series& read) {
  std::optional<ReadProbe> probe;
  if (a.backend.empty()) probe.emplace(threads_of(a));
  std::vector<Cached> cached;
  for (const std::uint32_t size : a.sizes) cached.push_back(cached_modules(engine, size));
  Points points(a.fresh.size(), std::vector<Point>(a.sizes.size()));
  for (std::uint32_t turn = 0; turn <= a.repeat; ++turn) {  // the first warms up
    const double gb_per_s = probe ? probe->gb_per_s(3) : 0;
    if (probe && turn > 0) read.add(gb_per_s);
    for (std::size_t f = 0; f < a.fresh.size(); ++f) {
      const std::string text = text_of_tokens(engine->tokenizer(), a.fresh[f]);
      for (std::size_t s = 0; s < a.sizes.size(); ++s) {
        const std::string prompt = "<prompt schema=\"g\">" + cached[s].imports + text + "</prompt>";
        const SessionStats stats = run(cached[s].schema, prompt, false, 1);
        if (stats.modules_encoded > 0) die("a module was computed, not found");
        Point& p = points[f][s];
        p.cached = static_cast<double>(stats.cached_tokens);
        p.fresh = static_cast<double>(stats.computed_tokens);
        if (turn > 0) p.ttft_ms.add(static_cast<double>(stats.ttft_us) / 1e3);
      }
    }
  }
  return points;
}

// Microseconds a cached token, between the smallest and the largest size.
struct Slope {
  double measured = 0, floor = 0;
};

Slope slope_of(const std::vector<Point>& line) {
  const Point &low = line.front(), &high = line.back();
  const double n = std::max(1.0, high.cached - low.cached);
  return {1e3 * (high.ttft_ms.median() - low.ttft_ms.median()) / n,
          1e3 * (high.floor.ms() - low.floor.ms()) / n};
}

void print(const Points& points) {
  for (const std::vector<Point>& line : points) {
    const Slope slope = slope_of(line);
    const bool has_floor = line.front().floor.ms() > 0;
    std::printf("\n%.0f new tokens: %.3f us a cached token", line.front().fresh, slope.measured);
    if (has_floor) std::printf(", floor %.3f us: %.2fx", slope.floor, slope.measured / slope.floor);
    std::printf("\n%8s %10s %24s", "cached", "TTFT ms", "range");
    if (has_floor) std::printf(" %12s %12s %8s", "memory ms", "compute ms", "x floor");
    std::printf("\n");
    for (const Point& p : line) {
      std::printf("%8.0f %10.2f %11.2f .. %-9.2f", p.cached, p.ttft_ms.median(),
                  p.ttft_ms.quantile(0), p.ttft_ms.quantile(1));
      if (has_floor)
        std::printf(" %12.2f %12.2f %7.2fx", p.floor.memory_ms, p.floor.compute_ms,
                    p.ttft_ms.median() / p.floor.ms());
      std::printf("\n");
    }
  }
}

// m: null where a plug-in computes; then there are no floors either.
std::string as_json(const Arguments& a, const Engine& engine, const Machine* m,
                    const Points& points) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object()
      .key("model")
      .value(std::filesystem::path(a.model).filename().string())
      .key("threads")
      .value(threads_of(a));
  json.key("backend").value(engine.backend().name());
  json.key("kv_bytes").value(work_of(engine).kv_bytes);  // of a cached token
  if (m) {
    json.key("read_gb_per_s").value(m->read_gb_per_s).key("f32_gflops").value(m->f32_gflops);
    json.key("bf16_gflops").value(m->bf16_gflops).key("int8_gops").value(m->int8_gops);
  }
  json.key("lines").begin_array();
  for (const std::vector<Point>& line : points) {
    const Slope slope = slope_of(line);
    json.begin_object().key("new_tokens").value(line.front().fresh);
    json.key("slope_us").value(slope.measured);
    if (m) json.key("floor_slope_us").value(slope.floor);
    json.key("points").begin_array();
    for (const Point& p : line) {
      json.begin_object().key("cached_tokens").value(p.cached);
      if (m) json.key("memory_floor_ms").value(p.floor.memory_ms);
      if (m) json.key("compute_floor_ms").value(p.floor.compute_ms);
      write(json.key("ttft_ms"), p.ttft_ms);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return text;
}

// Floors of the CPU's points, from what the machine can do now.
Machine add_floors(const Engine& engine, const Arguments& a, const Series& read, Points& points) {
  Machine machine = measure_machine(threads_of(a));
  machine.read_gb_per_s = read.median();
  const Work work = work_of(engine);
  for (std::vector<Point>& line : points)
    for (Point& p : line) p.floor = floor_of(work, machine, p.fresh, p.cached);
  std::printf(
      "%s, %u threads; read %.1f (%.1f .. %.1f) GB/s, f32 %.0f, bf16 %.0f GFLOP/s, int8 %.0f "
      "GOP/s\n",
      machine.cpu.c_str(), machine.threads, machine.read_gb_per_s, read.quantile(0),
      read.quantile(1), machine.f32_gflops, machine.bf16_gflops, machine.int8_gops);
  return machine;
}

int main_checked(const Arguments& a) {
  const ScratchDir scratch;
  const auto engine =
      must(Engine::open(engine_options(a.model, scratch.path(), a.threads, a.backend)));
  if (engine->context_tokens() < a.sizes.back() + a.fresh.back() + 8)
    die(a.model + " has a context of " + std::to_string(engine->context_tokens()) +
        " tokens: make a file of a longer one with make_random_checkpoint.py --context");
  Series read;
  Points points = measure(engine, a, read);
  std::optional<Machine> machine;
  if (a.backend.empty()) machine = add_floors(*engine, a, read, points);
  print(points);
  if (!a.json.empty())
    std::ofstream(a.json) << as_json(a, *engine, machine ? &*machine : nullptr, points) << "\n";
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(pc::bench::parse(argc, argv));
}
