#include "pml/syntax/prompt_parser.h"

#include <optional>
#include <utility>
#include <vector>

#include "pml/syntax/elements.h"
#include "pml/syntax/names.h"
#include "pml/syntax/xml_reader.h"

namespace pc::pml {
namespace {

struct Scope {
  bool preserve = false;
  std::optional<Role> role;  // of the role element around
};

Result<std::vector<PromptNode>> read_content(const XmlNode& element, Scope scope);

Result<PromptNode> read_role(const XmlNode& element, Role role, Scope scope) {
  if (scope.role) return nested_role(element, *scope.role);
  PC_CHECK_OK(check_attributes(element, {"xml:space"}));
  PromptNode node;
  node.kind = PromptNode::Kind::kRole;
  node.role = role;
  node.place = element.place;
  scope.role = role;
  PC_TRY(node.children, read_content(element, scope));
  return node;
}

Result<PromptNode> read_import(const XmlNode& element, Scope scope) {
  if (is_reserved(element.name))
    return broken_rule(element.place, "<" + element.name +
                                          "> does not belong in a prompt, which imports "
                                          "modules by their names as tags");
  PC_CHECK_OK(check_name(element, element.name));
  PromptNode node;
  node.kind = PromptNode::Kind::kImport;
  node.place = element.place;
  node.name = element.name;
  for (const XmlAttribute& attribute : element.attributes)
    if (attribute.name != "xml:space") node.arguments.push_back({attribute.name, attribute.value});
  PC_TRY(node.children, read_content(element, scope));
  return node;
}

Result<std::vector<PromptNode>> read_content(const XmlNode& element, Scope scope) {
  PC_TRY(scope.preserve, preserves_space(element, scope.preserve));
  std::vector<PromptNode> nodes;
  for (std::size_t i = 0; i < element.children.size(); ++i) {
    const XmlNode& child = element.children[i];
    if (child.is_text()) {
      PromptNode node;
      node.place = child.place;
      node.text = text_of(element, i, scope.preserve);
      if (!node.text.empty()) nodes.push_back(std::move(node));
    } else if (const auto role = role_of(child.name)) {
      PC_TRY(PromptNode node, read_role(child, *role, scope));
      nodes.push_back(std::move(node));
    } else {
      PC_TRY(PromptNode node, read_import(child, scope));
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

}  // namespace

Result<Prompt> parse_prompt(std::string_view document) {
  PC_TRY(const XmlNode root, read_xml(document));
  if (root.name != "prompt")
    return broken_rule(root.place,
                       "a prompt is a <prompt schema=\"...\"> element, not " + tag(root.name));
  PC_CHECK_OK(check_attributes(root, {"schema", "repair", "xml:space"}));
  Prompt prompt;
  prompt.place = root.place;
  PC_TRY(prompt.schema, required(root, "schema"));
  PC_TRY(prompt.repair, repair_of(root));
  PC_TRY(prompt.children, read_content(root, {}));
  return prompt;
}

}  // namespace pc::pml
