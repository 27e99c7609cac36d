// When do the requests of a load get their tokens?
//
//   load_bench MODEL [--workload FILE] [--cache DIR] [--threads 0] [--callers 1]
//
// A load is a file of bench/workload.h. What it calls warm is encoded first; then the clock starts,
// and each request comes at its time: its prompt is parsed, its session opened, and its tokens
// are asked for, those of all requests that are there together (pc_batch_step); with --callers 0 on
// a thread of its own, one after the other, and the scheduler makes steps of them. Printed is a
// line of JSON: for each request when it came and when it got each token, in seconds. Without
// --workload it is a worker for bench/peers/loads.py: lines of JSON come in,
// ["run", FILE], and each is answered by a line; the first says that the model is open.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"
#include "bench/workload.h"
#include "runtime/json/json.h"

namespace pc::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Answered {
  std::uint64_t computed = 0;  // of the prompt
  Series token_s;
};

class LoadBench {
 public:
  LoadBench(std::shared_ptr<const Engine> engine, bool on_threads)
      : engine_(std::move(engine)), on_threads_(on_threads) {
    for (std::uint32_t id = 0; id < engine_->tokenizer().facts().vocab_size; ++id)
      if (engine_->ends_turn(static_cast<TokenId>(id)))
        sampler_.bias.push_back({static_cast<TokenId>(id), -HUGE_VALF});  // answers have a length
  }

  // A line of JSON.
  std::string run(const std::string& file) const {
    const Workload load = must(Workload::read(file));
    const auto schema = must(LoadedSchema::parse(engine_, load.schema(), ""));
    for (const auto& names : load.warm) bench::run(schema, prompt_of(names, "Go"), false, 1);
    std::vector<Answered> answered(load.requests.size());
    const Clock::time_point start = Clock::now();
    on_threads_ ? answer_on_threads(schema, load, start, &answered)
                : answer_in_batches(schema, load, start, &answered);
    return report(load, answered);
  }

 private:
  using Schema = std::shared_ptr<LoadedSchema>;

  static Clock::time_point time_of(const Workload::Request& request, Clock::time_point start) {
    return start +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.at_s));
  }
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::unique_ptr<Session> open(const Schema& schema, const Workload::Request& request) const {
    SessionOptions o;
    o.max_draft = 0;  // one token a step is what is measured
    o.max_tokens = request.answer;
    o.sampler = sampler_;
    return must(Session::open(
        must(LoadedPrompt::parse(schema, prompt_of(request.modules, request.text))), o));
  }

  void answer_on_threads(const Schema& schema, const Workload& load, Clock::time_point start,
                         std::vector<Answered>* answered) const {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < answered->size(); ++i) {
      std::this_thread::sleep_until(time_of(load.requests[i], start));
      threads.emplace_back([&, i] {
        const auto session = open(schema, load.requests[i]);
        while (must(session->next())) (*answered)[i].token_s.add(seconds_since(start));
        (*answered)[i].computed = session->stats().computed_tokens;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void answer_in_batches(const Schema& schema, const Workload& load, Clock::time_point start,
                         std::vector<Answered>* answered) const {
    struct Running {
      std::unique_ptr<Session> session;
      Answered* answered;
    };
    std::vector<Running> running;
    for (std::size_t n_came = 0; n_came < answered->size() || !running.empty();) {
      if (running.empty()) std::this_thread::sleep_until(time_of(load.requests[n_came], start));
      for (; n_came < answered->size() && time_of(load.requests[n_came], start) <= Clock::now();
           ++n_came)
        running.push_back({open(schema, load.requests[n_came]), &(*answered)[n_came]});
      std::vector<Session*> sessions;
      for (const Running& r : running) sessions.push_back(r.session.get());
      auto steps = Session::step(sessions);
      const double now = seconds_since(start);
      std::size_t n_left = 0;
      for (std::size_t i = 0; i < running.size(); ++i) {
        if (steps[i] && !must(std::move(*steps[i]))) {
          running[i].answered->computed = running[i].session->stats().computed_tokens;
          continue;
        }
        if (steps[i]) running[i].answered->token_s.add(now);
        if (n_left != i) running[n_left] = std::move(running[i]);
        ++n_left;
      }
      running.resize(n_left);
    }
  }

  static std::string report(const Workload& load, const std::vector<Answered>& answered) {
    std::string text;
    JsonWriter json(&text);
    json.begin_array();
    for (std::size_t i = 0; i < answered.size(); ++i) {
      json.begin_object().key("at").value(load.requests[i].at_s);
      json.key("computed").value(answered[i].computed);
      write(json.key("token_s"), answered[i].token_s);
      json.end_object();
    }
    json.end_array();
    return text;
  }

  std::shared_ptr<const Engine> engine_;
  const bool on_threads_;
  SamplerOptions sampler_;
};

// Until there are no more lines.
void serve(const LoadBench& bench) {
  std::printf("\"ready\"\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const JsonDocument call = must(JsonDocument::parse(line, "call"));
    if (call.root().size() != 2 || must(call.root().at(0).string()) != "run")
      die("a call is [\"run\", FILE], not " + line);
    const std::string file(must(call.root().at(1).string()));
    std::printf("%s\n", bench.run(file).c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  pc::EngineOptions o;
  std::string workload;
  std::uint32_t callers = 1;
  o.model_path = Arguments(
                     "load_bench MODEL [--workload FILE] [--cache DIR] [--threads N] "
                     "[--callers 1, or 0 for one a request]")
                     .text("--workload", &workload)
                     .text("--cache", &o.cache_dir)
                     .number("--threads", &o.n_threads)
                     .number("--callers", &callers)
                     .parse(argc, argv);
  const ScratchDir scratch;
  if (o.cache_dir.empty()) o.cache_dir = scratch.path();
  const LoadBench bench(must(pc::Engine::open(o)), callers == 0);
  if (workload.empty())
    serve(bench);
  else
    std::printf("%s\n", bench.run(workload).c_str());
  return 0;
}
