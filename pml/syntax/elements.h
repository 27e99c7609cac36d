// What schema and prompt documents have in common: white space, role
// elements, reserved names, and the attributes that an element may bear.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pml/syntax/schema.h"      // Role
#include "pml/syntax/xml_reader.h"  // XmlNode

namespace pc::pml {

inline constexpr std::string_view kWhiteSpace = " \t\r\n";

bool is_white_space(std::string_view text);

// The text of node `index` of an element's children. Leading and trailing white
// space become one space each, what is between stays. A run of white space only
// is indentation, and nothing; but on one line between two pieces of content it
// is one space, so that a word does not grow onto the next. `preserve`
// (xml:space) leaves all as it stands.
std::string text_of(const XmlNode& element, std::size_t index, bool preserve);

// xml:space of this element, or what its parent has.
Result<bool> preserves_space(const XmlNode& element, bool inherited);

// repair= of this element; none where it says nothing.
Result<std::optional<Repair>> repair_of(const XmlNode& element);

std::optional<Role> role_of(std::string_view tag);

// The tags of the language: no module may be called so.
bool is_reserved(std::string_view name);

// Every attribute of the element is one of these, or an error that names the nearest.
Status check_attributes(const XmlNode& element, std::initializer_list<std::string_view> known);

// The element holds comments and white space only.
Status check_empty(const XmlNode& element);

// The attribute's value, or an error that says it is missing.
Result<std::string> required(const XmlNode& element, std::string_view attribute);

// An XML name without colon of at most kMaxNameBytes: jobs and reports repeat it.
inline constexpr std::size_t kMaxNameBytes = 128;
Status check_name(const XmlNode& element, std::string_view name);

// One role element inside another: `outer` is the one around `element`.
Error nested_role(const XmlNode& element, Role outer);

}  // namespace pc::pml
