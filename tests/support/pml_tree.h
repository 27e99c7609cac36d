// A PML document as the tests make it: a tree that can be written as XML, and
// what its text means, by the rules of white space and none of the project's code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pc::test {

struct PmlTree {
  enum class Kind { kText, kParam, kModule, kUnion, kRole, kImport };
  Kind kind = Kind::kText;
  std::string name;       // of module ("": anonymous), parameter, default member, role, import
  std::string text;       // kText: as a reader of XML gives it; kParam: its scaffold
  std::string written;    // kText: as it stands in the document
  std::string space;      // xml:space
  std::string src, file;  // kModule: a file's name, "": none, and its text
  std::uint32_t len = 0;  // kParam
  bool cache = true;      // kModule
  std::map<std::string, std::string> arguments;  // kImport
  std::vector<PmlTree> children;

  bool is(Kind other) const { return kind == other; }
};

using PmlTrees = std::vector<PmlTree>;

inline std::string write_pml(const PmlTrees& nodes);

inline std::string write_pml(const PmlTree& node) {
  using Kind = PmlTree::Kind;
  const auto attribute = [](const char* name, const std::string& value) {
    return value.empty() ? "" : std::string(" ") + name + "='" + value + "'";
  };
  std::string tag, attributes;
  switch (node.kind) {
    case Kind::kText:
      return node.written;
    case Kind::kParam:
      tag = "param";
      attributes = attribute("name", node.name) + attribute("len", std::to_string(node.len)) +
                   attribute("scaffold", node.text);
      break;
    case Kind::kModule:
      tag = "module";
      attributes = attribute("name", node.name) + attribute("src", node.src) +
                   (node.cache ? "" : " cache='false'");
      break;
    case Kind::kUnion:
      tag = "union";
      attributes = attribute("scaffold", node.name);
      break;
    case Kind::kRole:
      tag = node.name;
      break;
    case Kind::kImport:
      tag = node.name;
      for (const auto& [name, value] : node.arguments)
        attributes += " " + name + "='" + value + "'";
      break;
  }
  return "<" + tag + attributes + attribute("xml:space", node.space) + ">" +
         write_pml(node.children) + "</" + tag + ">";
}

inline std::string write_pml(const PmlTrees& nodes) {
  std::string out;
  for (const PmlTree& node : nodes) out += write_pml(node);
  return out;
}

// What text number `i` of an element's children says.
inline std::string meaning_of(const PmlTrees& nodes, std::size_t i, bool preserve) {
  const std::string& text = nodes[i].text;
  if (preserve) return text;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  std::string core = text;
  while (!core.empty() && blank(core.back())) core.pop_back();
  while (!core.empty() && blank(core.front())) core.erase(0, 1);
  if (!core.empty())
    return (blank(text.front()) ? " " : "") + core + (blank(text.back()) ? " " : "");
  const bool between = i > 0 && i + 1 < nodes.size() && !nodes[i - 1].is(PmlTree::Kind::kRole) &&
                       !nodes[i + 1].is(PmlTree::Kind::kRole);
  return between && text.find('\n') == text.npos ? " " : "";
}

// The tree with every text as it counts: white space folded, empty text left
// out, files and modules without a name in their places. `preserve` holds here,
// `modules_preserve` in the modules of a schema that stand here.
inline PmlTrees meaning_of(const PmlTrees& nodes, bool preserve, bool modules_preserve) {
  using Kind = PmlTree::Kind;
  PmlTrees out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PmlTree node = nodes[i];
    if (node.is(Kind::kText)) {
      node.text = meaning_of(nodes, i, preserve);
      if (!node.text.empty()) out.push_back(std::move(node));
      continue;
    }
    bool here = node.is(Kind::kModule) ? modules_preserve : preserve, modules = modules_preserve;
    if (!node.space.empty()) here = modules = node.space == "preserve";
    node.children = meaning_of(node.children, here, modules);
    if (!node.file.empty()) {
      PmlTree file;
      file.text = node.file;
      node.children.insert(node.children.begin(), std::move(file));
    }
    if (node.is(Kind::kModule) && node.name.empty())
      for (PmlTree& child : node.children) out.push_back(std::move(child));
    else
      out.push_back(std::move(node));
  }
  return out;
}

}  // namespace pc::test
