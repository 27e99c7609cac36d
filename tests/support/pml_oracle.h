// What a schema and a prompt must come to, found by plain recursion over their
// trees (pml_tree.h), with none of the project's parsers, layouts or plans:
// whether the prompt is refused, its tokens in order with positions and sources,
// the pass of every source, and which remarks are due.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pml_flat_oracle.h"

namespace pc::test {

// A token of the flat prompt.
struct FlatToken {
  TokenId token = 0;
  Position position = 0;
  char kind = 't';  // c: cached, u: of a module with cache="false", a: argument, t: text, r: role
  std::string source;  // c: name of the job; "": the anonymous text's
  bool moved = false;

  friend bool operator==(const FlatToken&, const FlatToken&) = default;
};

// A token of a job's pass.
struct PassToken {
  TokenId token = 0;
  Position position = 0;
  bool keep = false;

  friend bool operator==(const PassToken&, const PassToken&) = default;
};
using PassTokens = std::vector<PassToken>;

class PmlOracle : public PmlFlatOracle {
 public:
  PmlOracle(Input input, FakeTokenizer tokenizer)
      : PmlFlatOracle(std::move(input), std::move(tokenizer)) {
    if (refusal) return;
    choose_sources();
    place();
    note_schema();
    note_prompt();
  }

  std::vector<FlatToken> tokens;             // in order of position
  std::map<std::string, PassTokens> passes;  // of every job, by name

 private:
  // ---- passes

  struct Pass {
    const PmlOracle& oracle;
    PassTokens tokens = {};
    Position end = 0, later = 0;

    void put(const Tokens& more, bool keep) {
      for (const TokenId token : more) tokens.push_back({token, end++, keep});
    }
    void leaf(int index, bool keep) {
      const Leaf& leaf = oracle.leaves_[at(index)];
      if (oracle.in_.positions == "schema") {
        later = std::max(later, end - leaf.position);
        end = leaf.position + later;
      }
      put(leaf.tokens, keep && leaf.what == Leaf::What::kText);
    }
    void open(int turn) {
      const std::string& text = oracle.opens_[at(turn)];
      const bool first = oracle.in_.bos
                             ? tokens.size() == 1 && tokens[0].token == FakeTokenizer::kBos
                             : tokens.empty();
      put(first ? oracle.tokenizer_.opening_markup(text) : oracle.tokenizer_.markup(text), false);
    }
    PassTokens finish() {
      while (!tokens.empty() && !tokens.back().keep) tokens.pop_back();
      return tokens;
    }
  };
  bool is_leaf(const Event& event) const {
    return event.what == Event::What::kLeaf || event.what == Event::What::kArgument ||
           (event.what == Event::What::kClose && event.index >= 0);
  }
  bool is_around(int outer, int module) const {
    for (int m = module; m >= 0; m = m == 0 ? -1 : mods_[at(m)].parent)
      if (m == outer) return true;
    return false;
  }
  std::size_t find(Event::What what, int turn) const {
    for (std::size_t i = 0; i < events_.size(); ++i)
      if (events_[i].what == what && events_[i].turn == turn && events_[i].index < 0) return i;
    return events_.size();
  }
  std::size_t enter(int module) const {
    for (std::size_t i = 0; i < events_.size(); ++i)
      if (events_[i].what == Event::What::kEnter && events_[i].index == module) return i;
    return 0;
  }
  bool imported(int module) const {
    return module == 0 || enter(module) != 0 ||
           (!events_.empty() && events_[0].what == Event::What::kEnter &&
            events_[0].index == module);
  }

  PassTokens module_pass(int module) {
    if (in_.attend == "schema") return schema_pass(module);
    Pass pass{*this};
    const std::size_t begin = module == 0 ? 0 : enter(module);
    for (std::size_t i = 0; sees_prefix() && i < begin; ++i) {
      const Event& event = events_[i];
      if (event.what == Event::What::kEnter && is_around(event.index, module))
        add_stand_ins(pass, event.index, module);
      if (is_leaf(event) && is_around(leaves_[at(event.index)].owner, module))
        pass.leaf(event.index, false);
      if (event.what == Event::What::kOpen && find(Event::What::kClose, event.turn) > begin)
        pass.open(event.turn);
    }
    if (sees_prefix() && module != 0) add_stand_ins(pass, module, module);
    add_held(
        pass, begin, [&](int owner) { return owner == module; },
        [&](const Turn& turn) { return turn.owner == module && (module == 0 || sees_prefix()); },
        module);
    return pass.finish();
  }
  bool sees_prefix() const { return in_.attend == "prefix" || in_.attend == "slots"; }

  // In front of `around`, which is around the module or is it: one for each module beside it that
  // comes before.
  void add_stand_ins(Pass& pass, int around, int module) const {
    if (in_.attend != "slots") return;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < enter(around); ++i)
      slot += events_[i].what == Event::What::kEnter &&
              mods_[at(events_[i].index)].parent == mods_[at(around)].parent;
    std::vector<Tokens> all;
    for (const std::string& text : in_.stand_ins) all.push_back(tokenizer_.text(text));
    for (std::size_t m = 1, n = 0; in_.stand_ins.empty() && m < mods_.size() && n < 5; ++m) {
      if (mods_[m].parent != 0 || !mods_[m].stored) continue;
      ++n;
      if (is_around(static_cast<int>(m), module)) continue;
      all.emplace_back();
      for (const Leaf& leaf : leaves_)
        if (leaf.owner == static_cast<int>(m))
          all.back().insert(all.back().end(), leaf.tokens.begin(), leaf.tokens.end());
    }
    slot = in_.stand_ins.empty() ? std::min<std::size_t>(slot, 4) : slot % (all.size() + 1);
    for (std::size_t i = 0; i < std::min(slot, all.size()); ++i) pass.put(all[i], false);
  }
  PassTokens scaffold_pass(const std::vector<int>& listed) const {
    const auto is_listed = [&](int m) {
      return std::find(listed.begin(), listed.end(), m) != listed.end();
    };
    Pass pass{*this};
    int first = -1;
    for (const Event& event : events_)
      if (first < 0 && event.what == Event::What::kLeaf &&
          is_listed(leaves_[at(event.index)].owner))
        first = event.index;
    if (first < 0) return {};
    add_held(
        pass, 0, [&](int owner) { return owner == 0 || is_listed(owner); },
        [](const Turn&) { return true; }, -1, first);
    return pass.finish();
  }
  // What is held, with the ends of the turns that hold some of it; kept from
  // leaf `first` on.
  template <class Holds, class Counts>
  void add_held(Pass& pass, std::size_t begin, const Holds& holds, const Counts& counts, int module,
                int first = -1) const {
    bool keep = first < 0;
    for (std::size_t i = begin; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.what == Event::What::kLeave && event.index == module) return;
      if (is_leaf(event) && holds(leaves_[at(event.index)].owner)) {
        keep |= event.index == first;
        pass.leaf(event.index, keep);
      }
      if (event.index >= 0 ||
          (event.what != Event::What::kOpen && event.what != Event::What::kClose) ||
          !counts(turns_[at(event.turn)]))
        continue;
      bool some = false;
      for (std::size_t j = find(Event::What::kOpen, event.turn);
           j < find(Event::What::kClose, event.turn); ++j)
        some |= is_leaf(events_[j]) && holds(leaves_[at(events_[j].index)].owner);
      if (!some) continue;
      if (event.what == Event::What::kOpen)
        pass.open(event.turn);
      else
        pass.put(event.tokens, false);
    }
  }
  // attend=schema: of each union the member around the module, else the default one.
  PassTokens schema_pass(int module) {
    Pass pass{*this};
    for (int i = 0; i < static_cast<int>(leaves_.size()); ++i) {
      bool seen = true;
      for (int m = leaves_[at(i)].owner; m > 0; m = mods_[at(m)].parent) {
        if (!mods_[at(m)].alternatives || is_around(m, module)) continue;
        bool other = false;
        for (int n = module; n > 0; n = mods_[at(n)].parent)
          other |= mods_[at(n)].alternatives == mods_[at(m)].alternatives;
        seen &= mods_[at(m)].is_default && !other;
        if (seen) note("default member seen");
      }
      if (seen) pass.leaf(i, leaves_[at(i)].owner == module);
    }
    return pass.finish();
  }

  // ---- sources

  void choose_sources() {
    source_.assign(leaves_.size(), "");
    std::vector<std::pair<std::size_t, std::vector<int>>> all;
    for (std::size_t i = 0; i < in_.scaffolds.size(); ++i) {
      std::vector<int> listed;
      for (const std::string& path : in_.scaffolds[i])
        for (int m = 1; m < static_cast<int>(mods_.size()); ++m)
          if (mods_[at(m)].path == path) listed.push_back(m);
      all.emplace_back(i, listed);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    std::set<int> taken;
    std::set<int> claimed;
    for (const auto& [i, listed] : all) {
      bool serves = true;
      for (const int m : listed) serves &= imported(m) && !taken.count(m);
      if (!serves) continue;
      taken.insert(listed.begin(), listed.end());
      const std::string name = "scaffold f" + std::to_string(i);
      passes[name] = scaffold_pass(listed);
      claim(name, listed, claimed);
      note_scaffold(listed);
    }
    for (int m = 0; m < static_cast<int>(mods_.size()); ++m) {
      if (!mods_[at(m)].stored || !imported(m)) continue;
      passes[mods_[at(m)].path] = module_pass(m);
      for (std::size_t l = 0; l < leaves_.size(); ++l)
        if (leaves_[l].owner == m && !claimed.count(static_cast<int>(l)))
          source_[l] = mods_[at(m)].path;
    }
  }
  // A scaffold's leaves: of the listed modules, and of the root behind their first.
  void claim(const std::string& name, const std::vector<int>& listed, std::set<int>& claimed) {
    bool behind = false;
    for (const Event& event : events_) {
      if (event.what != Event::What::kLeaf) continue;
      const int owner = leaves_[at(event.index)].owner;
      const bool is_listed = std::find(listed.begin(), listed.end(), owner) != listed.end();
      behind |= is_listed;
      if (!is_listed && !(owner == 0 && behind)) continue;
      if (claimed.insert(event.index).second) source_[at(event.index)] = name;
    }
  }

  // ---- positions

  struct Chunk {
    Tokens tokens;
    Position anchor = -1, floor = 0, position = 0;
    char kind = 't';
    std::string source;
    int opens = 0;  // 1: opens a turn, -1: closes one
    bool ends_user = false;
    bool moved = false;
    std::string opening;  // the string, where only BOS stands before it
  };

  void place() {
    std::vector<Chunk> chunks;
    std::size_t n = 0;
    for (const Event& event : events_) {
      Chunk chunk;
      switch (event.what) {
        case Event::What::kEnter:
        case Event::What::kLeave:
          continue;
        case Event::What::kLeaf: {
          const Leaf& leaf = leaves_[at(event.index)];
          chunk.tokens = leaf.tokens;
          chunk.anchor = leaf.position;
          chunk.kind = mods_[at(leaf.owner)].cache ? 'c' : 'u';
          chunk.source = chunk.kind == 'c' ? source_[at(event.index)] : "";
          break;
        }
        case Event::What::kArgument:
          if (event.tokens.empty()) continue;
          chunk.anchor = leaves_[at(event.index)].position;
          chunk.kind = 'a';
          break;
        case Event::What::kText:
          break;
        case Event::What::kOpen:
          chunk.opens = 1;
          if (n == (in_.bos ? 1 : 0)) chunk.opening = opens_[at(event.turn)];
          [[fallthrough]];
        case Event::What::kAnswer:
          chunk.kind = 'r';
          break;
        case Event::What::kClose:
          chunk.opens = -1;
          chunk.ends_user = turns_[at(event.turn)].role == "user" && !event.tokens.empty();
          chunk.kind = 'r';
          if (event.index >= 0) chunk.floor = leaves_[at(event.index)].position;
          break;
      }
      if (chunk.tokens.empty()) chunk.tokens = event.tokens;
      n += chunk.tokens.size();
      chunks.push_back(std::move(chunk));
    }
    if (in_.positions == "compact")
      place_compact(chunks);
    else
      place_at_schema(chunks);
    open_moved_answer(chunks);
    for (Chunk& chunk : chunks) {
      if (!chunk.opening.empty() && !chunk.moved) {
        chunk.tokens = tokenizer_.opening_markup(chunk.opening);
        note("opening");
      }
      for (std::size_t i = 0; i < chunk.tokens.size(); ++i)
        tokens.push_back({chunk.tokens[i], chunk.position + static_cast<Position>(i), chunk.kind,
                          chunk.source, chunk.moved});
    }
    std::sort(tokens.begin(), tokens.end(),
              [](const FlatToken& a, const FlatToken& b) { return a.position < b.position; });
  }
  // A user's turn that moved may be what is read last.
  void open_moved_answer(std::vector<Chunk>& chunks) {
    const Chunk* last = nullptr;
    for (const Chunk& chunk : chunks)
      if (!chunk.tokens.empty() && (!last || chunk.position > last->position)) last = &chunk;
    if (opens_answer || !last || !last->ends_user) return;
    Chunk answer;
    answer.tokens = tokenizer_.markup(chat_.generation_prefix);
    answer.kind = 'r';
    answer.position = last->position + static_cast<Position>(last->tokens.size());
    chunks.push_back(std::move(answer));
    std::erase(remarks, "outside of all turns");
    note("a moved turn's answer");
  }
  static Position put(Chunk& chunk, Position position, Position shift) {
    if (chunk.floor > 0) position = std::max(position, chunk.floor + shift);
    chunk.position = position;
    return position + static_cast<Position>(chunk.tokens.size());
  }
  static void place_compact(std::vector<Chunk>& chunks) {
    Position end = 0;
    for (Chunk& chunk : chunks) {
      chunk.position = end;
      end += static_cast<Position>(chunk.tokens.size());
    }
  }
  void place_at_schema(std::vector<Chunk>& chunks) {
    Position end = 0, shift = 0;
    std::vector<Chunk*> group, moved;
    for (Chunk& chunk : chunks) {
      if (chunk.anchor < 0) {
        group.push_back(&chunk);
        continue;
      }
      Position wanted = end;
      bool opens = false, closes = false;  // a turn around what is anchored
      for (Chunk* written : group) {
        wanted = put(*written, wanted, shift);
        if (written->opens < 0 && !opens) closes = true;
        if (written->opens != 0) opens = written->opens > 0;
      }
      if (opens || closes || wanted <= chunk.anchor + shift) {
        shift = std::max(shift, wanted - chunk.anchor);
      } else {
        moved.insert(moved.end(), group.begin(), group.end());
      }
      group.clear();
      end = chunk.position = chunk.anchor + shift;
      end += static_cast<Position>(chunk.tokens.size());
    }
    for (Chunk* chunk : moved) {
      end = put(*chunk, end, shift);
      chunk->moved = true;
    }
    for (Chunk* chunk : group) end = put(*chunk, end, shift);
    if (!moved.empty()) remarks.push_back("does not fit in the gap");
    if (!moved.empty()) note("moved");
    if (shift > 0) remarks.push_back("leaves no room for that");
    if (shift > 0) note("shift");
  }

  // ---- shapes

  void note_schema() {
    note(in_.positions + " " + in_.attend);
    bool assistant = false;
    for (const PmlTree& node : in_.schema) {
      if (assistant && node.is(Kind::kRole) && node.name == "user") note("examples in the schema");
      assistant = node.is(Kind::kRole) && node.name == "assistant";
    }
  }
  void note_prompt() {
    if (n_prompt_turns_ > 1) note("several turns");
    if (in_.prompt.size() == 1 && in_.prompt[0].is(Kind::kText)) note("text only");
    if (opens_answer) note("answer opened");
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      if (turns_[i].schema) continue;
      for (std::size_t j = find(Event::What::kOpen, static_cast<int>(i));
           j < find(Event::What::kClose, static_cast<int>(i)); ++j)
        if (events_[j].what == Event::What::kEnter) note("import in a turn");
    }
    for (const auto& [name, pass] : passes) {
      const bool around = std::any_of(pass.begin(), pass.end(), [&](const PassToken& t) {
        return !t.keep && tokenizer_.is_opening(t.token);
      });
      if (around) note("a pass that a turn opens");
    }
    for (const FlatToken& token : tokens)
      if (token.source.rfind("scaffold", 0) == 0) note("scaffold serves");
  }
  void note_scaffold(const std::vector<int>& listed) {
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      if (turns_[i].schema) continue;
      const auto turn = static_cast<int>(i);
      const bool all = std::all_of(listed.begin(), listed.end(), [&](int m) {
        return enter(m) > find(Event::What::kOpen, turn) &&
               enter(m) < find(Event::What::kClose, turn);
      });
      if (all) note("scaffold in a turn");
    }
  }

  std::vector<std::string> source_;  // [leaves_]
};

}  // namespace pc::test
