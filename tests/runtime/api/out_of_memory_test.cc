// Whichever allocation of a call of the C API fails, once or with all behind it: the call says
// PC_OUT_OF_MEMORY, or does without, nothing leaks, and asked again it gives the right answer.

#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "tests/runtime/api/memory_world.h"
#include "tests/support/signing_keys.h"
#include "tests/support/torture_form.h"

namespace pc::test {
namespace {

template <class F>
std::function<Scenario()> on_store(F f) {
  return in_world([f](World& w, Attempt& a) {
    w.prompt.reset();
    w.schema.reset();
    must([&](auto* x) { return pc_engine_trim(w.engine.get(), nullptr, x); });
    const Store store = open_store(w.cache);
    f(w, store.get(), a);
    w.load();
    a.answer(ask(w.schema.get()));
  });
}

std::vector<Row> store_rows() {
  return {
      {"pc_guard_files", alone([](Attempt& a) { a.call(pc_guard_files); })},
      {"pc_store_open", in_world([](World& w, Attempt& a) {
         const Store store(a.make<pc_store>([&](pc_store** s, pc_error* x) {
           return pc_store_open(w.cache.c_str(), PC_CACHE_READ_WRITE, s, x);
         }));
       })},
      {"pc_store_describe", on_store([](World&, pc_store* store, Attempt& a) {
         a.answer(without_numbers(
             a.text([&](char** json, pc_error* x) { return pc_store_describe(store, json, x); })));
       })},
      {"pc_store_show", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key();
         a.answer(a.text(
             [&](char** json, pc_error* x) { return pc_store_show(store, key.c_str(), json, x); }));
       })},
      {"pc_store_show, of what is not there", on_store([](World&, pc_store* store, Attempt& a) {
         char* json = nullptr;
         const std::string key(64, 'x');
         a.call([&](pc_error* x) { return pc_store_show(store, key.c_str(), &json, x); },
                PC_NOT_FOUND);
       })},
      {"pc_store_verify", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key();
         a.answer(a.text([&](char** json, pc_error* x) {
           return pc_store_verify(store, key.c_str(), json, x);
         }));
       })},
      {"pc_store_verify_all", on_store([](World&, pc_store* store, Attempt& a) {
         a.answer(a.text([&](char** json, pc_error* x) {
           return pc_store_verify_all(store, nullptr, nullptr, json, x);
         }));
       })},
      {"pc_store_remove", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key();
         a.call([&](pc_error* x) { return pc_store_remove(store, key.c_str(), nullptr, x); });
       })},
      {"pc_store_remove_all", on_store([](World&, pc_store* store, Attempt& a) {
         a.call(
             [&](pc_error* x) { return pc_store_remove_all(store, nullptr, nullptr, nullptr, x); });
       })},
      {"pc_store_export", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key(), file = folder().path() + "/exported";
         fs::remove(file);
         a.call([&](pc_error* x) {
           const char* const keys[] = {key.c_str()};
           return pc_store_export(store, keys, 1, file.c_str(), nullptr, nullptr, x);
         });
         a.answer(std::to_string(fs::file_size(file)));
       })},
      {"pc_store_import", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key(), file = folder().path() + "/exported";
         fs::remove(file);
         must([&](auto* x) {
           const char* const keys[] = {key.c_str()};
           return pc_store_export(store, keys, 1, file.c_str(), nullptr, nullptr, x);
         });
         must([&](auto* x) { return pc_store_remove(store, key.c_str(), nullptr, x); });
         const std::string imported = a.text([&](char** k, pc_error* x) {
           return pc_store_import(store, file.c_str(), nullptr, nullptr, k, x);
         });
         if (imported != key + "\n") a.fail("another key: " + imported);
       })},
      {"pc_store_pull", on_store([](World& w, pc_store* store, Attempt& a) {
         const TempFolder other;
         const Store into = open_store(other.path());
         const std::string key = w.key();
         const char* const keys[] = {key.c_str()};
         (void)store;
         a.answer(without_numbers(a.text([&](char** json, pc_error* x) {
           return pc_store_pull(into.get(), w.cache.c_str(), nullptr, 0, keys, 1, nullptr, nullptr,
                                json, x);
         })));
       })},
      {"pc_store_sign", on_store([](World& w, pc_store* store, Attempt& a) {
         const SigningKeys pair;
         const std::string key = pair.path("ann.key");
         a.call([&](pc_error* x) {
           return pc_store_sign(store, key.c_str(), nullptr, nullptr, nullptr, nullptr, x);
         });
         const std::string list = w.cache + "/v3/manifest", pub = pair.path("ann.pub");
         const char* const trusted[] = {pub.c_str()};
         must([&](auto* x) {
           return pc_store_sign(store, key.c_str(), nullptr, nullptr, nullptr, nullptr, x);
         });
         a.answer(a.text([&](char** lines, pc_error* x) {
           return pc_manifest_keys(list.c_str(), trusted, 1, lines, x);
         }));
       })},
      {"pc_store_pin", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key();
         a.call([&](pc_error* x) { return pc_store_pin(store, key.c_str(), x); });
         pc_store_unpin(store, key.c_str(), nullptr);
       })},
      {"pc_store_unpin", on_store([](World& w, pc_store* store, Attempt& a) {
         const std::string key = w.key();
         must([&](auto* x) { return pc_store_pin(store, key.c_str(), x); });
         a.call([&](pc_error* x) { return pc_store_unpin(store, key.c_str(), x); });
       })},
      {"pc_store_gc", on_store([](World&, pc_store* store, Attempt& a) {
         a.answer(without_numbers(a.text([&](char** json, pc_error* x) {
           return pc_store_gc(store, 0, nullptr, nullptr, json, x);
         })));
       })},
      {"pc_store_close", in_world([](World& w, Attempt& a) {
         Store store = open_store(w.cache);
         a.run([&] { pc_store_close(store.release()); });
       })},
  };
}

// ---- The sweeps

// Where memory is out for good, a call ends soon after: fewer starts tell as much.
constexpr long kOnwardStride = 6;

void print(const Row& row, const char* how, const SweepReport& report, double seconds) {
  for (const std::string& failure : report.failures)
    std::fprintf(stderr, "%s, %s: %s\n", row.name, how, failure.c_str());
  if (is_full())
    std::printf("%s, %s: %ld allocations, %ld failed, the call %ld times, spared %ld, %.1f s\n",
                row.name, how, report.n_allocations, report.n_attempts, report.n_refused,
                report.n_spared, seconds);
}

void say_sum(const char* what, const SweepReport& total) {
  say("O1", std::string(what) + ": " + std::to_string(total.n_attempts) +
                " allocations failed, the call " + std::to_string(total.n_refused) +
                " times, spared " + std::to_string(total.n_spared) +
                ", something left by a first failure alone " + std::to_string(total.n_once));
}

// Full form: every allocation; otherwise those at the beginning, and ever fewer behind them.
// PC_TORTURE_ONLY: a part of the names of those that run, for who looks for a defect.
void sweep_all(const char* what, const std::vector<Row>& rows) {
  const char* const only = std::getenv("PC_TORTURE_ONLY");
  model_path();  // what the children share
  sentencepiece_path();
  folder();
  SweepReport total;
  for (const AllocFault fault : {AllocFault::kOnce, AllocFault::kOnward}) {
    for (const Row& row : rows) {
      if (only && std::string(row.name).find(only) == std::string::npos) continue;
      const char* const how = fault == AllocFault::kOnce ? "once" : "onward";
      const auto begin = std::chrono::steady_clock::now();
      const long quick = row.stride * (fault == AllocFault::kOnce ? 1 : kOnwardStride);
      const SweepReport report = sweep(row.make, fault, is_full() ? 0 : quick);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      print(row, how, report, took.count());
      total.n_attempts += report.n_attempts;
      total.n_refused += report.n_refused;
      total.n_spared += report.n_spared;
      total.n_once += report.n_once;
      INFO(row.name << ", " << how << "; what failed is on standard error");
      CHECK(report.failures.empty());
    }
  }
  say_sum(what, total);
  INFO(total.n_attempts << " attempts");
  CHECK((only || total.n_attempts > 500));  // else nothing is taken in malloc's place
}

TEST_CASE("out of memory in calls on engines and models") {
  sweep_all("engines and models", engine_rows());
}
TEST_CASE("out of memory in calls on schemas") {
  sweep_all("schemas", schema_rows());
}
TEST_CASE("out of memory in calls on prompts") {
  sweep_all("prompts", prompt_rows());
}
TEST_CASE("out of memory in calls on sessions") {
  sweep_all("sessions", session_rows());
}
TEST_CASE("out of memory in calls on constraints") {
  sweep_all("constraints", constraint_rows());
}
TEST_CASE("out of memory in calls on stores") {
  sweep_all("stores", store_rows());
}

// ---- The harness

// Hides from the compiler what comes of an allocation: it may leave out one that is freed unused.
void* seen(void* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

TEST_CASE("every way to ask for memory counts, fails as its kind does, and is seen to leak") {
  void* kept = nullptr;
  const std::vector<std::function<void*()>> ways = {
      [] { return std::malloc(8); },
      [] { return std::calloc(2, 8); },
      [] { return std::realloc(nullptr, 8); },
      [] { return std::aligned_alloc(64, 64); },
      [] { return ::memalign(64, 64); },
      [&] { return ::posix_memalign(&kept, 64, 64) == 0 ? kept : nullptr; },
      [] { return ::operator new(8, std::nothrow); },
      [] { return ::operator new[](8, std::nothrow); },
  };
  const std::vector<std::function<void*()>> throwing = {
      [] { return ::operator new(8); },
      [] { return ::operator new[](8); },
      [] { return ::operator new(64, std::align_val_t(64)); },
  };
  for (const auto* some : {&ways, &throwing}) {
    for (const auto& way : *some) {
      fail_allocation(1, AllocFault::kOnward);
      const long before = n_live_allocations();
      void* const block = seen(way());
      bool failed = false;
      try {
        failed = !seen(way());
      } catch (const std::bad_alloc&) {
        failed = some == &throwing;
      }
      stop_failing();
      const long left = n_live_allocations() - before;
      CHECK(block != nullptr);
      CHECK(failed);
      CHECK(allocation_failed());
      CHECK(left == 1);
      std::free(block);
    }
  }
}

// What a scenario that calls `f` is found to do.
SweepReport sweep_of(const Attempt::Call& f) {
  return sweep([&] { return [&](Attempt& a) { a.call(f); }; }, AllocFault::kOnce, 0);
}

TEST_CASE("a sweep finds leaks, ends, wrong states and wrong answers") {
  const auto ask = [] { return seen(std::malloc(8)); };
  const auto fails = [](pc_error* e, pc_status status) {
    e->status = status;
    return status;
  };
  SECTION("a call that keeps to it") {
    const SweepReport report = sweep_of([&](pc_error* e) {
      void* const block = ask();
      std::free(block);
      return block ? PC_OK : fails(e, PC_OUT_OF_MEMORY);
    });
    CHECK(report.failures.empty());
    CHECK(report.n_attempts == 1);
    CHECK(report.n_refused == 1);
  }
  SECTION("one that leaks") {
    const SweepReport report = sweep_of([&](pc_error* e) {
      void* const first = ask();
      void* const second = ask();
      if (!second) return fails(e, PC_OUT_OF_MEMORY);
      std::free(first);
      std::free(second);
      return first ? PC_OK : fails(e, PC_OUT_OF_MEMORY);
    });
    REQUIRE(report.failures.size() == 1);
    CHECK_THAT(report.failures[0], Catch::Matchers::Contains("allocation 1: 1 blocks"));
  }
  SECTION("one that makes something once when it first fails") {
    const SweepReport report = sweep_of([&](pc_error* e) {
      static void* made = nullptr;
      void* const block = ask();
      if (!block && !made) made = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      std::free(block);
      return block ? PC_OK : fails(e, PC_OUT_OF_MEMORY);
    });
    CHECK(report.failures.empty());
    CHECK(report.n_once == 1);
  }
  SECTION("one that ends the process") {
    const SweepReport report = sweep_of([&](pc_error*) {
      void* const block = ask();
      if (!block) std::abort();
      std::free(block);
      return PC_OK;
    });
    CHECK(report.failures.size() == 2);  // that, and where
  }
  SECTION("one that says something else") {
    const SweepReport report = sweep_of([&](pc_error* e) {
      void* const block = ask();
      std::free(block);
      return block ? PC_OK : fails(e, PC_INTERNAL);
    });
    REQUIRE(report.failures.size() == 1);
    CHECK_THAT(report.failures[0], Catch::Matchers::Contains("status internal"));
  }
  SECTION("one that goes on with a wrong answer") {
    const auto scenario = [&](Attempt& a) {
      void* block = nullptr;
      a.run([&] { block = ask(); });
      a.answer(block ? "right" : "wrong");
      std::free(block);
    };
    const SweepReport report = sweep([&] { return scenario; }, AllocFault::kOnce, 0);
    REQUIRE(report.failures.size() == 1);
    CHECK_THAT(report.failures[0], Catch::Matchers::Contains("the answer is \"wrong"));
  }
}

}  // namespace
}  // namespace pc::test
