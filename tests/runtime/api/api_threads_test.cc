// What promptcache.h promises of threads: engines, schemas, prompts and stores may be used by any
// number at once, a session by one at a time but for its cancelling. Meant for ThreadSanitizer
// (scripts/sanitize); elsewhere it holds answers to be the same whoever else is at work.

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "promptcache/promptcache.hpp"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">The tram costs three euros.</module>
  <module name="b">The museum opens at nine.</module></schema>)";
constexpr const char* kPrompt = R"(<prompt schema="s"><a/><b/>What is free?</prompt>)";
constexpr int kRounds = 6;

api::EngineOptions engine_options(const TinyCheckpoint& checkpoint, const TempFolder& cache) {
  api::EngineOptions o;
  o.model_path = checkpoint.path().c_str();
  o.cache_dir = cache.path().c_str();
  o.n_threads = 2;
  return o;
}

api::SessionOptions session_options(const char* client = nullptr) {
  api::SessionOptions o;
  o.max_tokens = 6;
  o.client = client;
  return o;
}

std::vector<std::int32_t> answer(api::Session& session) {
  std::vector<std::int32_t> tokens;
  session.generate([&](const pc_token& token) {
    if (token.id >= 0) tokens.push_back(token.id);
  });
  return tokens;
}

// Catch's macros are for one thread: whoever finds something wrong counts it.
class Crowd {
 public:
  template <class Work>
  void add(Work work) {
    threads_.emplace_back([this, work] {
      try {
        for (int i = 0; i < kRounds; ++i) wrong_ += work() ? 0 : 1;
      } catch (const api::Error&) {
        ++wrong_;
      }
    });
  }
  int wrong() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return wrong_;
  }
  ~Crowd() { wrong(); }

 private:
  std::vector<std::thread> threads_;
  std::atomic<int> wrong_{0};
};

TEST_CASE("one engine, schema and prompt are used by many threads in every way at once") {
  const TinyCheckpoint checkpoint(33);
  const TempFolder cache;
  const api::Engine engine(engine_options(checkpoint, cache));
  const api::Schema schema = api::Schema::parse(engine, kSchema);
  const api::Prompt prompt(schema, kPrompt);
  const std::vector<std::int32_t> want = [&] {
    api::Session alone(prompt, session_options());
    return answer(alone);
  }();
  REQUIRE_FALSE(want.empty());

  std::atomic<int> n_logged{0};
  pc_set_log([](void* user, std::int32_t, const char*) { ++*static_cast<std::atomic<int>*>(user); },
             &n_logged, PC_LOG_INFO);
  Crowd crowd;
  crowd.add([&] {
    api::Session session(prompt, session_options("one"));
    return answer(session) == want;
  });
  crowd.add([&] {
    api::Session first(prompt, session_options("two")), second(prompt, session_options());
    bool same = true;
    for (std::size_t i = 0; i < want.size();) {
      const auto steps = api::batch_step({&first, &second});
      for (const auto& step : steps) {
        if (step.status != PC_OK && step.status != PC_PENDING) return false;
        same &= step.status == PC_PENDING || step.token.id == want[i];
      }
      i += steps[0].status == PC_OK;
    }
    return same;
  });
  crowd.add([&] {
    api::Session session(prompt, session_options());
    session.prefill();
    api::Session fork = session.fork();
    return answer(fork) == want && answer(session) == want;
  });
  crowd.add([&] {
    const api::Pin pin = prompt.pin();
    prompt.prefetch();
    engine.trim();
    return prompt.counts().modules_missing == 0;
  });
  crowd.add([&] {
    const api::Prompt own(schema, kPrompt);
    return !own.explain().empty() && !schema.describe().empty() && !engine.describe().empty() &&
           engine.tokenize("The tram").size() > 1;
  });
  crowd.add([&] {
    const api::Store store(cache.path());
    return store.verify_all().find("\"bad\":0") != std::string::npos;
  });
  crowd.add([&] {
    pc_set_log(nullptr, nullptr, PC_LOG_INFO);
    return true;
  });
  CHECK(crowd.wrong() == 0);
  pc_set_log(nullptr, nullptr, PC_LOG_INFO);
}

TEST_CASE("a session is cancelled by others, wherever it is, and others go on") {
  const TinyCheckpoint checkpoint(33, 4096);
  const TempFolder cache;
  const api::Engine engine(engine_options(checkpoint, cache));
  const api::Schema schema = api::Schema::parse(engine, kSchema);
  std::string text;
  for (int i = 0; i < 350; ++i) text += "The tram is late. ";
  const api::Prompt prompt = api::Prompt::from_text(schema, text);
  const api::Prompt other(schema, kPrompt);
  api::Session alone(prompt, session_options());
  const auto want = answer(alone);
  int n_cancelled = 0;
  for (int round = 0; round < kRounds; ++round) {
    api::Session session(prompt, session_options()), bystander(other, session_options());
    std::thread cancels([&session, round] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * round));
      session.cancel();
    });
    if (round == 0) cancels.join();
    std::atomic<bool> went_on{false};
    std::thread goes_on([&] { went_on = answer(bystander).size() == 6; });
    std::vector<std::int32_t> got;
    int n_times = 0;
    for (pc_status status = PC_OK; status != PC_DONE; n_times += status == PC_CANCELLED) {
      pc_token token{};
      status = pc_session_next(session.get(), &token, nullptr);
      REQUIRE((status == PC_OK || status == PC_CANCELLED || status == PC_DONE));
      if (status == PC_OK) got.push_back(token.id);
    }
    CHECK(got == want);  // it went on from where it was
    CHECK(n_times <= 1);
    n_cancelled += n_times;
    if (cancels.joinable()) cancels.join();
    goes_on.join();
    CHECK(went_on);
  }
  CHECK(n_cancelled > 0);  // the first, before anything is computed
}

TEST_CASE("handles may be closed in any order") {
  const TinyCheckpoint checkpoint(33);
  const TempFolder cache;
  auto engine = std::make_unique<api::Engine>(engine_options(checkpoint, cache));
  auto schema = std::make_unique<api::Schema>(api::Schema::parse(*engine, kSchema));
  auto prompt = std::make_unique<api::Prompt>(*schema, kPrompt);
  const api::Pin pin = prompt->pin();
  api::Session session(*prompt, session_options());
  engine.reset();
  schema.reset();
  prompt.reset();
  api::Session fork = session.fork();
  CHECK(answer(session) == answer(fork));
}

}  // namespace
}  // namespace pc::test
