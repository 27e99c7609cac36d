// What does module reuse save, and how far from the machine's floor are we?
//
//   ttft_bench MODEL [--cached 2048] [--new 32] [--decode 16] [--repeat 5] [--threads 0]
//              [--backend PATH] [--json FILE]
//
// For one model: full prefill of the cached + new tokens; TTFT with the cached
// tokens in a mapped module, held already and by a schema that has yet to find and map its file;
// the attach alone; decoding at depth 0, greedy and drawn, and after the prompt (--decode 0: none);
// peak memory. Full and cached runs alternate, so that both meet the same noise; medians and ranges
// are shown, ratios first. The floors come from bandwidth and peak measured in this run:
// each step at least reads its weights and states once and does its
// multiply-adds. What a plug-in (--backend) computes on has a floor that is not measured here.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/parallel.h"
#include "bench/arguments.h"
#include "bench/floor.h"
#include "bench/runs.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, backend, json;
  std::uint32_t cached = 2048, fresh = 32, decoded = 16, repeat = 5, threads = 0;
  std::uint32_t n_threads() const { return threads ? threads : usable_threads(); }
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model = Arguments(
                "ttft_bench MODEL [--cached N] [--new N] [--decode N] [--repeat N] [--threads N] "
                "[--backend PATH] [--json FILE]")
                .number("--cached", &a.cached)
                .number("--new", &a.fresh)
                .number("--decode", &a.decoded)
                .number("--repeat", &a.repeat, 1)
                .number("--threads", &a.threads)
                .text("--backend", &a.backend)
                .text("--json", &a.json)
                .parse(argc, argv);
  return a;
}

double peak_memory_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// floor: 0 where there is none.
void row(const char* what, const Series& s, double floor, const char* unit) {
  if (s.values.empty()) return;
  std::printf("%-34s %9.2f %s   %9.2f .. %-9.2f", what, s.median(), unit, s.quantile(0),
              s.quantile(1));
  if (floor > 0)
    std::printf("  floor %9.2f  (%.1fx)", floor,
                std::strcmp(unit, "t/s") == 0 ? floor / s.median() : s.median() / floor);
  std::printf("\n");
}

// After the first; a drawn answer may end early.
double tokens_per_s(const SessionStats& s) {
  return 1e6 * (static_cast<double>(s.generated_tokens) - 1.0) /
         static_cast<double>(std::max<std::uint64_t>(s.decode_us, 1));
}

struct Figures {
  Series full, cached, attached, attach, ratio, decode_0, decode_drawn, decode_deep;
  double n_cached = 0, n_new = 0, peak_mib = 0;
};

Figures measure(const std::shared_ptr<const Engine>& engine, const Setting& a) {
  const std::string document =
      text_of_tokens(engine->tokenizer(), a.cached - (engine->text_encoder().bos ? 1 : 0));
  const std::string question = text_of_tokens(engine->tokenizer(), a.fresh);
  const std::string pml = "<schema name=\"b\">" + document + "</schema>";
  const std::string prompt = "<prompt schema=\"b\">" + question + "</prompt>";
  const std::string go = "<prompt schema=\"e\">Go</prompt>";
  const auto empty =
      must(LoadedSchema::parse(engine, "<schema name=\"e\"><module name=\"none\"/></schema>", ""));
  const auto schema = must(LoadedSchema::parse(engine, pml, ""));
  run(schema, prompt, false, 2);  // encodes; warms all paths
  SamplerOptions drawn;
  drawn.temperature = 0.8f;
  drawn.top_p = 0.95f;
  Figures f;
  for (std::uint32_t i = 0; i < a.repeat; ++i) {
    f.full.add(static_cast<double>(run(schema, prompt, true, 1).ttft_us) / 1e3);
    const SessionStats held = run(schema, prompt, false, 1 + a.decoded);
    f.cached.add(static_cast<double>(held.ttft_us) / 1e3);
    f.ratio.add(f.full.values.back() / f.cached.values.back());
    f.n_cached = static_cast<double>(held.cached_tokens);
    f.n_new = static_cast<double>(held.computed_tokens);
    if (a.decoded > 0) {
      f.decode_deep.add(tokens_per_s(held));
      f.decode_0.add(tokens_per_s(run(empty, go, false, 1 + a.decoded)));
      f.decode_drawn.add(tokens_per_s(run(empty, go, false, 1 + a.decoded, drawn)));
    }
    // Pins nothing yet: its look-up is the attach.
    const SessionStats found = run(must(LoadedSchema::parse(engine, pml, "")), prompt, false, 1);
    f.attached.add(static_cast<double>(found.ttft_us) / 1e3);
    f.attach.add(static_cast<double>(found.lookup_us) / 1e3);
  }
  f.peak_mib = peak_memory_mib();
  return f;
}

// The machine, where the CPU computes, and what each step costs on it at least; else 0.
struct Floors {
  std::optional<Machine> machine;
  double full_ms = 0, cached_ms = 0, decode_0 = 0, decode_deep = 0;
};

Floors floors_of(const Engine& engine, const Setting& a, const Figures& f) {
  if (!a.backend.empty()) return {};
  const Machine machine = measure_machine(a.n_threads());
  const Work w = work_of(engine);
  return {machine, floor_of(w, machine, f.n_cached + f.n_new, 0).ms(),
          floor_of(w, machine, f.n_new, f.n_cached).ms(), 1e3 / floor_of(w, machine, 1, 8).ms(),
          1e3 / floor_of(w, machine, 1, f.n_cached + f.n_new).ms()};
}

void print(const Setting& a, const Engine& engine, const Figures& f, const Floors& floors) {
  if (floors.machine)
    std::printf("%s, %u threads; read %.1f GB/s, f32 %.0f, bf16 %.0f GFLOP/s, int8 %.0f GOP/s\n",
                floors.machine->cpu.c_str(), a.n_threads(), floors.machine->read_gb_per_s,
                floors.machine->f32_gflops, floors.machine->bf16_gflops, floors.machine->int8_gops);
  else
    std::printf("computed by the plug-in \"%s\", %s\n", engine.backend().name(), a.backend.c_str());
  std::printf("%s: %.0f cached + %.0f new tokens, %u repetitions: median, range, floor\n\n",
              a.model.c_str(), f.n_cached, f.n_new, a.repeat);
  std::printf("full prefill / cached TTFT         %9.1f x     %9.1f .. %.1f\n", f.ratio.median(),
              f.ratio.quantile(0), f.ratio.quantile(1));
  row("full prefill, TTFT", f.full, floors.full_ms, "ms ");
  row("cached, TTFT", f.cached, floors.cached_ms, "ms ");
  row("cached, TTFT, attach included", f.attached, floors.cached_ms, "ms ");
  row("attach of the stored module", f.attach, 0, "ms ");
  row("decode at depth 0", f.decode_0, floors.decode_0, "t/s");
  row("decode at depth 0, drawn", f.decode_drawn, floors.decode_0, "t/s");
  row("decode after the prompt", f.decode_deep, floors.decode_deep, "t/s");
  std::printf("peak memory, mapped files included %9.0f MiB\n", f.peak_mib);
}

std::string as_json(const Setting& a, const Engine& engine, const Figures& f,
                    const Floors& floors) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object()
      .key("model")
      .value(std::filesystem::path(a.model).filename().string())
      .key("threads")
      .value(a.n_threads());
  json.key("backend").value(engine.backend().name());
  if (const std::optional<Machine>& m = floors.machine) {
    json.key("read_gb_per_s").value(m->read_gb_per_s).key("f32_gflops").value(m->f32_gflops);
    json.key("bf16_gflops").value(m->bf16_gflops).key("int8_gops").value(m->int8_gops);
    json.key("full_floor_ms").value(floors.full_ms);
    json.key("cached_floor_ms").value(floors.cached_ms);
  }
  json.key("cached_tokens").value(f.n_cached).key("new_tokens").value(f.n_new);
  write(json.key("ratio"), f.ratio);
  write(json.key("full_ms"), f.full);
  write(json.key("cached_ms"), f.cached);
  write(json.key("attached_ms"), f.attached);
  write(json.key("attach_ms"), f.attach);
  write(json.key("decode_0"), f.decode_0);
  write(json.key("decode_drawn"), f.decode_drawn);
  write(json.key("decode_deep"), f.decode_deep);
  json.key("peak_mib").value(f.peak_mib).end_object();
  return text;
}

int main_checked(const Setting& a) {
  const ScratchDir scratch;
  const auto engine =
      must(Engine::open(engine_options(a.model, scratch.path(), a.threads, a.backend)));
  const Figures figures = measure(engine, a);
  const Floors floors = floors_of(*engine, a, figures);
  print(a, *engine, figures, floors);
  if (!a.json.empty()) std::ofstream(a.json) << as_json(a, *engine, figures, floors) << "\n";
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(pc::bench::parse(argc, argv));
}
