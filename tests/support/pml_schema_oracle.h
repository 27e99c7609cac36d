// What a schema must come to, found by plain recursion over its tree: its
// modules, and what each of them owns, with schema positions.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_tokenizer.h"
#include "tests/support/pml_tree.h"

namespace pc::test {

class PmlSchemaOracle {
 public:
  struct Input {
    const PmlTrees& schema;  // meanings
    const PmlTrees& prompt;
    std::string positions, attend;
    bool bos = false;
    bool trims = false;  // the chat format strips white space at the ends of a turn
    std::vector<std::vector<std::string>> scaffolds;
    std::vector<std::string> stand_ins = {};
  };

  std::set<std::string> shapes;  // what this schema and its prompt have

 protected:
  using Kind = PmlTree::Kind;

  PmlSchemaOracle(Input input, FakeTokenizer tokenizer)
      : in_(std::move(input)), tokenizer_(std::move(tokenizer)) {
    lay_out();
  }
  void note(const std::string& shape) { shapes.insert(shape); }

  struct Leaf {
    int owner = 0;
    Tokens tokens;
    Position position = 0;
    enum class What { kText, kSlot, kClosing } what = What::kText;
  };
  struct Mod {
    std::string path;
    int parent = -1, section = 0;
    const PmlTree* alternatives = nullptr;  // the union
    bool is_default = false, cache = true, stored = false;
    std::set<std::string> params;
  };
  struct SchemaTurn {
    std::string open;           // as encoded
    int first = -1, last = -1;  // leaves
    bool open_ended = false, takes_text = false;
    std::string tail;
  };

  void lay_out() {
    mods_.emplace_back();
    if (in_.bos) add_leaf({0, {FakeTokenizer::kBos}, 0, Leaf::What::kText});
    lay_out(in_.schema, 0, "", false);
  }
  int add_leaf(Leaf leaf) {
    leaf.position = end_;
    end_ += static_cast<Position>(leaf.tokens.size());
    if (leaf.what == Leaf::What::kText && mods_[at(leaf.owner)].cache)
      mods_[at(leaf.owner)].stored = true;
    leaves_.push_back(std::move(leaf));
    return static_cast<int>(leaves_.size()) - 1;
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // `before`: the role of the turn that stands before in every prompt.
  void lay_out(const PmlTrees& nodes, int owner, std::string before, bool in_role) {
    for (const PmlTree& node : nodes) {
      switch (node.kind) {
        case Kind::kText: {
          const auto said = stripped_.find(&node);
          const std::string& text = said == stripped_.end() ? node.text : said->second;
          if (text.empty()) break;
          ++sections_[owner];
          leaf_of_[&node] = add_leaf({owner, tokenizer_.text(text), 0, Leaf::What::kText});
          break;
        }
        case Kind::kParam: {
          ++sections_[owner];
          Tokens filler = tokenizer_.text(node.text);
          filler.resize(node.len, FakeTokenizer::kPlaceholder);
          leaf_of_[&node] = add_leaf({owner, filler, 0, Leaf::What::kSlot});
          mods_[at(owner)].params.insert(node.name);
          break;
        }
        case Kind::kModule:
          lay_out_module(node, nullptr, owner, before, in_role);
          break;
        case Kind::kUnion: {
          const Position start = end_;
          Position longest = end_;
          for (const PmlTree& member : node.children) {
            end_ = start;
            lay_out_module(member, &node, owner, before, in_role);
            longest = std::max(longest, end_);
          }
          end_ = longest;
          break;
        }
        case Kind::kRole:
          lay_out_turn(node, owner, before);
          before = node.name;
          break;
        case Kind::kImport:
          break;
      }
    }
  }
  void lay_out_module(const PmlTree& node, const PmlTree* alternatives, int owner,
                      const std::string& before, bool in_role) {
    const int index = static_cast<int>(mods_.size());
    Mod mod;
    mod.path = (owner == 0 ? "" : mods_[at(owner)].path + "/") + node.name;
    mod.parent = owner;
    mod.section = sections_[owner];
    mod.alternatives = alternatives;
    mod.is_default = alternatives && alternatives->name == node.name;
    mod.cache = node.cache;
    mods_.push_back(mod);
    mod_of_[&node] = index;
    lay_out(node.children, index, before, in_role);
  }
  void lay_out_turn(const PmlTree& node, int owner, const std::string& before) {
    ++sections_[owner];
    const bool last = owner == 0 && &node == &in_.schema.back();
    SchemaTurn turn;
    turn.open = open_string(node.name, before);
    turn.takes_text = last && node.name == "user";
    turn.open_ended = turn.takes_text;
    for (const PmlTree& child : node.children)
      turn.open_ended |=
          child.is(Kind::kModule) || (child.is(Kind::kUnion) && !child.children.empty());
    // Nothing but BOS can stand before it, in any prompt.
    const bool opens = owner == 0 && mods_.size() == 1 && end_ == (in_.bos ? 1 : 0);
    turn.first = add_leaf(
        {owner, opens ? tokenizer_.opening_markup(turn.open) : tokenizer_.markup(turn.open), 0,
         Leaf::What::kText});
    if (in_.trims) turn.tail = strip(node.children);
    if (!stripped_.empty()) note("white space stripped in the schema");
    lay_out(node.children, owner, node.name, true);
    ++sections_[owner];
    turn.last = add_leaf({owner, tokenizer_.markup(close_string(node.name)), 0,
                          turn.open_ended ? Leaf::What::kClosing : Leaf::What::kText});
    turn_of_[&node] = turn;
  }

  std::string open_string(const std::string& role, const std::string& before) const {
    if (role == "system") return chat_.system.prefix;
    if (role == "assistant") return chat_.assistant.prefix;
    if (before == "system") return *chat_.user_prefix_after_system;
    if (before == "assistant") return *chat_.user_prefix_after_assistant;
    return chat_.user.prefix;
  }
  std::string close_string(const std::string& role) const {
    return role == "system" ? chat_.system.suffix
           : role == "user" ? chat_.user.suffix
                            : chat_.assistant.suffix;
  }

  static std::string strip(std::string text, bool left, bool right) {
    const char* blank = " \t\r\n";
    if (left) text.erase(0, std::min(text.find_first_not_of(blank), text.size()));
    if (right) text.erase(text.find_last_not_of(blank) + 1);
    return text;
  }
  // What a turn's own text says without the white space at the turn's ends. Gives
  // that at the end of a text, if there is more than white space.
  std::string strip(const PmlTrees& nodes) {
    for (std::size_t i = 0; i < nodes.size() && nodes[i].is(Kind::kText); ++i)
      if (!(stripped_[&nodes[i]] = strip(nodes[i].text, true, false)).empty()) break;
    std::string tail;
    for (std::size_t i = nodes.size(); i > 0 && nodes[i - 1].is(Kind::kText); --i) {
      std::string& text = stripped_.try_emplace(&nodes[i - 1], nodes[i - 1].text).first->second;
      const std::string kept = strip(text, false, true);
      tail = text.substr(kept.size()) + tail;
      if (!(text = kept).empty()) return tail;
    }
    return "";
  }

  Input in_;
  FakeTokenizer tokenizer_;
  pml::ChatTemplate chat_ = bracket_chat();
  std::vector<Leaf> leaves_;
  std::vector<Mod> mods_;        // [0]: the schema itself
  std::map<int, int> sections_;  // of each module, so far
  std::map<const PmlTree*, int> leaf_of_, mod_of_;
  std::map<const PmlTree*, SchemaTurn> turn_of_;
  std::map<const PmlTree*, std::string> stripped_;
  Position end_ = 0;
};

}  // namespace pc::test
