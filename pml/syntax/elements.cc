#include "pml/syntax/elements.h"

#include <algorithm>
#include <array>
#include <span>

#include "pml/syntax/names.h"

namespace pc::pml {
namespace {

constexpr std::array<std::string_view, 11> kReserved = {
    "schema", "prompt", "module",    "union",    "param",   "parameter",
    "system", "user",   "assistant", "scaffold", "stand-in"};

}  // namespace

bool is_white_space(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == text.npos;
}

namespace {

// Does this node hold content that stands in a line of text? Turns stand by themselves.
bool is_content(const XmlNode& node) {
  return node.name != "scaffold" && node.name != "stand-in" && !role_of(node.name);
}

}  // namespace

std::string text_of(const XmlNode& element, std::size_t index, bool preserve) {
  const std::string& text = element.children[index].text;
  if (preserve) return text;
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == text.npos) {
    const bool between = index > 0 && index + 1 < element.children.size() &&
                         is_content(element.children[index - 1]) &&
                         is_content(element.children[index + 1]);
    return between && text.find_first_of("\r\n") == text.npos ? " " : "";
  }
  const std::size_t last = text.find_last_not_of(kWhiteSpace);
  std::string folded(first > 0 ? " " : "");
  folded.append(text, first, last + 1 - first);
  if (last + 1 < text.size()) folded += ' ';
  return folded;
}

Result<bool> preserves_space(const XmlNode& element, bool inherited) {
  const std::string* value = element.attribute("xml:space");
  if (!value) return inherited;
  if (*value == "preserve") return true;
  if (*value == "default") return false;
  return broken_rule(element.place, "xml:space is 'preserve' or 'default', not " + quote(*value));
}

Result<std::optional<Repair>> repair_of(const XmlNode& element) {
  const std::string* value = element.attribute("repair");
  if (!value) return std::optional<Repair>();
  auto repair = parse_repair(*value);
  if (!repair.ok()) return broken_rule(element.place, std::move(repair).error().message);
  return std::optional(*repair);
}

std::optional<Role> role_of(std::string_view tag) {
  for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant})
    if (tag == role_name(role)) return role;
  return std::nullopt;
}

bool is_reserved(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

Status check_attributes(const XmlNode& element, std::initializer_list<std::string_view> known) {
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (const XmlAttribute& attribute : element.attributes)
    if (std::find(known.begin(), known.end(), attribute.name) == known.end())
      return broken_rule(element.place, tag(element.name) + " has no attribute " +
                                            quote(attribute.name) +
                                            name_hint(attribute.name, names));
  return ok();
}

Status check_empty(const XmlNode& element) {
  for (const XmlNode& child : element.children)
    if (!child.is_text() || !is_white_space(child.text))
      return broken_rule(child.place, tag(element.name) + " must be empty");
  return ok();
}

Result<std::string> required(const XmlNode& element, std::string_view attribute) {
  const std::string* value = element.attribute(attribute);
  if (!value)
    return broken_rule(element.place,
                       tag(element.name) + " needs the attribute '" + std::string(attribute) + "'");
  return *value;
}

Status check_name(const XmlNode& element, std::string_view name) {
  if (name.size() > kMaxNameBytes)
    return broken_rule(element.place, "the name " + quote(name) + " is longer than " +
                                          std::to_string(kMaxNameBytes) + " bytes");
  PC_TRY(const bool is_name, is_xml_name(name));
  if (!is_name)
    return broken_rule(element.place, quote(name) +
                                          " is not a name; start with a letter or '_', go on "
                                          "with letters, digits, '-', '_' or '.'");
  return ok();
}

Error nested_role(const XmlNode& element, Role outer) {
  return broken_rule(element.place, tag(element.name) + " inside <" + role_name(outer) +
                                        ">; close the outer turn first");
}

}  // namespace pc::pml
