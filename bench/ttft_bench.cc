// What does module reuse save, and how far from the machine's floor are we?
//
//   ttft_bench MODEL [--cached 2048] [--new 32] [--repeat 5] [--threads 0] [--json FILE]
//
// For one model: full prefill of the cached + new tokens; TTFT with the cached
// tokens in a mapped module; the attach alone (finding and mapping the file);
// decoding at depth 0, greedy and drawn, and after the prompt; peak memory. Full and cached runs
// alternate, so that both meet the same noise; medians and ranges are shown,
// ratios first. The floors come from bandwidth and peak measured in this run:
// each step at least reads its weights and states once and does its
// multiply-adds.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/parallel.h"
#include "bench/arguments.h"
#include "bench/floor.h"
#include "bench/runs.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, json;
  std::uint32_t cached = 2048, fresh = 32, repeat = 5, threads = 0;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model =
      Arguments("ttft_bench MODEL [--cached N] [--new N] [--repeat N] [--threads N] [--json FILE]")
          .number("--cached", &a.cached)
          .number("--new", &a.fresh)
          .number("--repeat", &a.repeat, 1)
          .number("--threads", &a.threads)
          .text("--json", &a.json)
          .parse(argc, argv);
  return a;
}

double peak_memory_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void row(const char* what, const Series& s, double floor, const char* unit) {
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

int main_checked(const Setting& a) {
  const std::uint32_t threads = a.threads ? a.threads : usable_threads();
  const ScratchDir scratch;
  EngineOptions options;
  options.model_path = a.model;
  options.cache_dir = scratch.path();
  options.n_threads = a.threads;
  const auto engine = must(Engine::open(options));
  const std::string document =
      text_of_tokens(engine->tokenizer(), a.cached - (engine->text_encoder().bos ? 1 : 0));
  const std::string question = text_of_tokens(engine->tokenizer(), a.fresh);
  const std::string pml = "<schema name=\"b\">" + document + "</schema>";
  const std::string prompt = "<prompt schema=\"b\">" + question + "</prompt>";
  const auto empty =
      must(LoadedSchema::parse(engine, "<schema name=\"e\"><module name=\"none\"/></schema>", ""));
  const auto schema = must(LoadedSchema::parse(engine, pml, ""));
  constexpr std::uint32_t kDecoded = 17;

  run(schema, prompt, false, 2);  // encodes; warms all paths
  SamplerOptions drawn;
  drawn.temperature = 0.8f;
  drawn.top_p = 0.95f;
  Series full, cached, attach, ratio, decode_0, decode_drawn, decode_deep;
  SessionStats last;
  for (std::uint32_t i = 0; i < a.repeat; ++i) {
    full.add(static_cast<double>(run(schema, prompt, true, 1).ttft_us) / 1e3);
    last = run(schema, prompt, false, kDecoded);
    cached.add(static_cast<double>(last.ttft_us) / 1e3);
    ratio.add(full.values.back() / cached.values.back());
    decode_deep.add(tokens_per_s(last));
    const std::string go = "<prompt schema=\"e\">Go</prompt>";
    decode_0.add(tokens_per_s(run(empty, go, false, kDecoded)));
    decode_drawn.add(tokens_per_s(run(empty, go, false, kDecoded, drawn)));
    const auto again =
        must(LoadedSchema::parse(engine, pml, ""));  // pins nothing yet: its look-up is the attach
    attach.add(static_cast<double>(run(again, prompt, false, 1).lookup_us) / 1e3);
  }

  const double peak_mib =
      peak_memory_mib();  // before the machine's own measurement takes its 512 MiB
  const Machine machine = measure_machine(threads);
  const Work w = work_of(*engine);
  const double n_cached = static_cast<double>(last.cached_tokens),
               n_new = static_cast<double>(last.computed_tokens);
  std::printf("%s, %u threads; read %.1f GB/s, f32 %.0f, bf16 %.0f GFLOP/s, int8 %.0f GOP/s\n",
              machine.cpu.c_str(), threads, machine.read_gb_per_s, machine.f32_gflops,
              machine.bf16_gflops, machine.int8_gops);
  std::printf("%s: %.0f cached + %.0f new tokens, %u repetitions: median, range, floor\n\n",
              a.model.c_str(), n_cached, n_new, a.repeat);
  std::printf("full prefill / cached TTFT         %9.1f x     %9.1f .. %.1f\n", ratio.median(),
              ratio.quantile(0), ratio.quantile(1));
  row("full prefill, TTFT", full, floor_of(w, machine, n_cached + n_new, 0).ms(), "ms ");
  row("cached, TTFT", cached, floor_of(w, machine, n_new, n_cached).ms(), "ms ");
  row("attach of the stored module", attach, 0, "ms ");
  row("decode at depth 0", decode_0, 1e3 / floor_of(w, machine, 1, 8).ms(), "t/s");
  row("decode at depth 0, drawn", decode_drawn, 1e3 / floor_of(w, machine, 1, 8).ms(), "t/s");
  row("decode after the prompt", decode_deep, 1e3 / floor_of(w, machine, 1, n_cached + n_new).ms(),
      "t/s");
  std::printf("peak memory, mapped files included %9.0f MiB\n", peak_mib);
  if (!a.json.empty()) {
    std::string text;
    JsonWriter json(&text);
    json.begin_object()
        .key("model")
        .value(std::filesystem::path(a.model).filename().string())
        .key("threads")
        .value(threads);
    json.key("read_gb_per_s").value(machine.read_gb_per_s);
    json.key("f32_gflops").value(machine.f32_gflops);
    json.key("bf16_gflops").value(machine.bf16_gflops).key("int8_gops").value(machine.int8_gops);
    json.key("cached_tokens").value(n_cached).key("new_tokens").value(n_new);
    json.key("full_floor_ms").value(floor_of(w, machine, n_cached + n_new, 0).ms());
    json.key("cached_floor_ms").value(floor_of(w, machine, n_new, n_cached).ms());
    write(json.key("ratio"), ratio);
    write(json.key("full_ms"), full);
    write(json.key("cached_ms"), cached);
    write(json.key("attach_ms"), attach);
    write(json.key("decode_0"), decode_0);
    write(json.key("decode_drawn"), decode_drawn);
    write(json.key("decode_deep"), decode_deep);
    json.key("peak_mib").value(peak_mib).end_object();
    std::ofstream(a.json) << text << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(pc::bench::parse(argc, argv));
}
