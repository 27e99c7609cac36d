// What does module reuse save, and how far from the machine's floor are we?
//
//   ttft_bench MODEL [--cached 2048] [--new 32] [--repeat 5] [--threads 0] [--json]
//
// For one model: full prefill of the cached + new tokens; TTFT with the cached
// tokens in a mapped module; the attach alone (finding and mapping the file);
// decoding at depth 0 and after the prompt; peak memory. Full and cached runs
// alternate, so that both meet the same noise; medians and ranges are shown,
// ratios first. The floors come from bandwidth and peak measured in this run:
// each step at least reads its weights and states once and does its
// multiply-adds.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "runtime/engine.h"
#include "runtime/json_writer.h"
#include "runtime/loaded_schema.h"
#include "runtime/parallel.h"
#include "runtime/session.h"

namespace pc::bench {
namespace {

struct Arguments {
  std::string model;
  std::uint32_t cached = 2048, fresh = 32, repeat = 5, threads = 0;
  bool json = false;
};

struct Series {
  std::vector<double> values;
  void add(double v) { values.push_back(v); }
  double quantile(double q) const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
  double median() const { return quantile(0.5); }
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "ttft_bench: %s\n", message.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) die(result.error().message);
  return std::move(result).value();
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto number = [&] {
      return i + 1 < argc ? static_cast<std::uint32_t>(std::atoi(argv[++i])) : 0u;
    };
    if (arg == "--cached")
      a.cached = number();
    else if (arg == "--new")
      a.fresh = number();
    else if (arg == "--repeat")
      a.repeat = std::max(1u, number());
    else if (arg == "--threads")
      a.threads = number();
    else if (arg == "--json")
      a.json = true;
    else if (a.model.empty() && arg[0] != '-')
      a.model = arg;
    else
      die("unknown argument " + arg);
  }
  if (a.model.empty())
    die("which model? usage: ttft_bench MODEL [--cached N] [--new N] [--repeat N] [--threads N] "
        "[--json]");
  return a;
}

// Words that tokenise to at least n tokens, cut word by word to the fewest.
std::string text_of_tokens(const Tokenizer& tokenizer, std::uint32_t n) {
  std::string text;
  for (std::uint32_t word = 0, step = n; step != 0;) {
    std::string longer = text;
    for (std::uint32_t i = 0; i < step; ++i)
      longer += (longer.empty() ? "w" : " w") + std::to_string((word + i) * 7919 % 1000);
    if (must(tokenizer.encode_run(longer)).size() <= n) {
      text = longer;
      word += step;
    } else {
      step /= 2;
    }
  }
  return text;
}

// One generation of `tokens` tokens; stats by value.
SessionStats run(const std::shared_ptr<LoadedSchema>& schema, const std::string& prompt,
                 bool no_reuse, std::uint32_t tokens) {
  SessionOptions o;
  o.max_tokens = tokens;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, prompt)), o));
  while (must(session->next())) {
  }
  return session->stats();
}

struct Work {
  double weight_bytes = 0, linear_macs_per_token = 0, kv_bytes_per_token = 0,
         attention_macs_per_pair = 0;
  bool bf16 = false;
};

// What one token costs at least: every matrix once, and the states it sees.
Work work_of(const Engine& engine) {
  const pc_model_desc& d = engine.model().desc;
  Work w;
  const auto add = [&](const pc_tensor& t) {
    w.linear_macs_per_token += static_cast<double>(t.rows) * t.cols;
    w.weight_bytes += static_cast<double>(t.rows) * t.cols * (t.dtype == PC_DTYPE_F32 ? 4 : 2);
  };
  for (std::uint32_t l = 0; l < d.n_layers; ++l) {
    for (const pc_tensor* t : {&d.layers[l].wq, &d.layers[l].wk, &d.layers[l].wv, &d.layers[l].wo,
                               &d.layers[l].w_gate, &d.layers[l].w_up, &d.layers[l].w_down})
      add(*t);
  }
  const double body = w.linear_macs_per_token;
  add(d.lm_head);  // once a step, not once a token
  w.linear_macs_per_token = body;
  w.kv_bytes_per_token = static_cast<double>(engine.geometry().state_bytes(1)) / kKvBlockTokens;
  w.attention_macs_per_pair = 2.0 * d.n_layers * d.n_heads * d.head_dim;
  w.bf16 = d.layers[0].wq.dtype == PC_DTYPE_BF16;
  return w;
}

// Milliseconds of n new tokens over `depth` present ones, memory and compute perfectly overlapped.
double floor_ms(const Work& w, const Machine& m, double n, double depth) {
  const double bytes = w.weight_bytes + w.kv_bytes_per_token * depth;
  const double linear =
      2.0 * w.linear_macs_per_token * n /
      ((w.bf16 && m.bf16_gflops > 0 && n > 8 ? m.bf16_gflops : m.f32_gflops) * 1e9);
  const double attention =
      2.0 * w.attention_macs_per_pair * n * (depth + n / 2) / (m.f32_gflops * 1e9);
  return 1e3 * std::max(bytes / (m.read_gb_per_s * 1e9), linear + attention);
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

int main_checked(const Arguments& a) {
  const std::uint32_t threads = a.threads ? a.threads : usable_threads();
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / ("ttft_bench_" + std::to_string(::getpid()));
  EngineOptions options;
  options.model_path = a.model;
  options.cache_dir = cache.string();
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
  Series full, cached, attach, ratio, decode_0, decode_deep;
  SessionStats last;
  for (std::uint32_t i = 0; i < a.repeat; ++i) {
    full.add(static_cast<double>(run(schema, prompt, true, 1).ttft_us) / 1e3);
    last = run(schema, prompt, false, kDecoded);
    cached.add(static_cast<double>(last.ttft_us) / 1e3);
    ratio.add(full.values.back() / cached.values.back());
    decode_deep.add(1e6 * (kDecoded - 1) /
                    static_cast<double>(std::max<std::uint64_t>(last.decode_us, 1)));
    const SessionStats shallow = run(empty, "<prompt schema=\"e\">Go</prompt>", false, kDecoded);
    decode_0.add(1e6 * (kDecoded - 1) /
                 static_cast<double>(std::max<std::uint64_t>(shallow.decode_us, 1)));
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
  std::printf("%s, %u threads; read %.1f GB/s, f32 %.0f GFLOP/s, bf16 %.0f GFLOP/s\n",
              machine.cpu.c_str(), threads, machine.read_gb_per_s, machine.f32_gflops,
              machine.bf16_gflops);
  std::printf("%s: %.0f cached + %.0f new tokens, %u repetitions: median, range, floor\n\n",
              a.model.c_str(), n_cached, n_new, a.repeat);
  std::printf("full prefill / cached TTFT         %9.1f x     %9.1f .. %.1f\n", ratio.median(),
              ratio.quantile(0), ratio.quantile(1));
  row("full prefill, TTFT", full, floor_ms(w, machine, n_cached + n_new, 0), "ms ");
  row("cached, TTFT", cached, floor_ms(w, machine, n_new, n_cached), "ms ");
  row("attach of the stored module", attach, 0, "ms ");
  row("decode at depth 0", decode_0, 1e3 / floor_ms(w, machine, 1, 8), "t/s");
  row("decode after the prompt", decode_deep, 1e3 / floor_ms(w, machine, 1, n_cached + n_new),
      "t/s");
  std::printf("peak memory, mapped files included %9.0f MiB\n", peak_mib);
  if (a.json) {
    std::string text;
    JsonWriter json(&text);
    json.begin_object()
        .key("cpu")
        .value(machine.cpu)
        .key("threads")
        .value(threads)
        .key("read_gb_per_s")
        .value(machine.read_gb_per_s);
    json.key("f32_gflops").value(machine.f32_gflops).key("bf16_gflops").value(machine.bf16_gflops);
    json.key("cached_tokens")
        .value(n_cached)
        .key("new_tokens")
        .value(n_new)
        .key("ratio")
        .value(ratio.median());
    json.key("full_ms")
        .value(full.median())
        .key("cached_ms")
        .value(cached.median())
        .key("attach_ms")
        .value(attach.median());
    json.key("decode_0").value(decode_0.median()).key("decode_deep").value(decode_deep.median());
    json.key("peak_mib").value(peak_mib).end_object();
    std::printf("%s\n", text.c_str());
  }
  std::error_code ignored;
  std::filesystem::remove_all(cache, ignored);
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(pc::bench::parse(argc, argv));
}
