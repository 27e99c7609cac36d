// When do the requests of a load get their tokens?
//
//   load_bench MODEL [--workload FILE] [--cache DIR] [--threads 0]
//
// A load is a file of bench/workload.h. What it calls warm is encoded first; then the clock starts,
// and each request comes at its time, on a thread of its own: its prompt is parsed, its session
// opened, its tokens asked for one after the other, and the scheduler makes steps of all that are
// there. Printed is a line of JSON: for each request when it came and when it got each token, in
// seconds. Without --workload it is a worker for bench/peers/loads.py: lines of JSON come in,
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
  explicit LoadBench(std::shared_ptr<const Engine> engine) : engine_(std::move(engine)) {
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
    std::vector<std::thread> threads;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < answered.size(); ++i) {
      std::this_thread::sleep_until(start +
                                    std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(load.requests[i].at_s)));
      threads.emplace_back([&, i] { answer(schema, load.requests[i], start, &answered[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    return report(load, answered);
  }

 private:
  void answer(const std::shared_ptr<LoadedSchema>& schema, const Workload::Request& request,
              Clock::time_point start, Answered* answered) const {
    SessionOptions o;
    o.max_tokens = request.answer;
    o.sampler = sampler_;
    const auto prompt = must(LoadedPrompt::parse(schema, prompt_of(request.modules, request.text)));
    const auto session = must(Session::open(prompt, o));
    while (must(session->next()))
      answered->token_s.add(std::chrono::duration<double>(Clock::now() - start).count());
    answered->computed = session->stats().computed_tokens;
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
  o.model_path = Arguments("load_bench MODEL [--workload FILE] [--cache DIR] [--threads N]")
                     .text("--workload", &workload)
                     .text("--cache", &o.cache_dir)
                     .number("--threads", &o.n_threads)
                     .parse(argc, argv);
  const ScratchDir scratch;
  if (o.cache_dir.empty()) o.cache_dir = scratch.path();
  const LoadBench bench(must(pc::Engine::open(o)));
  if (workload.empty())
    serve(bench);
  else
    std::printf("%s\n", bench.run(workload).c_str());
  return 0;
}
