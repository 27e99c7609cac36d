// What do requests that share a module gain from being computed together?
//
//   batch_bench MODEL [--requests 16] [--cached 4096] [--tokens 32] [--repeat 3] [--threads 0]
//               [--json FILE]
//
// Requests import one module and ask something of their own, then decode: one after the other, and
// all at once, each on a thread of its own, so that the scheduler makes steps of them. Both
// alternate; medians and ranges, ratios first. The floor of decoding together: weights are read
// once a step, the module's states once, and each request's own states.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"
#include "runtime/engine/stopwatch.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, json;
  std::uint32_t requests = 16, cached = 4096, tokens = 32, repeat = 3, threads = 0;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model = Arguments(
                "batch_bench MODEL [--requests N] [--cached N] [--tokens N] [--repeat N] "
                "[--threads N] [--json FILE]")
                .number("--requests", &a.requests, 1)
                .number("--cached", &a.cached)
                .number("--tokens", &a.tokens, 2)
                .number("--repeat", &a.repeat, 1)
                .number("--threads", &a.threads)
                .text("--json", &a.json)
                .parse(argc, argv);
  return a;
}

class Requests {
 public:
  Requests(const std::shared_ptr<LoadedSchema>& schema, const Setting& a) : a_(a) {
    for (std::uint32_t i = 0; i < a.requests; ++i)
      prompts_.push_back(must(LoadedPrompt::parse(
          schema, "<prompt schema='s'><m/> Question " + std::to_string(i) + "</prompt>")));
  }

  // Tokens a second behind the first ones: of all requests, one after the other or at once.
  double decode(bool together) {
    std::vector<std::unique_ptr<Session>> sessions;
    SessionOptions o;
    o.max_tokens = a_.tokens;
    for (const auto& prompt : prompts_) {
      sessions.push_back(must(Session::open(prompt, o)));
      must(sessions.back()->next());
    }
    std::atomic<std::uint64_t> n{0};
    const auto rest = [&](Session& session) {
      while (must(session.next()).has_value()) ++n;
    };
    const Stopwatch watch;
    if (together) {
      std::vector<std::thread> threads;
      for (const auto& session : sessions)
        threads.emplace_back([&rest, s = session.get()] { rest(*s); });
      for (std::thread& thread : threads) thread.join();
    } else {
      for (const auto& session : sessions) rest(*session);
    }
    return 1e6 * static_cast<double>(n) / static_cast<double>(watch.microseconds());
  }

 private:
  const Setting& a_;
  std::vector<std::shared_ptr<const LoadedPrompt>> prompts_;
};

void print(const char* what, const Series& s, const char* unit) {
  std::printf("%-36s %10.2f %-4s %10.2f .. %.2f\n", what, s.median(), unit, s.quantile(0),
              s.quantile(1));
}

void measure(const Setting& a) {
  const ScratchDir cache;
  // Two engines: one that only one thread calls computes on that thread.
  const auto open = [&] {
    EngineOptions o;
    o.model_path = a.model;
    o.cache_dir = cache.path();
    o.n_threads = a.threads;
    auto engine = must(Engine::open(o));
    const std::string text = text_of_tokens(engine->tokenizer(), a.cached);
    return must(LoadedSchema::parse(
        engine, "<schema name='s'><module name='m'>" + text + "</module></schema>", ""));
  };
  Requests alone(open(), a), together(open(), a);
  Series one, all, ratio;
  for (std::uint32_t i = 0; i <= a.repeat; ++i) {
    const double x = alone.decode(false), y = together.decode(true);
    if (i == 0) continue;  // warms up
    one.add(x);
    all.add(y);
    ratio.add(y / x);
  }
  std::printf("%s: %u requests behind one module of %u tokens, %u tokens each\n\n", a.model.c_str(),
              a.requests, a.cached, a.tokens);
  print("together / one by one", ratio, "x");
  print("one by one", one, "t/s");
  print("together", all, "t/s");
  if (a.json.empty()) return;
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("model").value(std::filesystem::path(a.model).filename().string());
  json.key("requests").value(a.requests).key("cached_tokens").value(a.cached);
  json.key("answer_tokens").value(a.tokens);
  write(json.key("ratio"), ratio);
  write(json.key("one_by_one"), one);
  write(json.key("together"), all);
  json.end_object();
  std::ofstream(a.json) << text << "\n";
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  pc::bench::measure(pc::bench::parse(argc, argv));
  return 0;
}
