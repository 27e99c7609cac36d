// What do requests that share a module gain from being computed together?
//
//   batch_bench MODEL [--requests 16] [--cached 4096] [--tokens 32] [--repeat 3] [--threads 0]
//               [--backend PATH] [--json FILE]
//
// Requests import one module and ask something of their own, then decode: one after the other; all
// at once, each on a thread of its own, so that the scheduler makes steps of them; and all at once
// on one thread (pc_batch_step). They alternate; medians and ranges, ratios first. The floor of
// decoding together: weights are read once a step, the module's states once, and each request's own
// states. With a plug-in (--backend) all ways share one engine, so that a device has weights and
// module once.

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
#include "runtime/scheduler/stopwatch.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, backend, json;
  std::uint32_t requests = 16, cached = 4096, tokens = 32, repeat = 3, threads = 0;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model = Arguments(
                "batch_bench MODEL [--requests N] [--cached N] [--tokens N] [--repeat N] "
                "[--threads N] [--backend PATH] [--json FILE]")
                .number("--requests", &a.requests, 1)
                .number("--cached", &a.cached)
                .number("--tokens", &a.tokens, 2)
                .number("--repeat", &a.repeat, 1)
                .number("--threads", &a.threads)
                .text("--backend", &a.backend)
                .text("--json", &a.json)
                .parse(argc, argv);
  return a;
}

enum class Way { kOneByOne, kThreads, kBatch };

class Requests {
 public:
  Requests(const std::shared_ptr<LoadedSchema>& schema, const Setting& a) : a_(a) {
    for (std::uint32_t i = 0; i < a.requests; ++i)
      prompts_.push_back(must(LoadedPrompt::parse(
          schema, "<prompt schema='s'><m/> Question " + std::to_string(i) + "</prompt>")));
  }

  // Tokens a second behind the first ones, of all requests.
  double decode(Way way) {
    std::vector<std::unique_ptr<Session>> sessions;
    SessionOptions o;
    o.max_draft = 0;  // one token a step is what is measured
    o.max_tokens = a_.tokens;
    for (const auto& prompt : prompts_) {
      sessions.push_back(must(Session::open(prompt, o)));
      must(sessions.back()->next());
    }
    const Stopwatch watch;
    const std::uint64_t n = way == Way::kOneByOne  ? one_by_one(sessions)
                            : way == Way::kThreads ? on_threads(sessions)
                                                   : in_batches(sessions);
    return 1e6 * static_cast<double>(n) / static_cast<double>(watch.microseconds());
  }

 private:
  using Sessions = std::vector<std::unique_ptr<Session>>;

  static std::uint64_t rest_of(Session& session) {
    std::uint64_t n = 0;
    while (must(session.next()).has_value()) ++n;
    return n;
  }
  static std::uint64_t one_by_one(const Sessions& sessions) {
    std::uint64_t n = 0;
    for (const auto& session : sessions) n += rest_of(*session);
    return n;
  }
  static std::uint64_t on_threads(const Sessions& sessions) {
    std::atomic<std::uint64_t> n{0};
    std::vector<std::thread> threads;
    for (const auto& session : sessions)
      threads.emplace_back([&n, s = session.get()] { n += rest_of(*s); });
    for (std::thread& thread : threads) thread.join();
    return n;
  }
  static std::uint64_t in_batches(const Sessions& sessions) {
    std::uint64_t n = 0;
    std::vector<Session*> left;
    for (const auto& session : sessions) left.push_back(session.get());
    while (!left.empty()) {
      auto steps = Session::step(left);
      std::size_t n_left = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (steps[i] && !must(std::move(*steps[i]))) continue;
        n += steps[i].has_value();
        left[n_left++] = left[i];
      }
      left.resize(n_left);
    }
    return n;
  }

  const Setting& a_;
  std::vector<std::shared_ptr<const LoadedPrompt>> prompts_;
};

void print(const char* what, const Series& s, const char* unit) {
  std::printf("%-36s %10.2f %-4s %10.2f .. %.2f\n", what, s.median(), unit, s.quantile(0),
              s.quantile(1));
}

void measure(const Setting& a) {
  const ScratchDir cache;
  // Engines of their own: one that only one thread calls computes on that thread.
  const auto open = [&] {
    auto engine = must(Engine::open(engine_options(a.model, cache.path(), a.threads, a.backend)));
    const std::string text = text_of_tokens(engine->tokenizer(), a.cached);
    return must(LoadedSchema::parse(
        engine, "<schema name='s'><module name='m'>" + text + "</module></schema>", ""));
  };
  const auto schema = open();
  Requests alone(schema, a), together(a.backend.empty() ? open() : schema, a);
  Series one, all, batch, ratio, batch_ratio;
  for (std::uint32_t i = 0; i <= a.repeat; ++i) {
    const double x = alone.decode(Way::kOneByOne), y = together.decode(Way::kThreads),
                 z = alone.decode(Way::kBatch);
    if (i == 0) continue;  // warms up
    one.add(x);
    all.add(y);
    batch.add(z);
    ratio.add(y / x);
    batch_ratio.add(z / x);
  }
  std::printf("%s: %u requests behind one module of %u tokens, %u tokens each\n\n", a.model.c_str(),
              a.requests, a.cached, a.tokens);
  print("together / one by one", ratio, "x");
  print("together on one thread / one by one", batch_ratio, "x");
  print("one by one", one, "t/s");
  print("together", all, "t/s");
  print("together on one thread", batch, "t/s");
  if (a.json.empty()) return;
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("model").value(std::filesystem::path(a.model).filename().string());
  json.key("requests").value(a.requests).key("cached_tokens").value(a.cached);
  json.key("answer_tokens").value(a.tokens);
  write(json.key("ratio"), ratio);
  write(json.key("one_by_one"), one);
  write(json.key("together"), all);
  write(json.key("one_thread_ratio"), batch_ratio);
  write(json.key("one_thread"), batch);
  json.end_object();
  std::ofstream(a.json) << text << "\n";
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  pc::bench::measure(pc::bench::parse(argc, argv));
  return 0;
}
