// What does deterministic precision cost, beside fast?
//
//   precision_bench MODEL [--pairs 12] [--tokens 32] [--threads 1] [--json FILE]
//
// A prefill of 512 tokens; decoding alone and behind 1,500 tokens; and four timelines that decode
// at once behind the same 1,000 tokens. Two engines take turns in one process, which of them begins
// changes from pair to pair. What is compared is processor time, of all threads: it says something
// on a machine that others use, too, where clocks do not. It says nothing of threads that wait:
// that deterministic precision gives attention to fewer of them is not in it. Median and quartiles
// of the ratios of pairs, deterministic over fast.

#include <time.h>

#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, json;
  std::uint32_t pairs = 12, tokens = 32, threads = 1;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model = Arguments("precision_bench MODEL [--pairs N] [--tokens N] [--threads N] [--json FILE]")
                .number("--pairs", &a.pairs, 1)
                .number("--tokens", &a.tokens, 1)
                .number("--threads", &a.threads)
                .text("--json", &a.json)
                .parse(argc, argv);
  return a;
}

// Of this process, all threads, since it began.
double cpu_seconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

// An engine of one precision, and what is measured of it: seconds of processor time.
class Side {
 public:
  Side(const Setting& a, const std::string& cache, Precision precision) : n_tokens_(a.tokens) {
    EngineOptions o = engine_options(a.model, cache, a.threads, "");
    o.precision = precision;
    engine_ = must(Engine::open(o));
    logits_.resize(engine_->model().desc.vocab_size);
  }

  double prefill(std::uint32_t n) {
    BackendTimeline timeline = must(engine_->backend().timeline());
    const double before = cpu_seconds();
    compute(timeline, 0, n);
    return cpu_seconds() - before;
  }

  // Behind `depth` tokens, n_timelines at once.
  double decode(std::uint32_t depth, std::uint32_t n_timelines) {
    std::vector<BackendTimeline> timelines;
    timelines.push_back(must(engine_->backend().timeline()));
    if (depth != 0) compute(timelines[0], 0, depth);
    while (timelines.size() < n_timelines) timelines.push_back(must(timelines[0].fork()));
    const double before = cpu_seconds();
    for (std::uint32_t i = 0; i < n_tokens_; ++i) step(timelines, depth + i);
    return cpu_seconds() - before;
  }

 private:
  pc_run run_of(std::uint32_t at, std::uint32_t n) {
    while (tokens_.size() < at + n)
      tokens_.push_back(static_cast<TokenId>(tokens_.size() * 7919 % logits_.size()));
    const auto position = static_cast<Position>(at);
    return {tokens_.data() + at, n, position, position, 1, nullptr, nullptr, 0, nullptr};
  }
  void compute(BackendTimeline& timeline, std::uint32_t at, std::uint32_t n) {
    const pc_run run = run_of(at, n);
    check(engine_->scheduler().compute(
        {.timeline = &timeline, .runs = {&run, 1}, .logits = logits_.data()}));
  }
  void step(std::vector<BackendTimeline>& timelines, std::uint32_t at) {
    const pc_run run = run_of(at, 1);
    std::vector<std::vector<float>> logits(timelines.size(), logits_);
    std::deque<Task> tasks;
    std::vector<Task*> all;
    for (std::size_t i = 0; i < timelines.size(); ++i)
      all.push_back(&tasks.emplace_back(Work{.timeline = &timelines[i],
                                             .runs = {&run, 1},
                                             .logits = logits[i].data(),
                                             .is_step = true}));
    check(engine_->scheduler().advance(all));
    for (const Task* task : all) {
      if (!task->finished()) die("a step left a token out");
      check(task->result());
    }
  }
  static void check(const Status& status) {
    if (!status.ok()) die(status.error().message);
  }

  std::uint32_t n_tokens_;
  std::shared_ptr<const Engine> engine_;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
};

struct Case {
  const char* name;
  std::function<double(Side&)> seconds;
  Series fast = {}, ratio = {};
};

void measure(const Setting& a) {
  const ScratchDir cache;
  std::array<Side, 2> sides{Side(a, cache.path(), Precision::kFast),
                            Side(a, cache.path(), Precision::kDeterministic)};
  std::vector<Case> cases = {
      {"prefill of 512 tokens", [](Side& side) { return side.prefill(512); }},
      {"decoding", [](Side& side) { return side.decode(0, 1); }},
      {"decoding behind 1,500 tokens", [](Side& side) { return side.decode(1500, 1); }},
      {"four behind the same 1,000", [](Side& side) { return side.decode(1000, 4); }}};
  for (std::uint32_t pair = 0; pair <= a.pairs; ++pair) {
    for (Case& c : cases) {
      std::array<double, 2> seconds{};
      for (const std::size_t i : {pair % 2, 1 - pair % 2}) seconds[i] = c.seconds(sides[i]);
      if (pair == 0) continue;  // warms up
      c.fast.add(1e3 * seconds[0]);
      c.ratio.add(seconds[1] / seconds[0]);
    }
  }
  std::printf("%s: %u pairs, %u tokens decoded, processor time on %u threads\n\n", a.model.c_str(),
              a.pairs, a.tokens, a.threads);
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("model").value(std::filesystem::path(a.model).filename().string());
  for (const Case& c : cases) {
    std::printf("%-30s %6.3f x   %.3f .. %.3f   fast: %8.1f ms\n", c.name, c.ratio.median(),
                c.ratio.quantile(0.25), c.ratio.quantile(0.75), c.fast.median());
    write(json.key(c.name), c.ratio);
  }
  json.end_object();
  if (!a.json.empty()) std::ofstream(a.json) << text << "\n";
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  pc::bench::measure(pc::bench::parse(argc, argv));
  return 0;
}
