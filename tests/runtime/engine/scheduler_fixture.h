// A scheduler over a tiny model on the CPU, whose steps are written down and may be held.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/backend/cpu_backend.h"
#include "runtime/backend/states_shape.h"
#include "runtime/scheduler/scheduler.h"
#include "tests/support/expect.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

// The CPU's table with a step that is written down, and may have to wait.
struct Witness {
  static inline std::vector<std::vector<std::uint32_t>> steps;  // tokens of each item
  static inline std::vector<std::vector<pc_backend_timeline*>> timelines;
  static inline std::atomic<bool> hold{false};
  static inline std::atomic<int> n_begun{0};

  static void step(pc_backend_model* model, pc_step_item* items, std::uint32_t n_items) {
    ++n_begun;
    while (hold) std::this_thread::yield();
    std::vector<std::uint32_t> counts;
    std::vector<pc_backend_timeline*> who;
    for (std::uint32_t i = 0; i < n_items; ++i) {
      counts.push_back(0);
      for (const pc_run& run : std::span(items[i].runs, items[i].n_runs))
        counts.back() += run.n_tokens;
      who.push_back(items[i].timeline);
    }
    steps.push_back(counts);
    timelines.push_back(who);
    cpu_backend()->step(model, items, n_items);
  }
  // The numbers of the steps that a timeline was in.
  static bool was_in(const std::vector<pc_backend_timeline*>& step, const BackendTimeline& t) {
    return std::ranges::find(step, t.get()) != step.end();
  }
  static std::size_t first_step(const BackendTimeline& t) {
    std::size_t i = 0;
    while (i < timelines.size() && !was_in(timelines[i], t)) ++i;
    return i;
  }
  static std::size_t last_step(const BackendTimeline& t) {
    std::size_t i = timelines.size();
    while (i > 0 && !was_in(timelines[i - 1], t)) --i;
    return i == 0 ? 0 : i - 1;
  }
  static const pc_backend_v1* table() {
    static const pc_backend_v1 table = [] {
      pc_backend_v1 t = *cpu_backend();
      t.step = step;
      return t;
    }();
    return &table;
  }
};

class Fixture {
 public:
  Fixture()
      : backend(must(BackendModel::open(Witness::table(), model.desc, KvType::kF32,
                                        Precision::kFast, 2, nullptr))),
        scheduler(std::make_unique<Scheduler>(backend)) {
    Witness::steps.clear();
    Witness::timelines.clear();
    Witness::n_begun = 0;
  }

  static pc_run run_of(const std::vector<std::int32_t>& tokens, std::int32_t position = 0) {
    return {tokens.data(),
            static_cast<std::uint32_t>(tokens.size()),
            position,
            position,
            1,
            nullptr,
            nullptr,
            0,
            nullptr};
  }
  // Logits of a new timeline that computes these tokens, by one step of the backend.
  std::vector<float> alone(const std::vector<std::int32_t>& tokens) {
    BackendTimeline timeline = must(backend.timeline());
    std::vector<float> logits(model.desc.vocab_size);
    const pc_run run = run_of(tokens);
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = &run;
    item.n_runs = 1;
    item.logits = logits.data();
    cpu_step(item);
    return logits;
  }
  void cpu_step(pc_step_item& item) {
    const MutexLock lock(mutex);
    backend.step({&item, 1});
    must(backend.status_of(item));
  }
  // Work that waits on a thread of its own, until the step at hand may end.
  void submit(const Work& work) {
    Status& status = results.emplace_back(ok());
    const std::size_t before = scheduler->n_waiting();
    threads.emplace_back([this, work, &status] { status = scheduler->compute(work); });
    while (scheduler->n_waiting() == before) std::this_thread::yield();
  }
  void hold() {
    Witness::hold = true;
    first = must(backend.timeline());
    submit({.timeline = &*first, .runs = {&first_run, 1}});
    while (Witness::n_begun == 0) std::this_thread::yield();
  }
  void release() {
    Witness::hold = false;
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }

  TinyModel model{41};
  Random random{7};
  Mutex mutex;
  const BackendModel backend;
  std::unique_ptr<Scheduler> scheduler;
  std::optional<BackendTimeline> first;
  std::vector<std::int32_t> first_token{1};
  pc_run first_run = run_of(first_token);
  std::deque<Status> results;
  std::vector<std::thread> threads;
};

inline void require_near(const std::vector<float>& got, const std::vector<float>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) REQUIRE(std::fabs(got[i] - want[i]) <= 5e-5f);
}

}  // namespace pc::test
