// Reuse to the token: a text that departs from kept ones anywhere computes what is new, gives what
// computing all gives, and writes nothing that a sibling holds; hints that are lost, damaged or
// forged cost reuse alone.
#include "runtime/prompt/link_search.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr float kRounding = 1e-4f;  // of logits of about one, in another order of sums

Tokens drawn(std::uint32_t seed, std::size_t n) {
  std::mt19937 random(seed);
  Tokens tokens(n);
  for (TokenId& token : tokens) token = static_cast<TokenId>(300 + random() % 300);
  return tokens;
}

Tokens joined(const Tokens& a, std::size_t n_of_a, const Tokens& b) {
  Tokens all(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n_of_a));
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Texts of tokens, in a store.
class Shelf {
 public:
  Shelf() { home_.use_schema("<schema name='s'/>"); }

  std::unique_ptr<Session> read(const Tokens& tokens, bool reuse = true, bool moves = false) {
    SessionOptions o;
    o.max_tokens = 1;
    o.moves = moves;
    o.no_reuse = !reuse;
    const auto prompt = must(LoadedPrompt::of_tokens(home_.schema, tokens));
    auto session = must(Session::open(prompt, o));
    must(session->prefill());
    return session;
  }
  // How many of its tokens are in the store from now on.
  std::uint64_t keep(const Tokens& tokens) { return must(read(tokens)->keep()); }

  // Reads it, and holds it against the same computed whole. How many of its tokens were there.
  std::uint64_t found(const Tokens& tokens) {
    const auto session = read(tokens), whole = read(tokens, false);
    float apart = 0;
    for (std::size_t i = 0; i < whole->logits().size(); ++i)
      apart = std::max(apart, std::fabs(session->logits()[i] - whole->logits()[i]));
    CHECK(apart <= kRounding);
    const SessionStats& stats = session->stats();
    CHECK(stats.chained_tokens + stats.computed_tokens == tokens.size());
    return stats.chained_tokens;
  }

  Apartment& home() { return home_; }
  std::filesystem::path folder(const std::string& name) const {
    return home_.cache() + "/v3/" + name;
  }

 private:
  Apartment home_;
};

std::uintmax_t bytes_in(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

}  // namespace

TEST_CASE("a text that departs amid a link computes what is new, also by another process") {
  Shelf shelf;
  const Tokens text = drawn(1, 600);
  CHECK(shelf.keep(text) == 512);
  for (const bool restarts : {false, true}) {
    if (restarts) shelf.home().restart();
    CHECK(shelf.found(joined(text, 400, drawn(2, 60))) == 400);
    CHECK(shelf.found(joined(text, 100, drawn(3, 60))) == 100);
    CHECK(shelf.found(joined(text, 100, {})) == 99);  // the last gives the logits
    CHECK(shelf.found(joined(text, 260, drawn(4, 60))) ==
          256);                              // four more are not worth a segment
    CHECK(shelf.found(drawn(5, 300)) <= 1);  // BOS is none of it
  }
}

TEST_CASE("a branch that is kept holds nothing that its sibling does, and is found") {
  Shelf shelf;
  const Tokens text = drawn(1, 600), branch = joined(text, 400, drawn(2, 300)),
               twig = joined(branch, 500, drawn(3, 40));
  shelf.keep(text);
  const std::uintmax_t before = bytes_in(shelf.folder("objects"));
  CHECK(shelf.keep(branch) == 656);
  CHECK(shelf.home().n_files() == 3);
  CHECK(bytes_in(shelf.folder("objects")) == before + before / 2);  // 256 tokens beside 512
  shelf.home().restart();
  CHECK(shelf.found(branch) == 656);
  CHECK(shelf.found(twig) == 500);
  CHECK(shelf.found(text) == 512);
}

TEST_CASE("what explain counts is what a session finds") {
  Shelf shelf;
  const Tokens text = drawn(1, 600), branch = joined(text, 400, drawn(2, 60));
  shelf.keep(text);
  const auto prompt = must(LoadedPrompt::of_tokens(shelf.home().schema, branch));
  const FoundChain found = find_links(*prompt, {.end = prompt->plan.end});
  CHECK(found.n_found() == 400);
  CHECK(found.lookups.size() == found.chain.links().size());
  CHECK(found.chain.n_tokens() == branch.size());
  CHECK(find_links(*prompt, {.end = 300}).n_found() == 300);
}

TEST_CASE("a later piece of a text that was kept stands where it is asked for, as approximate") {
  Shelf shelf;
  // A question, a thought, an answer; a history without the thought, and a question more.
  const Tokens question = drawn(1, 100), thought = drawn(2, 300), answer = drawn(3, 200),
               said = joined(joined(question, 100, thought), 400, answer), closing = drawn(4, 5),
               told = joined(joined(question, 100, closing), 105, answer),
               more = joined(told, 305, drawn(5, 60));
  shelf.keep(said);
  CHECK(shelf.found(more) == 100);  // unless it is asked for, all that stands there is exact
  for (const bool restarts : {false, true}) {
    if (restarts) shelf.home().restart();
    const auto session = shelf.read(more, true, true);
    const SessionStats& stats = session->stats();
    CHECK(stats.moved_tokens == 112);  // the end of the answer is in no link: 600 - 512
    CHECK(stats.chained_tokens == 212);
    CHECK(stats.chained_tokens + stats.computed_tokens == more.size());
  }
  // What follows is kept for those who ask for it alone.
  CHECK(must(shelf.read(more, true, true)->keep()) >= 100);
  const Tokens again = joined(more, 365, drawn(6, 30));
  CHECK(shelf.found(again) == 100);
  CHECK(shelf.read(again, true, true)->stats().chained_tokens >= 212);
}

TEST_CASE("a history that leaves out several thoughts has all that stood between them") {
  Shelf shelf;
  const Tokens parts[] = {drawn(1, 40), drawn(2, 90),  drawn(3, 50), drawn(4, 70),
                          drawn(5, 80), drawn(6, 110), drawn(7, 70), drawn(8, 30)};
  Tokens said, told;
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    const bool is_thought = i % 2 == 1 && i < 6;
    said.insert(said.end(), parts[i].begin(), parts[i].end());
    if (!is_thought) told.insert(told.end(), parts[i].begin(), parts[i].end());
  }
  CHECK(shelf.keep(said) == 512);
  const auto session = shelf.read(told, true, true);
  const std::size_t n_moved = 512 - 40 - 90 - 70 - 110;  // of what is in links
  CHECK(session->stats().moved_tokens == n_moved);
  CHECK(session->stats().chained_tokens == 40 + n_moved);
  CHECK(session->stats().computed_tokens == told.size() - 40 - n_moved);
  CHECK(shelf.found(told) == 40);
}

TEST_CASE("hints that are lost, damaged or another's cost reuse and nothing else") {
  Shelf shelf;
  const Tokens text = drawn(1, 600), other = drawn(2, 600),
               branch = joined(text, 400, drawn(3, 60));
  shelf.keep(text);
  shelf.keep(other);
  std::vector<std::filesystem::path> hints;
  for (const auto& entry : std::filesystem::directory_iterator(shelf.folder("next")))
    hints.push_back(entry.path());
  REQUIRE(hints.size() >= 3);
  const std::size_t n_files = shelf.home().n_files();
  std::vector<std::string> contents;
  for (const auto& path : hints) {
    std::ifstream file(path, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  const auto write = [&](std::size_t i, const std::string& bytes) {
    std::filesystem::remove(hints[i]);
    std::ofstream(hints[i], std::ios::binary) << bytes;
    std::filesystem::permissions(hints[i], std::filesystem::perms::owner_read);
  };
  for (std::size_t i = 0; i < hints.size(); ++i) write(i, contents[(i + 1) % hints.size()]);
  CHECK(shelf.found(branch) >= 256);
  for (std::size_t i = 0; i < hints.size(); ++i) write(i, contents[i].substr(0, 40));
  CHECK(shelf.found(branch) == 256);
  // The keys of other files, behind hashes that are right.
  for (std::size_t i = 0; i < hints.size(); ++i) {
    std::string forged = contents[i];
    for (std::size_t at = 8; at + 64 <= forged.size(); at += 64)
      std::copy_n(contents[(i + 1) % hints.size()].begin() + 8, 32,
                  forged.begin() + static_cast<std::ptrdiff_t>(at));
    write(i, forged);
  }
  CHECK(shelf.found(branch) >= 256);
  CHECK(shelf.home().n_files() == n_files);  // none was set aside for what a hint said of it
  std::filesystem::remove_all(shelf.folder("next"));
  CHECK(shelf.found(branch) == 256);
  shelf.home().restart();
  CHECK(shelf.found(branch) == 256);
}

TEST_CASE("in a tree of texts each finds the longest beginning that was kept") {
  Shelf shelf;
  std::mt19937 random(7);
  std::vector<std::pair<Tokens, std::uint64_t>> kept;
  for (std::uint32_t i = 0; i < 24; ++i) {
    Tokens text = drawn(100 + i, 300 + random() % 300);
    if (!kept.empty()) {
      const Tokens& stem = kept[random() % kept.size()].first;
      text = joined(stem, random() % stem.size(), text);
      text.resize(std::min<std::size_t>(text.size(), 900));
    }
    std::uint64_t longest = 0;
    for (const auto& [other, n_kept] : kept) {
      const auto agree =
          static_cast<std::uint64_t>(std::ranges::mismatch(other, text).in1 - other.begin());
      longest = std::max(longest, std::min(agree, n_kept));
    }
    INFO("text " << i << ", " << text.size() << " tokens, " << longest << " of them kept");
    CHECK(shelf.found(text) + LinkHints::kMinTokens >
          std::min<std::uint64_t>(longest, text.size() - 1));
    kept.emplace_back(text, shelf.keep(text));
  }
}

}  // namespace pc::test
