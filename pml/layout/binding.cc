#include "pml/layout/binding.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "pml/syntax/names.h"

namespace pc::pml {
namespace {

using Kind = PromptNode::Kind;
using What = Written::What;

class Binder {
 public:
  Binder(const Layout& layout, const TextEncoder& encoder) : layout_(layout), encoder_(encoder) {
    binding_.modules.resize(layout.modules.size());
    binding_.arguments.resize(layout.slots.size());
    taken_.resize(layout.unions.size(), kNone);
  }

  Result<Binding> bind(const Prompt& prompt) {
    PC_CHECK_OK(add_level(prompt.children, kRoot));
    return std::move(binding_);
  }

 private:
  // What stands directly in one module, roles being transparent.
  struct Level {
    std::uint32_t module = kRoot;
    std::vector<Written> pending;  // waits for the first import, or for what is in a turn first
    std::uint32_t last = kNone;    // the latest import
  };

  Status add_level(const std::vector<PromptNode>& nodes, std::uint32_t module);
  Status add_nodes(const std::vector<PromptNode>& nodes, Level& level, bool in_turn);
  void write(Level& level, Written written);
  Status add_import(const PromptNode& node, Level& level);
  Status add_arguments(const PromptNode& node, const Module& module);
  Error unknown_module(const PromptNode& node, const Module& parent) const;
  Error unknown_parameter(const PromptNode& node, const Argument& argument,
                          const Module& module) const;

  const Layout& layout_;
  const TextEncoder& encoder_;
  Binding binding_;
  std::vector<std::uint32_t> taken_;  // the imported member of each union
};

Status Binder::add_level(const std::vector<PromptNode>& nodes, std::uint32_t module) {
  Level level;
  level.module = module;
  PC_CHECK_OK(add_nodes(nodes, level, false));
  binding_.modules[module].inside = std::move(level.pending);
  return ok();
}

Status Binder::add_nodes(const std::vector<PromptNode>& nodes, Level& level, bool in_turn) {
  for (const PromptNode& node : nodes) {
    switch (node.kind) {
      case Kind::kText:
        write(level, {What::kText, &node});
        break;
      case Kind::kRole:
        level.pending.push_back({What::kOpenTurn, &node});
        PC_CHECK_OK(add_nodes(node.children, level, true));
        write(level, {What::kCloseTurn, &node});
        break;
      case Kind::kImport:
        binding_.modules[level.module].wrapped |= in_turn;
        PC_CHECK_OK(add_import(node, level));
        break;
    }
  }
  return ok();
}

// Behind the latest import, with the turns that open here; before the first one
// all waits for it.
void Binder::write(Level& level, Written written) {
  level.pending.push_back(written);
  if (level.last == kNone) return;
  std::vector<Written>& after = binding_.modules[level.last].after;
  after.insert(after.end(), level.pending.begin(), level.pending.end());
  level.pending.clear();
}

Status Binder::add_import(const PromptNode& node, Level& level) {
  const Module& parent = layout_.modules[level.module];
  const auto index =
      layout_.find_module(parent.path.empty() ? node.name : parent.path + "/" + node.name);
  if (!index) return unknown_module(node, parent);
  const Module& module = layout_.modules[*index];
  Import& import = binding_.modules[*index];
  if (import.node)
    return broken_rule(node.place, "module " + quote(module.path) +
                                       " is imported twice, first at " +
                                       to_string(import.node->place));
  import.node = &node;
  if (module.union_id != kNone) {
    const std::uint32_t other = std::exchange(taken_[module.union_id], *index);
    if (other != kNone)
      return broken_rule(node.place, "module " + quote(module.path) + " and module " +
                                         quote(layout_.modules[other].path) + ", imported at " +
                                         to_string(binding_.modules[other].node->place) +
                                         ", are members of one union; import one of them");
  }
  PC_CHECK_OK(add_arguments(node, module));
  import.before = std::exchange(level.pending, {});
  level.last = *index;
  binding_.modules[level.module].imports.push_back(*index);
  return add_level(node.children, *index);
}

Status Binder::add_arguments(const PromptNode& node, const Module& module) {
  if (node.arguments.empty()) return ok();
  std::unordered_map<std::string_view, std::uint32_t> slots;
  for (const std::uint32_t s : module.slots) slots.emplace(layout_.slots[s].name, s);
  for (const Argument& argument : node.arguments) {
    const auto slot = slots.find(argument.name);
    if (slot == slots.end()) return unknown_parameter(node, argument, module);
    const std::uint32_t len = layout_.slots[slot->second].len;
    if (argument.value.empty()) continue;
    auto tokens = encoder_.text(argument.value);
    if (!tokens.ok()) return at(node.place, std::move(tokens).error());
    if (tokens->size() > len)
      return broken_rule(node.place,
                         "argument " + quote(argument.name) + " of module " + quote(module.path) +
                             " has " + std::to_string(tokens->size()) +
                             " tokens; its parameter has room for " + std::to_string(len));
    binding_.arguments[slot->second] = std::move(*tokens);
  }
  return ok();
}

Error Binder::unknown_parameter(const PromptNode& node, const Argument& argument,
                                const Module& module) const {
  std::vector<std::string_view> known;
  for (const std::uint32_t s : module.slots) known.push_back(layout_.slots[s].name);
  return broken_rule(node.place, "module " + quote(module.path) + " has no parameter " +
                                     quote(argument.name) + name_hint(argument.name, known));
}

Error Binder::unknown_module(const PromptNode& node, const Module& parent) const {
  const std::string where =
      parent.path.empty() ? "schema " + quote(layout_.schema) : "module " + quote(parent.path);
  const std::string what = where + " has no module " + quote(node.name);
  for (const Module& module : layout_.modules) {
    if (module.name != node.name) continue;
    if (module.parent == kRoot)
      return broken_rule(
          node.place,
          what + " inside; it stands directly in the schema, so close <" + parent.name + "> first");
    return broken_rule(node.place, what + " at this level; " + quote(module.path) +
                                       " is imported inside <" +
                                       layout_.modules[module.parent].name + ">");
  }
  std::vector<std::string_view> known;
  for (std::size_t i = 1; i < layout_.modules.size(); ++i)
    if (layout_.modules[i].parent == static_cast<std::uint32_t>(&parent - layout_.modules.data()))
      known.push_back(layout_.modules[i].name);
  return broken_rule(node.place, what + name_hint(node.name, known));
}

}  // namespace

Status check_schema_name(const Prompt& prompt, const Layout& layout) {
  if (prompt.schema == layout.schema) return ok();
  return broken_rule(prompt.place, "this prompt is for schema " + quote(prompt.schema) +
                                       "; the schema given is " + quote(layout.schema));
}

Result<Binding> bind(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder) {
  PC_CHECK_OK(check_schema_name(prompt, layout));
  return Binder(layout, encoder).bind(prompt);
}

}  // namespace pc::pml
