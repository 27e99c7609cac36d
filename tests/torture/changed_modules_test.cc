// E4: while eight threads decode, the file of a module that they have mapped is cut short, loses
// pages to a hole, or is written over. The process lives, each answer is right or an error of its
// request, and whoever asks afterwards gets the right answer.
//
// Caught, when it was put into the product: no handler of SIGBUS (the process ends), steps that do
// not ask whether their modules were written to (wrong answers without an error), and sessions that
// do not ask before they use a module (the later ones are wrong).

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "base/mapped_file.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_checkpoint.h"
#include "tests/torture/torture.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kThreads = 8;
constexpr std::uint32_t kTokens = 64;
constexpr const char* kSchema =
    "<schema name='s'><module name='a'>The tram to the harbour is late again today.</module>"
    "<module name='b'>The museum is open until six.</module></schema>";
constexpr const char* kPrompt = "<prompt schema='s'><a/><b/>When?</prompt>";

enum class Change { kCut, kHole, kOverwrite };

// False: it could not be done.
bool change(const std::string& path, Change how) {
  const bool opened = ::chmod(path.c_str(), 0600) == 0;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (!opened || fd < 0) return false;
  const auto size = static_cast<off_t>(fs::file_size(path)), half = size / 2 / 4096 * 4096;
  const std::string noise(static_cast<std::size_t>(size - half), '\x3f');
  bool done = false;
  if (how == Change::kCut) done = ::ftruncate(fd, half) == 0;
  if (how == Change::kHole)
    done = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, half, size - half) == 0;
  if (how == Change::kOverwrite)
    done = ::pwrite(fd, noise.data(), noise.size(), half) == static_cast<ssize_t>(noise.size());
  ::close(fd);
  return done;
}

class Place {
 public:
  Place() {
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.n_threads = 2;
    schema_ = must(LoadedSchema::parse(must(Engine::open(o)), kSchema, ""));
  }

  // All tokens of an answer, or the first error.
  Result<Tokens> answer(const std::function<void()>& after_first = [] {}) const {
    SessionOptions o;
    o.max_tokens = kTokens;
    PC_TRY(auto prompt, LoadedPrompt::parse(schema_, kPrompt));
    PC_TRY(const auto session, Session::open(std::move(prompt), o));
    Tokens tokens;
    while (true) {
      PC_TRY(const std::optional<TokenId> token, session->next());
      if (!token) return tokens;
      tokens.push_back(*token);
      if (tokens.size() == 1) after_first();
    }
  }
  std::string some_module(std::mt19937& random) const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(cache_.path() + "/v3/objects"))
      paths.push_back(entry.path().string());
    REQUIRE(!paths.empty());
    return paths[random() % paths.size()];
  }

 private:
  TinyCheckpoint checkpoint_{33};
  TempFolder cache_;
  std::shared_ptr<LoadedSchema> schema_;
};

struct Tally {
  std::atomic<int> right{0}, failed{0}, wrong{0}, other_errors{0}, later_wrong{0}, unchanged{0};
};

// The first answer has its first token when the change comes, and waits for it; the others race.
void run_round(const Place& place, const Tokens& expected, Change how, std::mt19937& random,
               Tally* tally) {
  std::this_thread::sleep_for(20ms);  // what was written before has an older time, on any clock
  std::atomic<int> begun{0}, over{0};
  std::atomic<bool> waits{false}, changed{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const auto tokens = place.answer([&] {
        ++begun;
        if (i == 0) waits = true;
        while (i == 0 && !changed) std::this_thread::yield();
      });
      if (tokens.ok())
        ++(*tokens == expected ? tally->right : tally->wrong);
      else
        ++(tokens.error().code == Code::kIo ? tally->failed : tally->other_errors);
      ++over;
    });
  const int wanted = static_cast<int>(random() % kThreads);
  while ((begun < wanted || !waits) && over < kThreads) std::this_thread::yield();
  tally->unchanged += !change(place.some_module(random), how);
  changed = true;
  for (std::thread& thread : threads) thread.join();
  const auto later = place.answer();
  tally->later_wrong += !later.ok() || *later != expected;
}

TEST_CASE("E4: a module that changes under eight answers is an error of theirs, or nothing") {
  REQUIRE(guard_mappings().ok());
  const Place place;
  const Tokens expected = must(place.answer());
  REQUIRE(expected.size() > 1);
  std::mt19937 random(13);
  Tally tally;
  const int rounds = n_rounds(60, 201);
  for (int i = 0; i < rounds; ++i)
    run_round(place, expected, static_cast<Change>(i % 3), random, &tally);
  CHECK(tally.wrong == 0);
  CHECK(tally.unchanged == 0);
  CHECK(tally.other_errors == 0);
  CHECK(tally.later_wrong == 0);
  CHECK(tally.failed >= rounds);
  CHECK(tally.right + tally.failed == rounds * kThreads);
  say("E4", std::to_string(rounds) + " changes (cut, hole, overwrite) under " +
                std::to_string(kThreads) + " answers each: " + std::to_string(tally.right) +
                " right, " + std::to_string(tally.failed) + " failed by name, " +
                std::to_string(tally.wrong) +
                " wrong; later answers wrong: " + std::to_string(tally.later_wrong));
}

}  // namespace
}  // namespace pc::test
