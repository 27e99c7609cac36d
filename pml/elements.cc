#include "pml/elements.h"

#include <algorithm>
#include <array>
#include <span>

#include "pml/names.h"
#include "pml/schema_parser.h"  // kMaxNameBytes

namespace pc::pml {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::array<std::string_view, 10> kReserved = {"schema",    "prompt",    "module", "union",
                                                        "param",     "parameter", "system", "user",
                                                        "assistant", "scaffold"};

}  // namespace

bool is_white_space(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == text.npos;
}

std::string fold(std::string_view text, bool preserve) {
  if (preserve) return std::string(text);
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == text.npos) return "";
  const std::size_t last = text.find_last_not_of(kWhiteSpace);
  std::string folded(first > 0 ? " " : "");
  folded += text.substr(first, last + 1 - first);
  if (last + 1 < text.size()) folded += ' ';
  return folded;
}

std::string as_xml_text(std::string bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t n = 0;
  for (std::size_t i = bytes.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    bytes[n++] = bytes[i] == '\r' ? '\n' : bytes[i];
  }
  bytes.resize(n);
  return bytes;
}

Result<bool> preserves_space(const XmlNode& element, bool inherited) {
  const std::string* value = element.attribute("xml:space");
  if (!value) return inherited;
  if (*value == "preserve") return true;
  if (*value == "default") return false;
  return broken_rule(element.place, "xml:space is 'preserve' or 'default', not " + quote(*value));
}

const char* role_name(Role role) {
  switch (role) {
    case Role::kSystem: return "system";
    case Role::kUser: return "user";
    case Role::kAssistant: return "assistant";
  }
  return "unknown";
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
  if (!is_xml_name(name))
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
