// What does a turn of a long chat cost, alive and after a restart?
//
//   chat_bench MODEL [--turns 20] [--new 200] [--answer 100] [--repeat 3] [--threads 0]
//
// A user says some words a turn, the model answers, and the conversation is kept. TTFT of each turn
// goes on in the session that answered the one before (alive); TTFT after a restart is that of a
// new engine, opened before the clock starts, which is given all messages and finds in the
// store what was kept. The floor of a turn: its new tokens behind all that stands before them. A
// model that draws other tokens than its answer's text has is computed again from there on: see the
// tokens that were computed. Medians over conversations of other words, ratios first.

#include <cstdio>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/arguments.h"
#include "bench/floor.h"
#include "bench/runs.h"
#include "runtime/scheduler/stopwatch.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model;
  std::uint32_t turns = 20, n_new = 200, answer = 100, repeat = 3, threads = 0;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model =
      Arguments("chat_bench MODEL [--turns N] [--new N] [--answer N] [--repeat N] [--threads N]")
          .number("--turns", &a.turns, 2)
          .number("--new", &a.n_new, 1)
          .number("--answer", &a.answer, 1)
          .number("--repeat", &a.repeat, 1)
          .number("--threads", &a.threads)
          .parse(argc, argv);
  return a;
}

// One turn's times.
struct Turn {
  Series alive_ms, restarted_ms, depth, computed, computed_again, keep_ms;
};

class Conversations {
 public:
  explicit Conversations(const Setting& a) : a_(a), turns_(a.turns) {}

  // One conversation: all its turns, each of them once more after a restart.
  void hold(std::uint32_t seed) {
    const ScratchDir cache;
    auto schema = open(cache);
    std::vector<std::string> texts;
    texts.reserve(2 * a_.turns);  // messages view them
    std::vector<pml::Message> messages;
    const auto say = [&](pml::Role role, std::string text) {
      texts.push_back(std::move(text));
      messages.push_back({role, {{texts.back(), "", {}}}});
    };
    SessionOptions o;
    o.max_draft = 0;  // one token a step is what is measured
    o.max_tokens = a_.answer;
    std::unique_ptr<Session> session;
    for (std::uint32_t t = 0; t < a_.turns; ++t) {
      say(pml::Role::kUser,
          text_of_tokens(schema->engine().tokenizer(), a_.n_new, seed * 1000 + t) + "?");
      Turn& turn = turns_[t];
      // First after a restart, so that what the living one keeps of this turn is not there yet.
      if (t > 0) {
        const auto again = open(cache);
        const auto prompt = must(LoadedPrompt::of_messages(again, messages));
        const auto fresh = must(Session::open(prompt, o));
        must(fresh->prefill());
        turn.restarted_ms.add(static_cast<double>(fresh->stats().ttft_us) / 1e3);
        turn.computed_again.add(static_cast<double>(fresh->stats().computed_tokens));
      }
      if (session) {
        const std::vector<pml::ChatTurn> next = {{pml::Role::kUser, texts.back()}};
        must(session->append(next));
      } else {
        const auto prompt = must(LoadedPrompt::of_messages(schema, messages));
        session = must(Session::open(prompt, o));
        must(session->prefill());
      }
      turn.alive_ms.add(static_cast<double>(session->stats().ttft_us) / 1e3);
      turn.computed.add(static_cast<double>(session->stats().computed_tokens));
      turn.depth.add(static_cast<double>(session->position()));
      std::string answer;
      for (bool more = true; more; answer += session->text())
        more = must(session->next()).has_value();
      say(pml::Role::kAssistant, answer);
      const Stopwatch keep;
      must(session->keep());
      turn.keep_ms.add(static_cast<double>(keep.microseconds()) / 1e3);
    }
    if (!engine_) engine_ = std::shared_ptr<const Engine>(schema, &schema->engine());
  }

  void print(const Machine& machine) const {
    const Work work = work_of(*engine_);
    const auto floor = [&](const Turn& turn) {
      const double n = turn.computed.median();
      return floor_of(work, machine, n, turn.depth.median() - n).ms();
    };
    const Turn &second = turns_[1], &last = turns_.back();
    Series growth, restart;
    for (std::size_t i = 0; i < last.alive_ms.values.size(); ++i) {
      growth.add(last.alive_ms.values[i] / second.alive_ms.values[i]);
      restart.add(last.restarted_ms.values[i] / last.alive_ms.values[i]);
    }
    std::printf("turn %u over turn 2, alive       %8.2f x  (%.2f .. %.2f); the floor's %.2f x\n",
                a_.turns, growth.median(), growth.quantile(0), growth.quantile(1),
                floor(last) / floor(second));
    std::printf("turn %u, restarted over alive    %8.2f x  (%.2f .. %.2f)\n\n", a_.turns,
                restart.median(), restart.quantile(0), restart.quantile(1));
    std::printf("%5s %8s %10s %12s %10s %10s %12s %9s\n", "turn", "depth", "alive, ms",
                "restart, ms", "floor, ms", "computed", "restarted", "keep, ms");
    for (std::size_t t = 1; t < turns_.size(); ++t) {
      const Turn& turn = turns_[t];
      std::printf("%5zu %8.0f %10.1f %12.1f %10.1f %10.0f %12.0f %9.1f\n", t + 1,
                  turn.depth.median(), turn.alive_ms.median(), turn.restarted_ms.median(),
                  floor(turn), turn.computed.median(), turn.computed_again.median(),
                  turn.keep_ms.median());
    }
  }

 private:
  std::shared_ptr<LoadedSchema> open(const ScratchDir& cache) const {
    EngineOptions o;
    o.model_path = a_.model;
    o.cache_dir = cache.path();
    o.n_threads = a_.threads;
    return must(LoadedSchema::parse(must(Engine::open(o)), "<schema name='chat'/>", ""));
  }

  const Setting& a_;
  std::vector<Turn> turns_;
  std::shared_ptr<const Engine> engine_;
};

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  const Setting a = parse(argc, argv);
  Conversations conversations(a);
  for (std::uint32_t i = 0; i < a.repeat; ++i) conversations.hold(i);
  const Machine machine = measure_machine(pc::Parallel(a.threads).n_threads());
  std::printf("%s: %u turns of %u new tokens and answers of at most %u, %u conversations\n\n",
              a.model.c_str(), a.turns, a.n_new, a.answer, a.repeat);
  conversations.print(machine);
  return 0;
}
