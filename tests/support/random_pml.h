// Random schemas and prompts, and what they must come to: the tokens of the
// flat prompt, found by plain recursion over the generator's own tree, with
// none of the project's parsers, layouts or plans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pml/text_encoder.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/random.h"

namespace pc::test {

struct PmlNode {
  enum class Kind { kText, kParam, kModule, kUnion, kRole };
  Kind kind = Kind::kText;
  std::string name;     // module, param, role
  std::string text;     // folded, as it must arrive
  std::string written;  // as it stands in the document
  std::uint32_t len = 0;
  bool cache = true;
  std::vector<PmlNode> children;
};

// One thing that a prompt's level holds.
struct PromptItem {
  enum class Kind { kText, kOpen, kClose, kImport };
  Kind kind = Kind::kText;
  std::string name, text, written;               // role or module; text
  std::map<std::string, std::string> arguments;  // kImport
  std::vector<PromptItem> level;                 // kImport
};

class RandomPml {
 public:
  RandomPml(std::uint64_t seed, FakeTokenizer tokenizer)
      : random_(seed), tokenizer_(std::move(tokenizer)) {
    positions = random_.chance(0.5) ? "compact" : "schema";
    attend = std::vector<std::string>{"prefix", "self", "schema"}[random_.below(3)];
    bos = random_.chance(0.5);
    with_params_ = random_.chance(0.7);
    root_ = content(0, true, false);
    for (std::uint32_t n = random_.below(3); n > 0; --n) add_scaffold();
    prompt_ = level(root_, false);
  }

  std::string positions, attend;
  bool bos = false;

  std::string schema() const {
    std::string out = "<schema name=\"s\" positions=\"" + positions + "\" attend=\"" + attend +
                      "\">" + write(root_);
    for (std::size_t i = 0; i < scaffolds_.size(); ++i) {
      out += "<scaffold name=\"f" + std::to_string(i) + "\" modules=\"";
      for (const std::string& path : scaffolds_[i]) out += path + " ";
      out += "\"/>";
    }
    return out + "</schema>";
  }
  std::string prompt() const { return "<prompt schema=\"s\">" + write(prompt_) + "</prompt>"; }
  // The prompt that imports what scaffold i lists and says nothing itself.
  std::string scaffold_prompt(std::size_t i) const {
    return "<prompt schema=\"s\">" + write_paths(scaffolds_[i], "") + "</prompt>";
  }
  std::size_t n_scaffolds() const { return scaffolds_.size(); }
  bool has_params() const { return with_params_; }

  // The flat prompt; nothing where a turn would stand in another turn.
  std::optional<Tokens> flat() const {
    Flat flat{tokenizer_, bracket_chat(), {}, {}, bos, false, false, false, false, false};
    if (bos) flat.tokens.push_back(FakeTokenizer::kBos);
    flat.add(root_, prompt_, {});
    flat.add_tail(prompt_);
    if (flat.broken) return std::nullopt;
    if (flat.ended && flat.last == "user") flat.markup(flat.chat.generation_prefix);
    return flat.tokens;
  }

 private:
  using Kind = PmlNode::Kind;

  std::string word() { return "w" + std::to_string(random_.below(40)); }

  // Folded text and a way to write it.
  std::pair<std::string, std::string> text() {
    static const std::vector<std::string> pads = {"", " ", "\n  ", "\t\r\n"};
    std::string core = word();
    for (std::uint32_t n = random_.below(4); n > 0; --n)
      core += (random_.chance(0.2) ? "\n " : " ") + word();
    const std::string before = pads[random_.below(4)], after = pads[random_.below(4)];
    const std::string comment = random_.chance(0.2) ? "<!-- no text -->" : "";
    return {(before.empty() ? "" : " ") + core + (after.empty() ? "" : " "),
            before + comment + core + after};
  }

  std::vector<PmlNode> content(int depth, bool root, bool in_role) {
    std::vector<PmlNode> nodes;
    bool text_before = false;
    for (std::uint32_t n = random_.below(depth == 0 ? 7 : 5); n > 0; --n) {
      PmlNode node;
      const std::uint32_t kind = random_.below(10);
      if (kind < 4) {
        if (text_before) continue;
        std::tie(node.text, node.written) = text();
      } else if (kind < 5 && with_params_ && !root) {
        node.kind = Kind::kParam;
        node.name = "p" + std::to_string(n_names_++);
        node.len = random_.between(1, 4);
      } else if (kind < 8 && depth < 3) {
        node = module(depth, in_role);
      } else if (kind < 9 && depth < 3) {
        node.kind = Kind::kUnion;
        for (std::uint32_t m = random_.below(4); m > 0; --m)
          node.children.push_back(module(depth, in_role));
        if (!node.children.empty() && random_.chance(0.5))
          node.name =
              node.children[random_.below(static_cast<std::uint32_t>(node.children.size()))].name;
      } else if (!in_role) {
        node.kind = Kind::kRole;
        node.name = role();
        node.children = content(depth, root, true);
      } else {
        continue;
      }
      text_before = node.kind == Kind::kText;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  PmlNode module(int depth, bool in_role) {
    PmlNode node;
    node.kind = Kind::kModule;
    node.name = "m" + std::to_string(n_names_++);
    node.cache = !random_.chance(0.15);
    node.children = content(depth + 1, false, in_role);
    return node;
  }

  std::string role() {
    return std::vector<std::string>{"system", "user", "assistant"}[random_.below(3)];
  }

  // Unions and roles do not count as levels.
  static void collect(const std::vector<PmlNode>& nodes,
                      std::vector<std::vector<const PmlNode*>>& groups) {
    for (const PmlNode& node : nodes) {
      if (node.kind == Kind::kModule) groups.push_back({&node});
      if (node.kind == Kind::kRole) collect(node.children, groups);
      if (node.kind == Kind::kUnion) {
        groups.emplace_back();
        for (const PmlNode& member : node.children) groups.back().push_back(&member);
      }
    }
  }

  std::vector<PromptItem> level(const std::vector<PmlNode>& nodes, bool in_role) {
    std::vector<std::vector<const PmlNode*>> groups;
    collect(nodes, groups);
    std::vector<PromptItem> imports;
    const bool wrap = !in_role && random_.chance(0.3);
    for (const auto& group : groups) {
      if (group.empty() || random_.chance(0.4)) continue;
      imports.push_back(
          import(*group[random_.below(static_cast<std::uint32_t>(group.size()))], in_role || wrap));
    }
    if (!wrap)
      for (std::size_t i = imports.size(); i > 1; --i)
        std::swap(imports[i - 1], imports[random_.below(static_cast<std::uint32_t>(i))]);

    std::vector<PromptItem> items;
    const auto maybe_text = [&] {
      if (random_.chance(0.4) && (items.empty() || items.back().kind != PromptItem::Kind::kText))
        items.push_back(text_item());
    };
    std::string open;
    for (PromptItem& item : imports) {
      maybe_text();
      if (wrap && open.empty() && random_.chance(0.6))
        items.push_back(mark(PromptItem::Kind::kOpen, open = role()));
      maybe_text();
      items.push_back(std::move(item));
      maybe_text();
      if (!open.empty() && random_.chance(0.4))
        items.push_back(mark(PromptItem::Kind::kClose, std::exchange(open, "")));
    }
    if (!open.empty()) items.push_back(mark(PromptItem::Kind::kClose, open));
    maybe_text();
    if (!in_role && random_.chance(0.3)) {
      const std::string name = role();
      items.push_back(mark(PromptItem::Kind::kOpen, name));
      maybe_text();
      items.push_back(mark(PromptItem::Kind::kClose, name));
    }
    return items;
  }

  PromptItem text_item() {
    PromptItem item;
    std::tie(item.text, item.written) = text();
    return item;
  }
  static PromptItem mark(PromptItem::Kind kind, const std::string& name) {
    PromptItem item;
    item.kind = kind;
    item.name = name;
    return item;
  }
  PromptItem import(const PmlNode& module, bool in_role) {
    PromptItem item = mark(PromptItem::Kind::kImport, module.name);
    add_arguments(module.children, item);
    item.level = level(module.children, in_role);
    return item;
  }
  void add_arguments(const std::vector<PmlNode>& nodes, PromptItem& item) {
    for (const PmlNode& node : nodes) {
      if (node.kind == Kind::kRole) add_arguments(node.children, item);
      if (node.kind != Kind::kParam || random_.chance(0.3)) continue;
      std::string value;
      for (std::uint32_t n = random_.below(node.len + 1); n > 0; --n)
        value += (value.empty() ? "" : " ") + word();
      item.arguments[node.name] = value;
    }
  }

  void add_scaffold() {
    std::vector<std::string> paths;
    list(root_, "", paths);
    if (!paths.empty()) scaffolds_.push_back(std::move(paths));
  }
  // Modules that may be imported together, each with its parents.
  void list(const std::vector<PmlNode>& nodes, const std::string& around,
            std::vector<std::string>& paths) {
    std::vector<std::vector<const PmlNode*>> groups;
    collect(nodes, groups);
    for (const auto& group : groups) {
      if (group.empty() || random_.chance(0.5)) continue;
      const PmlNode& module = *group[random_.below(static_cast<std::uint32_t>(group.size()))];
      if (!module.cache) continue;
      paths.push_back(around + module.name);
      list(module.children, around + module.name + "/", paths);
    }
  }

  static std::string write(const std::vector<PmlNode>& nodes) {
    std::string out;
    for (const PmlNode& node : nodes) {
      switch (node.kind) {
        case Kind::kText: out += node.written; break;
        case Kind::kParam:
          out += "<param name=\"" + node.name + "\" len=\"" + std::to_string(node.len) + "\"/>";
          break;
        case Kind::kModule:
          out += "<module name=\"" + node.name + (node.cache ? "\">" : "\" cache=\"false\">") +
                 write(node.children) + "</module>";
          break;
        case Kind::kUnion:
          out += (node.name.empty() ? "<union>\n" : "<union scaffold=\"" + node.name + "\">\n") +
                 write(node.children) + "</union>";
          break;
        case Kind::kRole:
          out += "<" + node.name + ">" + write(node.children) + "</" + node.name + ">";
          break;
      }
    }
    return out;
  }

  static std::string write(const std::vector<PromptItem>& items) {
    std::string out;
    for (const PromptItem& item : items) {
      switch (item.kind) {
        case PromptItem::Kind::kText: out += item.written; break;
        case PromptItem::Kind::kOpen: out += "<" + item.name + ">"; break;
        case PromptItem::Kind::kClose: out += "</" + item.name + ">"; break;
        case PromptItem::Kind::kImport:
          out += "<" + item.name;
          for (const auto& [name, value] : item.arguments) out += " " + name + "='" + value + "'";
          out += ">" + write(item.level) + "</" + item.name + ">";
          break;
      }
    }
    return out;
  }

  static std::string write_paths(const std::vector<std::string>& paths, const std::string& around) {
    std::string out;
    for (const std::string& path : paths) {
      if (path.rfind(around, 0) != 0 || path.find('/', around.size()) != path.npos) continue;
      const std::string name = path.substr(around.size());
      out += "<" + name + ">" + write_paths(paths, path + "/") + "</" + name + ">";
    }
    return out;
  }

  struct Flat {
    const FakeTokenizer& tokenizer;
    pml::ChatTemplate chat;
    Tokens tokens;
    std::string last;  // role
    bool bos, module_before, ended, in_schema_role, in_prompt_role, broken;

    void append(const Tokens& more) {
      if (more.empty()) return;
      tokens.insert(tokens.end(), more.begin(), more.end());
      ended = false;
    }
    // Who writes a turn's strings decides what can stand before them: before a
    // module's own, anything.
    enum class By { kPrompt, kSchema, kModule };
    void markup(const std::string& s, By by = By::kPrompt) {
      const bool opens = tokens.size() == (bos ? 1u : 0u) &&
                         (by == By::kPrompt || (by == By::kSchema && !module_before));
      append(opens ? tokenizer.opening_markup(s) : tokenizer.markup(s));
    }

    void open(const std::string& role, const std::string& before, By by = By::kPrompt) {
      if (role == "system") return markup(chat.system.prefix, by);
      if (role == "assistant") return markup(chat.assistant.prefix, by);
      markup(before == "system"      ? *chat.user_prefix_after_system
             : before == "assistant" ? *chat.user_prefix_after_assistant
                                     : chat.user.prefix,
             by);
    }
    void close(const std::string& role) {
      markup(role == "system" ? chat.system.suffix
             : role == "user" ? chat.user.suffix
                              : chat.assistant.suffix);
      ended = true;
    }

    // What the prompt writes between two imports.
    void say(const PromptItem& item) {
      if (item.kind == PromptItem::Kind::kText) return append(tokenizer.text(item.text));
      if (item.kind == PromptItem::Kind::kOpen) {
        broken |= in_schema_role;
        open(item.name, last);
        last = item.name;
        in_prompt_role = true;
      } else {
        close(item.name);
        in_prompt_role = false;
      }
    }
    void add_tail(const std::vector<PromptItem>& level) {
      std::size_t i = level.size();
      while (i > 0 && level[i - 1].kind != PromptItem::Kind::kImport) --i;
      for (; i < level.size(); ++i) say(level[i]);
    }

    // `always`: the role of the turn that is before this place in every prompt. Returns it for what
    // follows.
    std::string add(const std::vector<PmlNode>& nodes, const std::vector<PromptItem>& level,
                    std::string always, const PromptItem* owner = nullptr) {
      for (const PmlNode& node : nodes) {
        switch (node.kind) {
          case Kind::kText: append(tokenizer.text(node.text)); break;
          case Kind::kParam: {
            const auto value = owner->arguments.find(node.name);
            if (value != owner->arguments.end()) append(tokenizer.text(value->second));
            break;
          }
          case Kind::kModule: add_module(node, level, always); break;
          case Kind::kUnion:
            for (const PmlNode& member : node.children) add_module(member, level, always);
            break;
          case Kind::kRole:
            broken |= in_prompt_role;
            open(node.name, always, owner ? By::kModule : By::kSchema);
            last = always = node.name;
            in_schema_role = true;
            ended = false;
            add(node.children, level, always, owner);
            in_schema_role = false;
            close(node.name);
            break;
        }
      }
      return always;
    }
    void add_module(const PmlNode& module, const std::vector<PromptItem>& level,
                    const std::string& always) {
      module_before = true;
      for (std::size_t i = 0; i < level.size(); ++i) {
        if (level[i].kind != PromptItem::Kind::kImport || level[i].name != module.name) continue;
        std::size_t first = i;
        while (first > 0 && level[first - 1].kind != PromptItem::Kind::kImport) --first;
        for (; first < i; ++first) say(level[first]);
        add(module.children, level[i].level, always, &level[i]);
        add_tail(level[i].level);
      }
    }
  };

  Random random_;
  FakeTokenizer tokenizer_;
  bool with_params_ = true;
  int n_names_ = 0;
  std::vector<PmlNode> root_;
  std::vector<std::vector<std::string>> scaffolds_;
  std::vector<PromptItem> prompt_;
};

}  // namespace pc::test
