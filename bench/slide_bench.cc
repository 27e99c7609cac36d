// What does a conversation lose where its window slides, and does it go on for ever?
//
//   slide_bench MODEL --text FILE [--window 1024] [--tokens 6000] [--threads 0]
//   slide_bench MODEL --recall 40 [--window 1024]
//   slide_bench MODEL --windows 100 [--window 512]
//
// --text: how likely the model finds each token of a text (perplexity), read token by token, with a
// window that slides; with what is left computed anew each time that it slides; and with a window
// for all of it. Tokens of the first window count for nothing: all three have those.
//
// --recall: a chat tells a code a turn, until the window has slid over half of them; then it is
// asked for each that it still has, and so is one in which what is left was computed anew, and one
// that has all. Printed: how many answers hold the code.
//
// --windows: a chat of so many windows; by tens of them the time of a token, the first token's, and
// the memory of the process.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"
#include "runtime/scheduler/stopwatch.h"

namespace pc::bench {
namespace {

struct Setting {
  std::string model, text;
  std::uint32_t window = 1024, tokens = 6000, recall = 0, windows = 0, threads = 0;
};

Setting parse(int argc, char** argv) {
  Setting a;
  a.model = Arguments(
                "slide_bench MODEL --text FILE | --recall N | --windows N [--window 1024] "
                "[--tokens 6000] [--threads 0]")
                .text("--text", &a.text)
                .number("--window", &a.window, 256)
                .number("--tokens", &a.tokens, 1)
                .number("--recall", &a.recall)
                .number("--windows", &a.windows)
                .number("--threads", &a.threads)
                .parse(argc, argv);
  return a;
}

// A schema without text, on a model with a window of so many tokens (0: its own).
std::shared_ptr<LoadedSchema> open(const Setting& a, const ScratchDir& cache,
                                   std::uint32_t window) {
  EngineOptions o = engine_options(a.model, cache.path(), a.threads, "");
  o.context_tokens = window;
  return must(LoadedSchema::parse(must(Engine::open(o)), "<schema name='slide'/>", ""));
}

SessionOptions options(std::uint32_t max_tokens, Overflow overflow) {
  SessionOptions o;
  o.max_tokens = max_tokens;
  o.overflow = overflow;
  o.max_draft = 0;  // one token a step is what is measured
  return o;
}

// ---- perplexity

double surprise(std::span<const float> logits, TokenId token) {
  double most = -INFINITY, sum = 0;
  for (const float logit : logits) most = std::max(most, double{logit});
  for (const float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum) - logits[static_cast<std::size_t>(token)];
}

std::unique_ptr<Session> begin(const std::shared_ptr<LoadedSchema>& schema,
                               std::span<const TokenId> tokens, Overflow overflow) {
  auto session =
      must(Session::open(must(LoadedPrompt::of_tokens(schema, tokens)), options(0, overflow)));
  if (!session->prefill().ok()) die("the text's beginning cannot be computed");
  return session;
}

// Mean of the tokens behind the first window. anew: what a slide leaves is computed again.
double surprise_of(const std::shared_ptr<LoadedSchema>& schema, const Tokens& tokens,
                   const Setting& a, bool anew) {
  const std::size_t first = a.window / 2;
  auto session = begin(schema, std::span(tokens).first(first), Overflow::kSlide);
  Tokens left(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(first));
  double sum = 0;
  std::size_t n = 0;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    if (i >= a.window) sum += surprise(session->logits(), tokens[i]), ++n;
    const Status appended = session->append_tokens(std::span(tokens).subspan(i, 1));
    if (!appended.ok()) die(appended.error().message);
    left.push_back(tokens[i]);
    const std::size_t has = static_cast<std::size_t>(session->position());
    if (has == left.size()) continue;
    // The first tokens stayed; what followed them went.
    const auto sinks = left.begin() + 16;
    left.erase(sinks, sinks + static_cast<std::ptrdiff_t>(left.size() - has));
    if (anew) session = begin(schema, left, Overflow::kSlide);
  }
  return sum / static_cast<double>(n);
}

void measure_text(const Setting& a) {
  std::ifstream file(a.text, std::ios::binary);
  if (!file) die(a.text + " cannot be read");
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.resize(std::min<std::size_t>(text.size(), std::size_t{a.tokens} * 8));
  const ScratchDir cache;
  const auto small = open(a, cache, a.window), whole = open(a, cache, 0);
  Tokens tokens = must(small->engine().tokenizer().encode(text));
  tokens.resize(std::min<std::size_t>(tokens.size(), a.tokens));
  const double slides = surprise_of(small, tokens, a, false);
  const double anew = surprise_of(small, tokens, a, true);
  const double all = surprise_of(whole, tokens, a, false);
  std::printf(
      "perplexity of %zu tokens behind the first %u: %.3f where the window of %u slides, "
      "%.3f computed anew, %.3f with all before them\n",
      tokens.size() - a.window, a.window, std::exp(slides), a.window, std::exp(anew),
      std::exp(all));
}

// ---- recall

const char* const kPlaces[] = {"harbour", "library", "bakery", "station", "museum", "theatre",
                               "chapel",  "garage",  "school", "clinic",  "castle", "market",
                               "forge",   "mill",    "tower",  "bridge"};
const char* const kColours[] = {"red", "blue", "green", "white", "black", "yellow", "grey"};

std::string place(std::uint32_t i) {
  return std::string("the ") + kColours[i % std::size(kColours)] + " " +
         kPlaces[i % std::size(kPlaces)] + " of district " + std::to_string(1 + i / 7);
}

std::string code(std::uint32_t i) {
  return std::to_string(1000 + i * 2621 % 8999);
}

std::string said(Session& session) {
  std::string text;
  while (must(session.next())) text += session.text();
  return text + session.text();
}

void append(Session& session, const std::string& text) {
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, text}};
  const Status appended = session.append(turns);
  if (!appended.ok()) die(appended.error().message);
}

std::unique_ptr<Session> open_chat(const std::shared_ptr<LoadedSchema>& schema,
                                   const std::vector<std::string>& turns,
                                   std::uint32_t max_tokens) {
  std::vector<pml::Message> messages = {
      {pml::Role::kSystem, {{"You note codes and give them back.", "", {}}}}};
  for (std::size_t i = 0; i < turns.size(); ++i)
    messages.push_back(
        {i % 2 == 0 ? pml::Role::kUser : pml::Role::kAssistant, {{turns[i], "", {}}}});
  return must(Session::open(must(LoadedPrompt::of_messages(schema, messages)),
                            options(max_tokens, Overflow::kSlide)));
}

std::uint32_t n_recalled(const Session& session, std::uint32_t first, std::uint32_t n) {
  std::uint32_t right = 0;
  for (std::uint32_t i = first; i < n; ++i) {
    const auto fork = must(session.fork());
    append(*fork, "Which code has " + place(i) + "? The number alone.");
    right += said(*fork).find(code(i)) != std::string::npos;
  }
  return right;
}

void measure_recall(const Setting& a) {
  const ScratchDir cache;
  const auto small = open(a, cache, a.window), whole = open(a, cache, 0);
  std::vector<std::string> turns;
  std::unique_ptr<Session> slides;
  std::uint32_t n = 0;
  for (; n < 2 * a.recall && (!slides || slides->stats().dropped_turns < a.recall); ++n) {
    turns.push_back("Note: " + place(n) + " has the code " + code(n) + ". Say OK.");
    if (!slides)
      slides = open_chat(small, turns, 16);
    else
      append(*slides, turns.back());
    turns.push_back(said(*slides));
  }
  const std::uint64_t gone = slides->stats().dropped_turns;
  const auto first = static_cast<std::uint32_t>(gone / 2);
  const auto answered = [&](const std::shared_ptr<LoadedSchema>& schema, std::size_t from) {
    // What the last answer was is drawn again.
    auto chat =
        open_chat(schema, {turns.begin() + static_cast<std::ptrdiff_t>(from), turns.end() - 1}, 16);
    said(*chat);
    return chat;
  };
  std::printf(
      "%u codes told, the first %u of them gone; of the %u others it gives back: %u where "
      "the window of %u slides, ",
      n, first, n - first, n_recalled(*slides, first, n), a.window);
  std::printf("%u computed anew, %u with all before them\n",
              n_recalled(*answered(small, gone), first, n),
              n_recalled(*answered(whole, 0), first, n));
}

// ---- for ever

// Of its own, without files that it maps.
double memory_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib / 1024;
  }
  die("/proc/self/status has no RssAnon");
}

void measure_windows(const Setting& a) {
  const ScratchDir cache;
  const auto schema = open(a, cache, a.window);
  auto session = open_chat(schema, {"Tell me about the harbour of district 0."}, 32);
  Series token_ms, first_ms;
  std::printf(
      "| windows | turns | a token, ms | first token, ms | the latest, ms | memory, MiB |\n"
      "|--|--|--|--|--|--|\n");
  std::uint64_t turn = 1;
  for (std::uint32_t tens = 1; tens <= (a.windows + 9) / 10; ++tens) {
    const std::uint64_t until = std::uint64_t{10} * tens * a.window;
    for (;
         session->stats().dropped_tokens + static_cast<std::uint64_t>(session->position()) < until;
         ++turn) {
      const std::size_t n = said(*session).size();
      const SessionStats& stats = session->stats();
      if (stats.generated_tokens > 1)
        token_ms.add(static_cast<double>(stats.decode_us) / 1e3 /
                     static_cast<double>(stats.generated_tokens - 1));
      append(*session, "And " + place(static_cast<std::uint32_t>(turn)) + ", whose code is " +
                           code(static_cast<std::uint32_t>(turn + n % 2)) +
                           "? Say in a sentence what one may do there on a rainy day.");
      first_ms.add(static_cast<double>(session->stats().ttft_us) / 1e3);
    }
    std::printf("| %u | %llu | %.1f | %.0f | %.0f | %.0f |\n", 10 * tens,
                static_cast<unsigned long long>(turn), token_ms.median(), first_ms.median(),
                first_ms.quantile(1), memory_mib());
    std::fflush(stdout);
    token_ms = first_ms = {};
  }
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  const Setting a = parse(argc, argv);
  if (!a.text.empty()) measure_text(a);
  if (a.recall != 0) measure_recall(a);
  if (a.windows != 0) measure_windows(a);
  return 0;
}
