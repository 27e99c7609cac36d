// A schema's text, its imports and what a prompt writes in the order in which the
// model reads them, or why the prompt is refused, found by plain recursion over
// the trees of both.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pml_schema_oracle.h"

namespace pc::test {

class PmlFlatOracle : public PmlSchemaOracle {
 public:
  std::optional<std::string> refusal;  // a phrase of the message
  std::vector<std::string> remarks;    // a phrase of each
  bool opens_answer = false;

 protected:
  PmlFlatOracle(Input input, FakeTokenizer tokenizer)
      : PmlSchemaOracle(std::move(input), std::move(tokenizer)) {
    const Level root = read_level(in_.prompt, 0);
    if (refusal) return;
    flatten(root);
    if (refusal) return;
    if (in_.trims) strip_turns();
    read_turns();
  }

  struct Mark {
    enum class What { kText, kOpen, kClose, kImport } what = What::kText;
    const PmlTree* node = nullptr;
  };
  using Marks = std::vector<Mark>;
  struct Level {
    std::vector<int> imports;  // in the prompt's order
    std::map<int, const PmlTree*> node;
    std::map<int, Level> inside;
    std::map<int, Marks> before, after;
    Marks loose;  // where nothing is imported
    bool wrapped = false;
  };

  void refuse(const std::string& phrase) {
    if (!refusal) refusal = phrase;
  }
  static void list_marks(const PmlTrees& nodes, Marks& marks) {
    for (const PmlTree& node : nodes) {
      if (node.is(Kind::kRole)) {
        marks.push_back({Mark::What::kOpen, &node});
        list_marks(node.children, marks);
        marks.push_back({Mark::What::kClose, &node});
      } else {
        marks.push_back({node.is(Kind::kImport) ? Mark::What::kImport : Mark::What::kText, &node});
      }
    }
  }
  Level read_level(const PmlTrees& nodes, int owner) {
    Marks marks;
    list_marks(nodes, marks);
    Level level;
    Marks waits;
    bool in_turn = false;
    for (std::size_t i = 0; i < marks.size() && !refusal; ++i) {
      const Mark& mark = marks[i];
      if (mark.what == Mark::What::kOpen) in_turn = true;
      if (mark.what == Mark::What::kClose) in_turn = false;
      if (mark.what == Mark::What::kImport) {
        const int module = read_import(*mark.node, owner, level);
        level.wrapped |= in_turn;
        level.before[module] = std::exchange(waits, {});
        continue;
      }
      // What opens a turn goes with what comes first in it.
      const bool behind = !level.imports.empty() && !(mark.what == Mark::What::kOpen &&
                                                      marks[i + 1].what == Mark::What::kImport);
      (behind ? level.after[level.imports.back()] : waits).push_back(mark);
    }
    level.loose = std::move(waits);
    return level;
  }
  int read_import(const PmlTree& node, int owner, Level& level) {
    int index = 0;
    for (int m = 1; m < static_cast<int>(mods_.size()); ++m)
      if (mods_[at(m)].parent == owner &&
          mods_[at(m)].path == (owner == 0 ? "" : mods_[at(owner)].path + "/") + node.name)
        index = m;
    if (level.node.count(index)) refuse("is imported twice");
    for (const int other : level.imports)
      if (mods_[at(index)].alternatives &&
          mods_[at(index)].alternatives == mods_[at(other)].alternatives)
        refuse("are members of one union");
    for (const auto& [name, value] : node.arguments) {
      const Tokens words = tokenizer_.text(value);
      if (words.size() > 4) refuse("its parameter has room for");
      arguments_[{index, name}] = words;
    }
    level.imports.push_back(index);
    level.node[index] = &node;
    level.inside[index] = read_level(node.children, index);
    return index;
  }

  // ---- the flat prompt

  struct Event {
    enum class What { kLeaf, kArgument, kText, kOpen, kClose, kEnter, kLeave, kAnswer };
    What what = What::kLeaf;
    int index = -1;         // leaf (kClose: a schema's closing, or -1), or module
    int turn = -1;          // kOpen, kClose
    Tokens tokens;          // kArgument, kText, kOpen, kClose, kAnswer
    std::string text = {};  // kText
  };
  struct Turn {
    std::string role;
    const PmlTree* schema = nullptr;
    int owner = 0;  // the module in which it opened
  };

  void flatten(const Level& root) {
    root_ = &root;
    if (in_.bos) add({Event::What::kLeaf, 0, -1, {}});
    walk_level(in_.schema, root, 0);
    if (!loose_taken_)
      say(root.loose);
    else
      say({root.loose.begin() + 1, root.loose.end()});
    opens_answer = ends_with_turn_ && turns_.back().role == "user";
    if (!ends_with_turn_ && !turns_.empty() && turns_.back().role == "user")
      remarks.push_back("outside of all turns");
  }
  void add(Event event) {
    own_text_between_ |= event.what == Event::What::kLeaf ||
                         (event.what == Event::What::kArgument && !event.tokens.empty());
    events_.push_back(std::move(event));
  }

  int rank(int module) const {
    return in_.positions == "compact" ? mods_[at(module)].section : module;
  }
  void walk_level(const PmlTrees& nodes, const Level& level, int owner) {
    bool sorted = true;
    for (std::size_t i = 1; i < level.imports.size(); ++i)
      sorted &= rank(level.imports[i - 1]) <= rank(level.imports[i]);
    if (!sorted && level.wrapped) return refuse("keep that order");
    if (!sorted) remarks.push_back("and so it does in the prompt");
    if (!sorted) note("imports reordered");
    if (sorted && !std::is_sorted(level.imports.begin(), level.imports.end()))
      note(level.wrapped ? "order kept in a turn" : "order kept");
    owners_.push_back(owner);
    std::set<int> done;
    walk(nodes, level, done);
    say_deferred();
    owners_.pop_back();
  }
  void walk(const PmlTrees& nodes, const Level& level, std::set<int>& done) {
    for (const PmlTree& node : nodes) {
      if (refusal) return;
      switch (node.kind) {
        case Kind::kText:
          if (leaf_of_.count(&node) != 0) add_own(leaf_of_.at(&node));
          break;
        case Kind::kParam:
          walk_param(node);
          break;
        case Kind::kModule:
          walk_place(node, level, done);
          break;
        case Kind::kUnion:
          for (const PmlTree& member : node.children) walk_place(member, level, done);
          break;
        case Kind::kRole:
          walk_turn(node, level, done);
          break;
        case Kind::kImport:
          break;
      }
    }
  }
  void add_own(int leaf) {
    if (schema_turn_ == nullptr) ends_with_turn_ = false;
    if (prompt_turn_)
      note(turns_.back().owner != owners_.back() ? "module in a turn"
           : owners_.back() == 0                 ? "turn around anonymous text"
                                                 : "turn around a module's own text");
    add({Event::What::kLeaf, leaf, -1, {}});
  }
  void walk_param(const PmlTree& node) {
    const auto argument = arguments_.find({owners_.back(), node.name});
    const bool filled = argument != arguments_.end() && !argument->second.empty();
    note(filled ? "argument" : "no argument");
    if (filled) ends_with_turn_ = false;
    add({Event::What::kArgument, leaf_of_.at(&node), -1, filled ? argument->second : Tokens{}});
  }
  // Where a module stands in the schema: there stand, in the prompt's order,
  // all imports of its section (compact), or it alone.
  void walk_place(const PmlTree& node, const Level& level, std::set<int>& done) {
    const int here = mod_of_.at(&node);
    for (const int module : level.imports) {
      if (rank(module) != rank(here) || !done.insert(module).second) continue;
      walk_import(module, level);
      if (refusal) return;
    }
  }
  const PmlTree* tree_of(int module) const {
    for (const auto& [tree, index] : mod_of_)
      if (index == module) return tree;
    return nullptr;
  }
  void walk_import(int module, const Level& level) {
    say_deferred();
    if (refusal) return;
    say(level.before.at(module));
    if (refusal) return;
    if (!mods_[at(module)].cache) note("cache=false imported");
    if (mods_[at(module)].alternatives) note("union member imported");
    add({Event::What::kEnter, module, -1, {}});
    const Level& inside = level.inside.at(module);
    walk_level(tree_of(module)->children, inside, module);
    if (refusal) return;
    owners_.push_back(module);
    say(inside.loose);
    owners_.pop_back();
    add({Event::What::kLeave, module, -1, {}});
    const auto after = level.after.find(module);
    if (after == level.after.end()) return;
    if (module != 0 && mods_[at(module)].parent != 0) note("text or turns between nested imports");
    say(after->second);
  }
  void walk_turn(const PmlTree& node, const Level& level, std::set<int>& done) {
    if (prompt_turn_) return refuse("would enclose the schema's");
    const SchemaTurn& turn = turn_of_.at(&node);
    const int index = static_cast<int>(turns_.size());
    turns_.push_back({node.name, &node, owners_.back()});
    if (owners_.size() > 1) note("schema's turn in a module");
    if (owners_.size() > 2) note("schema's turn in a nested module");
    add({Event::What::kLeaf, turn.first, -1, {}});
    ends_with_turn_ = false;
    schema_turn_ = &node;
    schema_turn_owners_ = owners_.size();
    walk(node.children, level, done);
    if (refusal) return;
    if (turn.takes_text && !root_->loose.empty() && root_->loose[0].what == Mark::What::kText) {
      if (!turn.tail.empty())
        add({Event::What::kText, -1, -1, tokenizer_.text(turn.tail), turn.tail});
      say({root_->loose[0]});
      loose_taken_ = true;
      note("text in the schema's last turn");
    }
    schema_turn_ = nullptr;
    if (turn.open_ended)
      add({Event::What::kClose, turn.last, index, leaves_[at(turn.last)].tokens});
    else
      add({Event::What::kLeaf, turn.last, -1, {}});
    ends_with_turn_ = true;
  }
  // Behind what the schema goes on with up to the next import, if that closes its turn.
  void say_deferred() {
    if (deferred_.empty()) return;
    if (schema_turn_) return refuse("would stand inside the schema's");
    const Marks behind = std::exchange(deferred_, {});
    note("turn behind an import in a schema's turn");
    if (own_text_between_) note("turn behind a schema's turn with own text between");
    if (own_text_between_) remarks.push_back("stands behind the schema's text that follows");
    say(behind);
  }
  void say(const Marks& marks) {
    for (std::size_t i = 0; i < marks.size() && !refusal; ++i) {
      const PmlTree& node = *marks[i].node;
      if (marks[i].what == Mark::What::kText) {
        ends_with_turn_ = false;
        if (schema_turn_) note("text in a schema's turn");
        if (schema_turn_ && schema_turn_->name == "system")
          remarks.push_back("stands in the schema's <system> turn");
        add({Event::What::kText, -1, -1, tokenizer_.text(node.text), node.text});
      } else if (marks[i].what == Mark::What::kOpen) {
        if (schema_turn_ && (owners_.size() != schema_turn_owners_ || !deferred_.empty()))
          return refuse("would stand inside the schema's");
        if (schema_turn_) {
          deferred_.assign(marks.begin() + static_cast<std::ptrdiff_t>(i), marks.end());
          own_text_between_ = false;
          return;
        }
        prompt_turn_ = &node;
        ends_with_turn_ = false;
        ++n_prompt_turns_;
        if (node.children.empty()) note("empty turn");
        if (node.name == "system") note("prompt's system turn");
        if (!owners_.empty() && owners_.back() != 0) note("prompt's turn in a module");
        add({Event::What::kOpen, -1, static_cast<int>(turns_.size()), {}});
        turns_.push_back({node.name, nullptr, owners_.empty() ? 0 : owners_.back()});
      } else {
        prompt_turn_ = nullptr;
        ends_with_turn_ = true;
        add({Event::What::kClose, -1, static_cast<int>(turns_.size()) - 1,
             tokenizer_.markup(close_string(node.name))});
      }
    }
  }

  // The strings of the prompt's turns, which follow those that are there.
  void read_turns() {
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const std::string open = open_string(turns_[i].role, i == 0 ? "" : turns_[i - 1].role);
      opens_.push_back(open);
      if (turns_[i].schema && turn_of_.at(turns_[i].schema).open != open)
        remarks.push_back("otherwise in this conversation");
    }
    for (Event& event : events_)
      if (event.what == Event::What::kOpen)
        event.tokens = tokenizer_.markup(opens_[at(event.turn)]);
    if (opens_answer)
      add({Event::What::kAnswer, -1, -1, tokenizer_.markup(chat_.generation_prefix)});
  }

  // Strips the ends of the turns, as far as the prompt's own text reaches.
  void strip_turns() {
    std::vector<Event> out;
    bool left = false;
    for (Event& event : events_) {
      const bool written = event.what == Event::What::kText || event.what == Event::What::kOpen ||
                           event.what == Event::What::kClose;
      if (event.what == Event::What::kText) {
        const std::string text = strip(event.text, left, false);
        if (text != event.text) note("white space stripped in the prompt");
        event.tokens = tokenizer_.text(event.text = text);
        if (event.tokens.empty()) continue;
      }
      for (std::size_t i = out.size(); event.what == Event::What::kClose && i > 0; --i) {
        Event& before = out[i - 1];
        if (holds_nothing(before)) continue;
        if (before.what != Event::What::kText) break;
        before.tokens = tokenizer_.text(before.text = strip(before.text, false, true));
        if (!before.tokens.empty()) break;
      }
      if (written || !holds_nothing(event)) left = event.what == Event::What::kOpen;
      out.push_back(std::move(event));
    }
    events_ = std::move(out);
  }
  static bool holds_nothing(const Event& event) {
    return event.what == Event::What::kEnter || event.what == Event::What::kLeave ||
           (event.what == Event::What::kArgument && event.tokens.empty()) ||
           (event.what == Event::What::kText && event.tokens.empty());
  }

  std::map<std::pair<int, std::string>, Tokens> arguments_;
  std::vector<Event> events_;
  std::vector<Turn> turns_;
  std::vector<std::string> opens_;  // [turns_]
  int n_prompt_turns_ = 0;

 private:
  std::vector<int> owners_;  // the modules around this place
  const Level* root_ = nullptr;
  const PmlTree *schema_turn_ = nullptr, *prompt_turn_ = nullptr;  // open now
  std::size_t schema_turn_owners_ = 0;
  Marks deferred_;  // waits for the schema's turn to close
  bool own_text_between_ = false;
  bool ends_with_turn_ = false, loose_taken_ = false;
};

}  // namespace pc::test
