// What does it cost to look a conversation up that is in the store, link by link, and to keep one?
//
//   links_bench MODEL [--tokens 8000] [--links 10000] [--repeat 20]
//
// A store is filled with conversations of so many tokens until it has so many links (of 256 tokens,
// and of zeros: nothing is computed). Printed is, of one conversation, the time to find its links
// while no session has them: for the first time in this process, and again; and of one that departs
// amid its last link; and to keep the last one. Medians over conversations, microseconds, and per
// link.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"
#include "modules/module_image.h"
#include "runtime/prompt/link_search.h"

namespace pc::bench {
namespace {

class LinksBench {
 public:
  LinksBench(std::shared_ptr<const Engine> engine, std::uint32_t n_tokens)
      : engine_(std::move(engine)),
        schema_(must(LoadedSchema::parse(engine_, "<schema name='links'/>", ""))),
        n_tokens_(n_tokens) {}

  // Returns its number of links.
  std::size_t add_conversation(Series* keeping) {
    conversations_.push_back(random_tokens(n_tokens_));
    const Chain chain = prompt(conversations_.back())->chain(true);
    std::size_t n = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const Chain::Link& link : chain.links()) n += link.is_kept() && keep(link);
    keeping->values = {microseconds_since(start)};
    return n;
  }

  std::size_t n_conversations() const { return conversations_.size(); }
  const Tokens& conversation(std::size_t i) const { return conversations_[i]; }

  Tokens departing(std::size_t i) {
    Tokens tokens = conversations_[i];
    const Tokens other = random_tokens(200);
    std::ranges::copy(other, tokens.end() - 200);
    return tokens;
  }

  // Adds the time of one look-up. Returns the tokens that were found.
  std::uint64_t look_up(const Tokens& tokens, Series* series) const {
    const auto looked_up = prompt(tokens);
    const auto start = std::chrono::steady_clock::now();
    const FoundChain found = find_links(*looked_up, {.end = looked_up->findable_end()});
    series->add(microseconds_since(start));
    return found.n_found();
  }

 private:
  static double microseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
  }

  std::shared_ptr<const LoadedPrompt> prompt(const Tokens& tokens) const {
    return must(LoadedPrompt::of_tokens(schema_, tokens));
  }

  Tokens random_tokens(std::size_t n) {
    Tokens tokens(n);
    std::uniform_int_distribution<TokenId> word(
        300, static_cast<TokenId>(engine_->tokenizer().facts().vocab_size) - 1);
    for (TokenId& token : tokens) token = word(random_);
    return tokens;
  }

  bool keep(const Chain::Link& link) const {
    const ModuleIdentity identity = Chain::identity(link, schema_->identity());
    const ModuleHandle module = must(must(ModuleImage::create(identity)).seal());
    must(engine_->store()->publish(module));
    engine_->store()->hints().add(Chain::place(link, schema_->identity()), link.tokens,
                                  module->key());
    return true;
  }

  std::shared_ptr<const Engine> engine_;
  std::shared_ptr<LoadedSchema> schema_;
  std::uint32_t n_tokens_;
  std::mt19937 random_{1};
  std::vector<Tokens> conversations_;
};

void print(const char* what, const Series& series, std::uint64_t n_found) {
  const double links = static_cast<double>(n_found) / Chain::kMaxTokens;
  std::printf("| %s | %llu | %.0f | %.1f |\n", what, static_cast<unsigned long long>(n_found),
              series.median(), series.median() / std::max(1.0, links));
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  std::uint32_t n_tokens = 8000, n_links = 10000, repeat = 20;
  Arguments arguments("links_bench MODEL [--tokens 8000] [--links 10000] [--repeat 20]");
  arguments.number("--tokens", &n_tokens, 300).number("--links", &n_links, 1);
  arguments.number("--repeat", &repeat, 1);
  const std::string model = arguments.parse(argc, argv);
  const ScratchDir cache;
  pc::EngineOptions options = engine_options(model, cache.path(), 0, "");
  options.context_tokens = n_tokens + 1;
  options.cache_bytes = 64ull << 30;
  const auto open = [&] { return must(pc::Engine::open(options)); };
  LinksBench bench(open(), n_tokens);
  Series keeping;
  for (std::size_t n = 0; n < n_links;) n += bench.add_conversation(&keeping);

  Series first, again, departing;
  std::uint64_t n_found = 0, n_agreeing = 0;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    const std::size_t at = (i * 7919) % bench.n_conversations();
    n_found = bench.look_up(bench.conversation(at), &first);
    n_found = bench.look_up(bench.conversation(at), &again);
    n_agreeing = bench.look_up(bench.departing(at), &departing);
  }
  std::printf("| what | tokens | us | us a link |\n|---|---|---|---|\n");
  print("first", first, n_found);
  print("again", again, n_found);
  print("departing", departing, n_agreeing);
  print("keeping", keeping, n_found);
  return 0;
}
