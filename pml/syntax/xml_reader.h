// Strict XML 1.0 in UTF-8, read into a tree of elements and text runs.
//
// Refused: DOCTYPE (and with it entities of one's own), processing
// instructions, other encodings, and documents over the limits below. A text
// run is the character data between two tags; comments and CDATA marks do not
// split it.
//
// The tree owns its text. Home of expat. Threads: any; no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/syntax/place.h"

namespace pc::pml {

inline constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxElements = 65536;

struct XmlAttribute {
  std::string name;
  std::string value;
};

// An element, or, where name is empty, a text run.
struct XmlNode {
  Place place;  // of the element's '<', or of the run's first character that is no white space
  std::string name;
  std::string text;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlNode> children;

  bool is_text() const { return name.empty(); }
  const std::string* attribute(std::string_view wanted) const {
    for (const XmlAttribute& a : attributes)
      if (a.name == wanted) return &a.value;
    return nullptr;
  }
};

// The root element. Errors: kPmlSyntax with line:column.
Result<XmlNode> read_xml(std::string_view document);

// Could a document use this as a tag or an attribute? Colons are not allowed. kOutOfMemory.
Result<bool> is_xml_name(std::string_view name);

}  // namespace pc::pml
