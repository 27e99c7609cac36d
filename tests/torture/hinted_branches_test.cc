// H1: processes read and keep the branches of one tree of texts, in one store, and are killed at
// any instant, while somebody spoils the hints of what follows what (modules/link_hints.h): they
// are removed, cut, changed, exchanged, pointed at other files, made folders, and collected with
// the files they name. No answer differs from that of computing all, and nobody fails. Afterwards
// other branches are found again.
//
// Caught, when it was put into the product: a hinted file taken for what the hint says of it,
// without making its identity out of its own tokens.

#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <random>
#include <thread>

#include "modules/link_hints.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_checkpoint.h"
#include "tests/torture/torture.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kProcesses = 3, kTexts = 48;
constexpr float kRounding = 1e-4f;  // of logits of about one, in another order of sums

struct Tally {
  std::atomic<std::uint64_t> reads{0}, wrong{0}, failed{0}, found_tokens{0}, tokens{0};
  std::atomic<bool> is_over{false};
};

// Text i goes on from somewhere in an earlier one. The same in every process.
std::vector<Tokens> tree(std::uint32_t seed = 11) {
  std::mt19937 random(seed);
  std::vector<Tokens> texts;
  for (int i = 0; i < kTexts; ++i) {
    Tokens text;
    if (!texts.empty()) {
      text = texts[random() % texts.size()];
      text.resize(random() % std::min<std::size_t>(text.size(), 500));
    }
    const std::size_t n = text.size() + 20 + random() % 300;
    while (text.size() < n) text.push_back(static_cast<TokenId>(300 + random() % 300));
    texts.push_back(std::move(text));
  }
  return texts;
}

class Reader {
 public:
  Reader(const std::string& model, const std::string& cache) {
    EngineOptions o;
    o.model_path = model;
    o.cache_dir = cache;
    o.kv_type = KvType::kF32;
    o.n_threads = 1;
    schema_ = must(LoadedSchema::parse(must(Engine::open(o)), "<schema name='s'/>", ""));
  }

  // How many of its tokens are kept.
  std::uint64_t read_and_keep(const Tokens& text, Tally* tally) const {
    const auto prompt = must(LoadedPrompt::of_tokens(schema_, text));
    const auto session = open(prompt, false), whole = open(prompt, true);
    const bool failed = !session->prefill().ok() || !whole->prefill().ok();
    tally->failed += failed;
    if (failed) return 0;
    float apart = 0;
    for (std::size_t i = 0; i < whole->logits().size(); ++i)
      apart = std::max(apart, std::fabs(session->logits()[i] - whole->logits()[i]));
    tally->wrong += !(apart <= kRounding);
    tally->found_tokens += session->stats().chained_tokens;
    tally->tokens += text.size();
    ++tally->reads;
    const auto kept = session->keep();
    tally->failed += !kept.ok();
    return kept.ok() ? *kept : 0;
  }

 private:
  static std::unique_ptr<Session> open(const std::shared_ptr<const LoadedPrompt>& prompt,
                                       bool no_reuse) {
    SessionOptions o;
    o.max_tokens = 1;
    o.no_reuse = no_reuse;
    return must(Session::open(prompt, o));
  }

  std::shared_ptr<LoadedSchema> schema_;
};

int read_at_random(const std::string& model, const std::string& cache, std::uint32_t seed,
                   Tally* tally) {
  const std::vector<Tokens> texts = tree();
  const Reader reader(model, cache);
  std::mt19937 random(seed);
  while (!tally->is_over) reader.read_and_keep(texts[random() % texts.size()], tally);
  return 0;
}

// Spoils one hint in one of its ways.
class Vandal {
 public:
  explicit Vandal(const std::string& cache) : cache_(cache) {}

  void spoil(std::mt19937& random) const {
    const std::vector<fs::path> hints = files("/v3/next"), objects = files("/v3/objects");
    if (hints.empty() || objects.empty()) return;
    const fs::path& hint = hints[random() % hints.size()];
    const std::string bytes = read(hint);
    std::error_code ignored;
    switch (random() % 9) {
      case 0:
        fs::remove_all(hint, ignored);
        break;
      case 1:
        write(hint, bytes.substr(0, random() % (bytes.size() + 1)));
        break;
      case 2:
        write(hint, flipped(bytes, random));
        break;
      case 3:
        write(hint, read(hints[random() % hints.size()]));
        break;
      case 4:
        write(hint, pointed_at(objects[random() % objects.size()], bytes));
        break;
      case 5:
        fs::remove_all(hint, ignored);
        fs::create_directory(hint, ignored);
        break;
      case 6:
        fs::permissions(hint, static_cast<fs::perms>(random() % 0777), ignored);
        break;
      case 7:
        if (random() % 16 == 0) fs::remove_all(cache_ + "/v3/next", ignored);
        break;
      case 8:
        if (random() % 16 == 0) (void)open_store(cache_)->gc(random() % 2'000'000);
        break;
    }
  }

 private:
  std::vector<fs::path> files(const std::string& folder) const {
    std::vector<fs::path> found;
    std::error_code gone;
    for (fs::directory_iterator i(cache_ + folder, gone), end; !gone && i != end; i.increment(gone))
      found.push_back(i->path());
    return found;
  }
  static std::string read(const fs::path& path) {
    std::error_code gone;
    if (!fs::is_regular_file(path, gone)) return "";
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void write(const fs::path& path, const std::string& bytes) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_read, ignored);
  }
  static std::string flipped(std::string bytes, std::mt19937& random) {
    if (!bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    return bytes;
  }
  // All hashes as they were, and another file behind each of them.
  static std::string pointed_at(const fs::path& object, std::string bytes) {
    const auto key = from_hex(object.stem().string());
    for (std::size_t at = 8; key && at + 64 <= bytes.size(); at += 64)
      std::copy_n(reinterpret_cast<const char*>(key->data()), key->size(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return bytes;
  }

  std::string cache_;
};

TEST_CASE("H1: whatever becomes of hints, no answer differs and nobody fails") {
  const TinyCheckpoint checkpoint{5, 1024, 32};
  const TempFolder cache;
  open_store(cache.path());
  Tally& tally = *shared<Tally>();
  std::mt19937 random(5);
  std::vector<pid_t> readers;
  std::uint32_t seed = 0;
  const auto add_reader = [&] {
    const std::uint32_t its_seed = ++seed;
    readers.push_back(spawn([&, its_seed] {
      return read_at_random(checkpoint.path(), cache.path(), its_seed, &tally);
    }));
  };
  for (int i = 0; i < kProcesses; ++i) add_reader();
  const Vandal vandal(cache.path());
  const auto n_reads = static_cast<std::uint64_t>(n_rounds(150, 20'000));
  std::uint64_t n_spoilt = 0, n_killed = 0, n_ended = 0;
  while (tally.reads < n_reads && tally.wrong == 0 && tally.failed == 0) {
    vandal.spoil(random);
    std::this_thread::sleep_for(1ms);
    if (++n_spoilt % 50 != 0) continue;
    const std::size_t victim = random() % readers.size();
    ::kill(readers[victim], SIGKILL);
    n_ended += end_of(readers[victim]) != -SIGKILL;
    readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(victim));
    ++n_killed;
    add_reader();
  }
  tally.is_over = true;
  for (const pid_t reader : readers) n_ended += end_of(reader) != 0;
  CHECK(tally.wrong == 0);
  CHECK(tally.failed == 0);
  CHECK(n_ended == 0);
  // In the folder that is left, hints are written and found again.
  const int end = end_of(spawn([&] {
    Tally first, again;
    std::uint64_t n_kept = 0;
    const std::vector<Tokens> texts = tree(12);
    for (const Tokens& text : texts)
      n_kept += Reader(checkpoint.path(), cache.path()).read_and_keep(text, &first);
    for (const Tokens& text : texts)
      Reader(checkpoint.path(), cache.path()).read_and_keep(text, &again);
    const bool is_sound = first.wrong + first.failed + again.wrong + again.failed == 0;
    return is_sound && again.found_tokens + LinkHints::kMinTokens * kTexts > n_kept ? 0 : 1;
  }));
  CHECK(end == 0);
  say("H1",
      std::to_string(tally.reads) + " texts read and kept by " + std::to_string(kProcesses) +
          " processes, " + std::to_string(n_killed) + " killed, while hints were spoilt " +
          std::to_string(n_spoilt) + " times; " +
          std::to_string(100 * tally.found_tokens / std::max<std::uint64_t>(1, tally.tokens)) +
          " % of their tokens found, wrong answers: " + std::to_string(tally.wrong) +
          ", failures: " + std::to_string(tally.failed));
}

}  // namespace
}  // namespace pc::test
