// What memory of its own does a process need to encode a long module, and to keep conversations?
//
//   memory_bench MODEL [--tokens 32768] [--short 1024] [--conversations 1000] [--history 2048]
//                [--threads 0]
//
// Encoding: the largest anonymous memory while a module of so many tokens is encoded, over that of
// a short one, beyond what the open model has. States are written where the module's file will be,
// so a long module should take no more than a step's scratch, which a short one takes, too.
// Conversations: what each of many idle ones holds, over its states and logits. Anonymous memory
// is RssAnon of /proc/self/status.

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"

namespace pc::bench {
namespace {

struct Asked {
  std::string model;
  std::uint32_t tokens = 32768, short_tokens = 1024, conversations = 1000, history = 2048,
                threads = 0;
};

double anonymous_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::atof(line.c_str() + 8) / 1024;
  }
  die("this kernel does not tell RssAnon");
}

// The largest anonymous memory until it ends, looked at every millisecond.
class Peak {
 public:
  Peak() : thread_([this] { watch(); }) {}
  double end() {
    over_ = true;
    thread_.join();
    return std::max(peak_, anonymous_mib());
  }

 private:
  void watch() {
    while (!over_) {
      peak_ = std::max(peak_, anonymous_mib());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::atomic<bool> over_{false};
  double peak_ = 0;
  std::thread thread_;
};

std::shared_ptr<const Engine> open(const Asked& a, const ScratchDir& cache) {
  EngineOptions o;
  o.model_path = a.model;
  o.cache_dir = cache.path();
  o.n_threads = a.threads;
  return must(Engine::open(o));
}

// Beyond what the process had before, in MiB.
double encode(const Asked& a, std::uint32_t n_tokens) {
  const ScratchDir cache;
  const auto engine = open(a, cache);
  const auto schema = must(LoadedSchema::parse(engine,
                                               "<schema name='long'><module name='m'>" +
                                                   text_of_tokens(engine->tokenizer(), n_tokens) +
                                                   "</module></schema>",
                                               ""));
  const auto go_on = [](auto, auto&, auto&) { return true; };
  ::malloc_trim(0);
  const double before = anonymous_mib();
  Peak peak;
  must(schema->encode(schema->modules(), go_on));
  const double more = peak.end() - before;
  std::printf("encoding %6u tokens: %8.2f MiB of anonymous memory, module of %.2f MiB\n", n_tokens,
              more,
              static_cast<double>(must(engine->store()->list()).at(0).file_bytes) / (1 << 20));
  return more;
}

void keep_conversations(const Asked& a) {
  const ScratchDir cache;
  const auto engine = open(a, cache);
  const auto schema = must(LoadedSchema::parse(engine, "<schema name='chat'/>", ""));
  SessionOptions o;
  o.max_draft = 0;  // one token a step is what is measured
  o.max_tokens = 1;
  std::vector<std::unique_ptr<Session>> sessions;
  sessions.reserve(a.conversations + 1);
  double before = 0, states = 0;
  const double token_bytes =
      static_cast<double>(engine->geometry().state_bytes(1)) / kKvBlockTokens;
  // The first one pays for scratch.
  for (std::uint32_t i = 0; i <= a.conversations; ++i) {
    const std::string text = text_of_tokens(engine->tokenizer(), a.history, i);
    sessions.push_back(must(Session::open(must(LoadedPrompt::of_text(schema, text)), o)));
    must(sessions.back()->prefill());
    if (i == 0) {
      ::malloc_trim(0);
      before = anonymous_mib();
    } else {
      states += static_cast<double>(sessions.back()->position()) * token_bytes / (1 << 20);
    }
  }
  ::malloc_trim(0);
  const double held = anonymous_mib() - before;
  std::printf(
      "%u conversations of %u tokens: %.1f MiB of anonymous memory, %.3f x their states of %.1f\n",
      a.conversations, a.history, held, held / states, states);
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  Asked a;
  a.model = Arguments(
                "memory_bench MODEL [--tokens 32768] [--short 1024] [--conversations 1000] "
                "[--history 2048] [--threads 0]")
                .number("--tokens", &a.tokens, 2)
                .number("--short", &a.short_tokens, 2)
                .number("--conversations", &a.conversations)
                .number("--history", &a.history, 2)
                .number("--threads", &a.threads)
                .parse(argc, argv);
  const double few = encode(a, a.short_tokens), many = encode(a, a.tokens);
  std::printf("%u over %u tokens: %.2f x\n", a.tokens, a.short_tokens, many / few);
  if (a.conversations > 0) keep_conversations(a);
  return 0;
}
