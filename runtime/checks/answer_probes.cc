#include "runtime/checks/answer_probes.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pml/turns/messages.h"

namespace pc {
namespace {

using Modules = std::vector<std::uint32_t>;  // indices into Layout::modules

constexpr std::size_t kMostModules = 4;
constexpr std::uint32_t kLeastTokens = 4;  // of a module that something can be asked about
constexpr std::size_t kQuotedWords = 5;
constexpr std::size_t kMostWordBytes = 48;  // of scripts that put no spaces between words

// Draws that are the same with every standard library.
class Draw {
 public:
  std::size_t below(std::size_t n) { return generator_() % n; }
  template <class T>
  void shuffle(std::vector<T>* items) {
    for (std::size_t i = items->size(); i > 1; --i) std::swap((*items)[i - 1], (*items)[below(i)]);
  }

 private:
  std::mt19937 generator_{16};
};

bool contains(const Modules& modules, std::uint32_t module) {
  return std::ranges::find(modules, module) != modules.end();
}

// A module and those around it, which an import brings.
Modules brought_by(const pml::Layout& layout, std::uint32_t module) {
  Modules all;
  for (; module != pml::kRoot; module = layout.modules[module].parent) all.push_back(module);
  return all;
}

struct Choice {
  Modules named;     // in the order in which they are imported
  Modules imported;  // with what stands around them
};

// Can this one be imported beside the others? Each is imported once, and a union gives one member.
bool fits(const pml::Layout& layout, const Choice& choice, std::uint32_t module) {
  if (contains(choice.imported, module)) return false;
  for (const std::uint32_t mine : brought_by(layout, module))
    if (contains(choice.named, mine)) return false;
  for (const std::uint32_t mine : brought_by(layout, module))
    for (const std::uint32_t other : choice.imported)
      if (mine != other && layout.modules[mine].union_id != pml::kNone &&
          layout.modules[mine].union_id == layout.modules[other].union_id)
        return false;
  return true;
}

// What stands in one module stands together, in an order that `rank` [modules] gives.
void put_together(const pml::Layout& layout, const std::vector<std::size_t>& rank,
                  Modules* modules) {
  const auto way_to = [&](std::uint32_t module) {
    std::vector<std::size_t> way;
    for (const std::uint32_t brought : brought_by(layout, module)) way.push_back(rank[brought]);
    std::ranges::reverse(way);
    return way;
  };
  std::ranges::sort(*modules, {}, way_to);
}

Choice choose(const pml::Layout& layout, Modules candidates, std::uint64_t most_tokens,
              Draw* draw) {
  draw->shuffle(&candidates);
  const std::size_t n_wanted = 2 + draw->below(kMostModules - 1);
  std::uint64_t n_tokens = layout.modules[pml::kRoot].n_tokens;
  Choice choice;
  for (const std::uint32_t module : candidates) {
    if (choice.named.size() == n_wanted) break;
    if (!fits(layout, choice, module)) continue;
    Modules added;
    std::uint64_t n_added = 0;
    for (const std::uint32_t brought : brought_by(layout, module)) {
      if (contains(choice.imported, brought)) continue;
      added.push_back(brought);
      n_added += layout.modules[brought].n_tokens;
    }
    if (n_tokens + n_added > most_tokens) continue;
    n_tokens += n_added;
    choice.named.push_back(module);
    choice.imported.insert(choice.imported.end(), added.begin(), added.end());
  }
  std::vector<std::size_t> rank(layout.modules.size());
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  draw->shuffle(&rank);
  put_together(layout, rank, &choice.named);
  return choice;
}

// No more bytes of a word than this, cut where a character begins.
std::string_view shortened(std::string_view word) {
  std::size_t n = std::min(word.size(), kMostWordBytes);
  while (n > 0 && n < word.size() && (static_cast<unsigned char>(word[n]) & 0xc0) == 0x80) --n;
  return word.substr(0, n);
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kSpace); begin != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    words.push_back(shortened(text.substr(begin, end - begin)));
    begin = text.find_first_not_of(kSpace, end);
  }
  return words;
}

// Of every other module what follows some words, of the rest what is said about one.
std::string question_about(const std::string& text, bool to_go_on, Draw* draw) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return "What do the texts say?";
  const std::size_t n = std::min(kQuotedWords, words.size());
  const std::size_t first = draw->below(words.size() - n + 1);
  std::string quoted;
  std::string_view longest;
  for (const std::string_view word : std::span(words).subspan(first, n)) {
    quoted += (quoted.empty() ? "" : " ") + std::string(word);
    if (word.size() > longest.size()) longest = word;
  }
  return to_go_on ? "Quote the text from \"" + quoted + "\" on."
                  : "What is said about \"" + std::string(longest) + "\"?";
}

// One <user> with imports and a question behind them -> the imports, and then <user>.
void put_in_front(pml::Prompt* prompt) {
  std::vector<pml::PromptNode>& in_turn = prompt->children.front().children;
  std::vector<pml::PromptNode> imports(std::make_move_iterator(in_turn.begin()),
                                       std::make_move_iterator(in_turn.end() - 1));
  in_turn.erase(in_turn.begin(), in_turn.end() - 1);
  prompt->children.insert(prompt->children.begin(), std::make_move_iterator(imports.begin()),
                          std::make_move_iterator(imports.end()));
}

Result<std::shared_ptr<const LoadedPrompt>> probe(const std::shared_ptr<LoadedSchema>& schema,
                                                  const Choice& choice,
                                                  const std::string& question) {
  pml::Message user;
  for (const std::uint32_t module : choice.named)
    user.parts.push_back({{}, schema->layout().modules[module].path, {}});
  user.parts.push_back({question, {}, {}});
  PC_TRY(pml::Prompt prompt, pml::prompt_of(schema->layout().schema, std::span(&user, 1)));
  // A model without a chat format is asked in no turn.
  if (!schema->engine().text_encoder().chat) {
    std::vector<pml::PromptNode> parts = std::move(prompt.children.front().children);
    prompt.children = std::move(parts);
    return LoadedPrompt::of(schema, std::move(prompt));
  }
  auto in_turn = LoadedPrompt::of(schema, prompt);
  if (in_turn.ok() || in_turn.error().code == Code::kOutOfMemory) return in_turn;
  put_in_front(&prompt);  // modules that hold turns stand in none
  auto in_front = LoadedPrompt::of(schema, std::move(prompt));
  return in_front.ok() ? std::move(in_front) : std::move(in_turn);
}

Error no_probes(const LoadedSchema& schema, const std::string& why) {
  return error(Code::kInvalidArgument, "no prompts can be made from schema \"" +
                                           schema.layout().schema + "\": " + why +
                                           "; give prompts to check answers with");
}

}  // namespace

Result<std::vector<std::shared_ptr<const LoadedPrompt>>> make_probes(
    const std::shared_ptr<LoadedSchema>& schema, std::size_t n) {
  const pml::Layout& layout = schema->layout();
  Modules candidates;
  for (std::uint32_t m = pml::kRoot + 1; m < layout.modules.size(); ++m)
    if (layout.modules[m].stored() && layout.modules[m].n_tokens >= kLeastTokens)
      candidates.push_back(m);
  std::vector<std::shared_ptr<const LoadedPrompt>> probes;
  Draw draw;
  for (std::size_t i = 0; i < n; ++i) {
    const Choice choice = choose(layout, candidates, schema->engine().context_tokens() / 2, &draw);
    if (choice.named.size() < 2)
      return no_probes(*schema, "it has not two modules of some length that can stand together");
    const std::string text = schema->own_text(choice.named[draw.below(choice.named.size())]);
    auto made = probe(schema, choice, question_about(text, i % 2 == 0, &draw));
    if (!made.ok() && made.error().code == Code::kOutOfMemory) return std::move(made).error();
    if (!made.ok()) return no_probes(*schema, made.error().message);
    probes.push_back(std::move(made).value());
  }
  return probes;
}

}  // namespace pc
