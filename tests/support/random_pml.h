// Random schemas and prompts of every shape that PML has, as trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pml/syntax/source_file.h"
#include "tests/support/pml_tree.h"
#include "tests/support/random.h"

namespace pc::test {

class RandomPml {
 public:
  explicit RandomPml(std::uint64_t seed) : random_(seed) {
    positions = random_.chance(0.5) ? "compact" : "schema";
    attend =
        std::vector<std::string>{"prefix", "prefix", "self", "schema", "slots"}[random_.below(5)];
    if (attend == "slots" && positions == "schema") attend = "prefix";
    for (std::uint32_t n = attend == "slots" ? random_.below(4) : 0; n > 0; --n)
      stand_ins.push_back(word());
    bos = random_.chance(0.5);
    trims = random_.chance(0.25);
    with_params_ = random_.chance(0.7);
    schema_space_ = space(0.05);
    prompt_space_ = space(0.05);
    schema_ = random_.chance(0.5) ? conversation() : content(0, true, false);
    schema_meaning = meaning_of(schema_, false, schema_space_ == "preserve");
    for (std::uint32_t n = random_.below(3); n > 0; --n) add_scaffold();
    prompt_ = random_.chance(0.1) ? PmlTrees{text()} : random_prompt();
    prompt_meaning = meaning_of(prompt_, prompt_space_ == "preserve", false);
  }

  std::string positions, attend;
  bool bos = false, trims = false;
  PmlTrees schema_meaning, prompt_meaning;
  std::vector<std::vector<std::string>> scaffolds;  // "f0", "f1", ...: paths
  std::vector<std::string> stand_ins;

  std::string schema() const {
    std::string out = "<schema name=\"s\" positions=\"" + positions + "\" attend=\"" + attend +
                      "\"" + written(schema_space_) + ">" + write_pml(schema_);
    for (std::size_t i = 0; i < scaffolds.size(); ++i) {
      out += "<scaffold name=\"f" + std::to_string(i) + "\" modules=\"";
      for (const std::string& path : scaffolds[i]) out += path + " ";
      out += "\"/>";
    }
    for (const std::string& text : stand_ins) out += "<stand-in>" + text + "</stand-in>";
    return out + "</schema>";
  }
  std::string prompt() const {
    return "<prompt schema=\"s\"" + written(prompt_space_) + ">" + write_pml(prompt_) + "</prompt>";
  }
  pml::ReadFileFn files() const {
    return [this](std::string_view name) -> Result<std::string> {
      return files_.at(std::string(name));
    };
  }
  const std::map<std::string, std::string>& sources() const { return files_; }  // of src=
  bool has_params() const { return with_params_; }

 private:
  using Kind = PmlTree::Kind;
  using Groups = std::vector<std::vector<const PmlTree*>>;

  static std::string written(const std::string& space) {
    return space.empty() ? "" : " xml:space=\"" + space + "\"";
  }
  std::string space(double p) {
    return !random_.chance(p) ? "" : random_.chance(0.5) ? "preserve" : "default";
  }
  std::string word() { return "w" + std::to_string(random_.below(40)); }
  std::string words(std::uint32_t n) {
    std::string out = n > 0 ? word() : "";
    for (; n > 1; --n) out += (random_.chance(0.2) ? "\n " : " ") + word();
    return out;
  }

  static PmlTree node(Kind kind, std::string name) {
    PmlTree made;
    made.kind = kind;
    made.name = std::move(name);
    return made;
  }
  PmlTree text() {
    static const std::vector<std::pair<std::string, std::string>> pads = {
        {"", ""}, {" ", " "}, {"\n  ", "\n  "}, {"\t\n", "\t\r\n"}};
    const std::string core = words(random_.between(1, 4));
    const auto& [before, before_written] = pads[random_.below(4)];
    const auto& [after, after_written] = pads[random_.below(4)];
    PmlTree made;
    made.text = before + core + after;
    made.written =
        before_written + (random_.chance(0.2) ? "<!-- no text -->" : "") + core + after_written;
    return made;
  }
  PmlTree blank() {
    PmlTree made;
    made.text = made.written = std::vector<std::string>{" ", "  ", "\t", "\n  "}[random_.below(4)];
    return made;
  }
  static bool ends_with_text(const PmlTrees& nodes) {
    return !nodes.empty() && nodes.back().is(Kind::kText);
  }
  std::string role() {
    return std::vector<std::string>{"system", "user", "assistant", "user"}[random_.below(4)];
  }

  // A schema as people write them: a system text, examples, documents.
  PmlTrees conversation() {
    PmlTrees nodes;
    if (random_.chance(0.7)) nodes.push_back(turn("system", 0.4));
    for (std::uint32_t n = random_.below(3); n > 0; --n) {
      nodes.push_back(turn("user", 0.15));
      nodes.push_back(turn("assistant", 0.1));
    }
    for (std::uint32_t n = random_.below(6); n > 0; --n) {
      if (random_.chance(0.3) && !ends_with_text(nodes))
        nodes.push_back(random_.chance(0.3) ? text() : blank());
      nodes.push_back(module(random_.below(3), false));
    }
    if (random_.chance(0.4)) nodes.push_back(turn("user", 0.8));
    return nodes;
  }
  PmlTree turn(const std::string& name, double holds_modules) {
    PmlTree made = node(Kind::kRole, name);
    if (random_.chance(0.8)) made.children.push_back(text());
    if (!random_.chance(holds_modules)) return made;
    for (std::uint32_t n = random_.between(1, 3); n > 0; --n) {
      made.children.push_back(module(0, true));
      if (random_.chance(0.2)) made.children.push_back(text());
    }
    return made;
  }

  PmlTrees content(std::uint32_t depth, bool root, bool in_role) {
    PmlTrees nodes;
    for (std::uint32_t n = random_.below(depth == 0 ? 7 : 5); n > 0; --n) {
      const std::uint32_t kind = random_.below(12);
      if (kind < 4) {
        if (!ends_with_text(nodes)) nodes.push_back(random_.chance(0.75) ? text() : blank());
      } else if (kind < 5 && with_params_ && !root) {
        nodes.push_back(param());
      } else if (kind < 8 && depth < 3) {
        nodes.push_back(module(depth, in_role));
      } else if (kind < 9 && depth < 3) {
        nodes.push_back(alternatives(depth, in_role));
      } else if (kind < 10 && depth < 3) {
        nodes.push_back(node(Kind::kModule, ""));
        nodes.back().space = space(0.1);
        nodes.back().children = content(depth + 1, root, in_role);
      } else if (!in_role && random_.chance(depth == 0 ? 1 : 0.4)) {
        nodes.push_back(node(Kind::kRole, role()));
        nodes.back().space = space(0.1);
        nodes.back().children = content(depth, root, true);
      }
    }
    return nodes;
  }
  PmlTree param() {
    PmlTree made = node(Kind::kParam, "p" + std::to_string(n_names_++));
    made.len = random_.between(1, 4);
    if (random_.chance(0.3)) made.text = word();
    return made;
  }
  PmlTree alternatives(std::uint32_t depth, bool in_role) {
    PmlTree made = node(Kind::kUnion, "");
    for (std::uint32_t n = random_.below(4); n > 0; --n)
      made.children.push_back(module(depth, in_role));
    if (!made.children.empty() && random_.chance(0.5)) made.name = pick(made.children).name;
    return made;
  }
  PmlTree module(std::uint32_t depth, bool in_role) {
    PmlTree made = node(Kind::kModule, "m" + std::to_string(n_names_++));
    made.cache = !random_.chance(0.15);
    made.space = space(0.1);
    if (random_.chance(0.1)) {
      made.src = made.name + ".txt";
      made.file = files_[made.src] = text().text;
    }
    if (random_.chance(0.5)) made.children.push_back(text());
    PmlTrees rest = content(depth + 1, false, in_role);
    if (depth < 2 && random_.chance(0.4))  // documents with text between
      rest = {module(depth + 1, in_role), text(), module(depth + 1, in_role), text()};
    for (PmlTree& child : rest)
      if (!ends_with_text(made.children) || !child.is(Kind::kText))
        made.children.push_back(std::move(child));
    return made;
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[random_.below(static_cast<std::uint32_t>(from.size()))];
  }

  // What may be imported at one level: modules by themselves, and the members of unions.
  static void collect(const PmlTrees& nodes, Groups& groups) {
    for (const PmlTree& node : nodes) {
      if (node.is(Kind::kModule)) groups.push_back({&node});
      if (node.is(Kind::kRole)) collect(node.children, groups);
      if (!node.is(Kind::kUnion) || node.children.empty()) continue;
      groups.emplace_back();
      for (const PmlTree& member : node.children) groups.back().push_back(&member);
    }
  }
  // The modules that no turn of the schema is around, and none in.
  void list_free(const PmlTrees& nodes) {
    for (const PmlTree& node : nodes) {
      if (node.is(Kind::kRole)) continue;
      if (node.is(Kind::kModule) && !has_turns(node.children)) free_.insert(node.name);
      list_free(node.children);
    }
  }
  static Groups groups_of(const PmlTrees& nodes) {
    Groups groups;
    collect(nodes, groups);
    return groups;
  }
  static bool has_turns(const PmlTrees& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](const PmlTree& node) {
      return node.is(Kind::kRole) || has_turns(node.children);
    });
  }

  void add_scaffold() {
    std::vector<std::string> paths;
    list(schema_meaning, "", paths);
    if (!paths.empty()) scaffolds.push_back(std::move(paths));
  }
  // Modules that may be imported together, each with its parents.
  void list(const PmlTrees& nodes, const std::string& around, std::vector<std::string>& paths) {
    for (const auto& group : groups_of(nodes)) {
      if (random_.chance(0.5)) continue;
      const PmlTree& module = *pick(group);
      if (!module.cache) continue;
      paths.push_back(around + module.name);
      list(module.children, around + module.name + "/", paths);
    }
  }

  PmlTrees random_prompt() {
    const std::vector<std::string>* only = nullptr;
    if (!scaffolds.empty() && random_.chance(0.4)) only = &pick(scaffolds);
    only_ = only;
    list_free(schema_meaning);
    if (only && random_.chance(0.6)) {
      PmlTree around = node(Kind::kRole, "user");
      around.children = level(schema_meaning, "", true);
      return {std::move(around)};
    }
    return level(schema_meaning, "", false);
  }
  std::vector<const PmlTree*> imports(const PmlTrees& nodes, const std::string& around) {
    std::vector<const PmlTree*> chosen;
    for (const auto& group : groups_of(nodes)) {
      const PmlTree* module = pick(group);
      if (only_) {
        const auto listed = std::find_if(group.begin(), group.end(), [&](const PmlTree* m) {
          return std::find(only_->begin(), only_->end(), around + m->name) != only_->end();
        });
        if (listed == group.end()) continue;
        module = *listed;
      } else if (random_.chance(around.empty() ? 0.4 : 0.25)) {
        continue;
      }
      chosen.push_back(module);
    }
    return chosen;
  }
  PmlTree import(const PmlTree& module, const std::string& around, bool in_turn) {
    PmlTree made = node(Kind::kImport, module.name);
    made.space = space(0.05);
    fill(module.children, made);
    const bool in_any = in_turn || (free_.count(module.name) == 0 && random_.chance(0.8));
    made.children = level(module.children, around + module.name + "/", in_any);
    return made;
  }
  void fill(const PmlTrees& nodes, PmlTree& import) {
    for (const PmlTree& node : nodes) {
      if (node.is(Kind::kRole)) fill(node.children, import);
      if (!node.is(Kind::kParam) || random_.chance(0.3)) continue;
      std::string& value = import.arguments[node.name];
      for (std::uint32_t n = random_.below(node.len + 1); n > 0; --n)
        value += (value.empty() ? "" : " ") + word();
      if (random_.chance(0.02)) value = "w1 w2 w3 w4 w5";  // no parameter has that room
    }
  }

  PmlTrees level(const PmlTrees& nodes, const std::string& around, bool in_turn) {
    const bool turns = !in_turn && random_.chance(around.empty() ? 0.5 : 0.8);
    std::vector<const PmlTree*> chosen = imports(nodes, around);
    if (random_.chance(turns ? 0.1 : 0.4)) shuffle(chosen);
    if (chosen.size() > 1 && random_.chance(0.35)) std::swap(chosen[0], chosen[1]);
    PmlTrees out;
    PmlTree open;  // a turn that gathers imports, if it has a name
    const auto here = [&]() -> PmlTrees& { return open.name.empty() ? out : open.children; };
    const auto close = [&] {
      if (!open.name.empty()) out.push_back(std::exchange(open, {}));
    };
    for (const PmlTree* module : chosen) {
      maybe_text(here());
      const bool may_wrap = free_.count(module->name) != 0 || random_.chance(0.05);
      if (!may_wrap) close();
      if (turns && may_wrap && open.name.empty() && random_.chance(0.7))
        open = node(Kind::kRole, role());
      maybe_text(here());
      here().push_back(import(*module, around, in_turn || !open.name.empty()));
      maybe_text(here());
      if (random_.chance(0.2)) close();
      if (!in_turn && open.name.empty() && random_.chance(may_wrap ? 0.1 : 0.02))
        out.push_back(said());
    }
    close();
    maybe_text(out);
    for (std::uint32_t n = random_.below(3); !in_turn && n > 0; --n)
      if (random_.chance(around.empty() ? 0.5 : 0.15)) out.push_back(said());
    if (random_.chance(0.1)) maybe_text(out);
    if (!chosen.empty() && random_.chance(0.01))
      out.push_back(node(Kind::kImport, pick(chosen)->name));
    return out;
  }
  PmlTree said() {
    PmlTree made = node(Kind::kRole, role());
    made.space = space(0.1);
    maybe_text(made.children);
    return made;
  }
  void maybe_text(PmlTrees& into) {
    if (ends_with_text(into) || !random_.chance(0.35)) return;
    into.push_back(random_.chance(0.8) ? text() : blank());
  }
  void shuffle(std::vector<const PmlTree*>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[random_.below(static_cast<std::uint32_t>(i))]);
  }

  Random random_;
  bool with_params_ = true;
  int n_names_ = 0;
  std::string schema_space_, prompt_space_;
  std::map<std::string, std::string> files_;  // [src]
  PmlTrees schema_, prompt_;
  std::set<std::string> free_;                      // modules that a turn of the prompt may enclose
  const std::vector<std::string>* only_ = nullptr;  // the prompt imports these alone
};

}  // namespace pc::test
