#include "pml/syntax/xml_reader.h"

#include <expat.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "pml/syntax/names.h"
#include "pml/syntax/place_cursor.h"

namespace pc::pml {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

struct FreeParser {
  void operator()(XML_ParserStruct* p) const { XML_ParserFree(p); }
};
using Parser = std::unique_ptr<XML_ParserStruct, FreeParser>;

bool is_utf8_name(std::string_view encoding) {
  constexpr std::string_view kName = "utf-8";
  return std::equal(encoding.begin(), encoding.end(), kName.begin(), kName.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

class Reader {
 public:
  explicit Reader(std::string_view document)
      : document_(document), places_(document), parser_(XML_ParserCreate("UTF-8")) {}

  Result<XmlNode> read();

 private:
  // Handlers run inside expat, which is C: an exception must not cross it, nor one from here.
  template <class F>
  static void guarded(void* self, F f) {
    Reader& reader = *static_cast<Reader*>(self);
    if (reader.error_ || reader.thrown_) return;
    try {
      f(reader);
    } catch (...) {
      reader.thrown_ = std::current_exception();
      XML_StopParser(reader.parser_.get(), XML_FALSE);
    }
  }

  void open(const char* name, const char** attributes);
  void close();
  void text(std::string_view data);
  void declaration(const char* version, const char* encoding);
  void doctype();
  void flush_text();
  void fail(Code code, std::string message);
  void fail(Code code, Place place, std::string message);
  void set_handlers();
  std::size_t bare_mark(std::size_t offset) const;
  std::string not_well_formed(XML_Error code) const;

  std::size_t offset() const {
    const XML_Index index = XML_GetCurrentByteIndex(parser_.get());  // -1: none
    return std::min(static_cast<std::size_t>(index), document_.size());
  }
  Place here() { return places_.at(offset()); }

  std::string_view document_;
  PlaceCursor places_;
  Parser parser_;
  std::vector<XmlNode> stack_;  // open elements; the finished root at the end
  std::size_t depth_ = 0;
  std::size_t n_elements_ = 0;
  XmlNode run_;  // text since the last tag
  std::optional<Error> error_;
  std::exception_ptr thrown_;  // by a handler
};

void Reader::fail(Code code, std::string message) {
  fail(code, here(), std::move(message));
}

void Reader::fail(Code code, Place place, std::string message) {
  error_ = error_at(code, place, std::move(message));
  XML_StopParser(parser_.get(), XML_FALSE);
}

void Reader::open(const char* name, const char** attributes) {
  flush_text();
  if (++n_elements_ > kMaxElements)
    return fail(Code::kPmlSyntax,
                "more than " + std::to_string(kMaxElements) + " elements; split the document");
  if (++depth_ > kMaxDepth)
    return fail(Code::kPmlSyntax, "elements nested deeper than " + std::to_string(kMaxDepth));
  XmlNode element;
  element.place = here();
  element.name = name;
  for (; *attributes; attributes += 2) element.attributes.push_back({attributes[0], attributes[1]});
  stack_.push_back(std::move(element));
}

void Reader::close() {
  flush_text();
  --depth_;
  if (stack_.size() == 1) return;  // the root stays
  XmlNode element = std::move(stack_.back());
  stack_.pop_back();
  stack_.back().children.push_back(std::move(element));
}

void Reader::text(std::string_view data) {
  if (run_.place.line == 0) {
    // expat gives line ends and references as events of their own, so what
    // precedes a character within one event is as long in the document.
    const std::size_t skip = data.find_first_not_of(kWhiteSpace);
    if (skip != data.npos) {
      run_.place = here();
      run_.place.column += static_cast<std::uint32_t>(skip);
    }
  }
  run_.text += data;
}

void Reader::flush_text() {
  if (run_.text.empty() || stack_.empty()) return;
  if (run_.place.line == 0) run_.place = here();  // white space only
  stack_.back().children.push_back(std::exchange(run_, {}));
}

void Reader::set_handlers() {
  XML_Parser p = parser_.get();
  XML_SetUserData(p, this);
  XML_SetElementHandler(
      p,
      [](void* self, const char* name, const char** attributes) {
        guarded(self, [&](Reader& r) { r.open(name, attributes); });
      },
      [](void* self, const char*) { guarded(self, [](Reader& r) { r.close(); }); });
  XML_SetCharacterDataHandler(p, [](void* self, const char* data, int n) {
    guarded(self, [&](Reader& r) { r.text({data, static_cast<std::size_t>(n)}); });
  });
  XML_SetStartDoctypeDeclHandler(p, [](void* self, const char*, const char*, const char*, int) {
    guarded(self, [](Reader& r) { r.doctype(); });
  });
  XML_SetProcessingInstructionHandler(p, [](void* self, const char* target, const char*) {
    guarded(self, [&](Reader& r) {
      r.fail(Code::kPmlSyntax, "processing instruction " + quote(target) +
                                   " is not allowed in PML; write '<?' in text as '&lt;?'");
    });
  });
  XML_SetXmlDeclHandler(p, [](void* self, const char* version, const char* encoding, int) {
    guarded(self, [&](Reader& r) { r.declaration(version, encoding); });
  });
}

void Reader::declaration(const char* version, const char* encoding) {
  // expat gives no version for the declaration of an external entity only.
  if (version && std::string_view(version) != "1.0")
    return fail(Code::kPmlSyntax, "XML version " + quote(version) + "; PML is XML 1.0");
  if (encoding && !is_utf8_name(encoding))
    fail(Code::kPmlSyntax, "encoding " + quote(encoding) + "; save the document as UTF-8");
}

void Reader::doctype() {
  // expat reports it where its name or identifiers end.
  const std::size_t start = document_.rfind("<!DOCTYPE", offset());
  fail(Code::kPmlSyntax, places_.at(start),
       "DOCTYPE is not allowed in PML; remove the declaration");
}

// expat points at what may not follow a '<' or '&'; the writer looks for the
// mark itself. Names after a '&' are stepped over.
std::size_t Reader::bare_mark(std::size_t offset) const {
  std::size_t at = offset;
  while (at > 0 &&
         (std::isalnum(static_cast<unsigned char>(document_[at - 1])) || document_[at - 1] == '#'))
    --at;
  if (at > 0 && document_[at - 1] == '&') return at - 1;
  return offset > 0 && document_[offset - 1] == '<' ? offset - 1 : offset;
}

std::string Reader::not_well_formed(XML_Error code) const {
  const XmlNode* open = depth_ > 0 ? &stack_.back() : nullptr;
  switch (code) {
    case XML_ERROR_INVALID_TOKEN:
      if (!open)
        return "not well-formed XML; outside of the root element stand only comments, and in "
               "values "
               "'<' is written '&lt;' and '&' is written '&amp;'";
      return "not well-formed XML; in text and values '<' is written '&lt;' and '&' is written "
             "'&amp;'";
    case XML_ERROR_TAG_MISMATCH:
      return "this tag does not close " + tag(open->name) + ", opened at " + to_string(open->place);
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
      if (open)
        return "the document ends before " + tag(open->name) + ", opened at " +
               to_string(open->place) + ", is closed";
      return code == XML_ERROR_NO_ELEMENTS ? "the document holds no element"
                                           : "the document ends inside a tag";
    case XML_ERROR_DUPLICATE_ATTRIBUTE:
      return "an attribute is given twice in this tag";
    case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
      return "text or a tag after the end of " + tag(stack_.front().name);
    case XML_ERROR_UNDEFINED_ENTITY:
      return "undefined entity; XML knows &lt; &gt; &amp; &quot; &apos; and &#N;";
    default:
      return std::string("not well-formed XML: ") + XML_ErrorString(code);
  }
}

Result<XmlNode> Reader::read() {
  if (!parser_) return error(Code::kOutOfMemory, "not enough memory for an XML parser");
  set_handlers();
  const auto status =
      XML_Parse(parser_.get(), document_.data(), static_cast<int>(document_.size()), XML_TRUE);
  if (thrown_) std::rethrow_exception(thrown_);
  if (error_) return *std::move(error_);
  if (status != XML_STATUS_OK) {
    const XML_Error code = XML_GetErrorCode(parser_.get());
    if (code == XML_ERROR_NO_MEMORY)
      return error(Code::kOutOfMemory, "not enough memory to read this document");
    const std::size_t place = code == XML_ERROR_INVALID_TOKEN ? bare_mark(offset()) : offset();
    return error_at(Code::kPmlSyntax, places_.at(place), not_well_formed(code));
  }
  return std::move(stack_.front());
}

bool is_ascii_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto further = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), further);
}

}  // namespace

Result<XmlNode> read_xml(std::string_view document) {
  if (document.size() > kMaxDocumentBytes)
    return error(Code::kPmlSyntax, "the document has " + std::to_string(document.size()) +
                                       " bytes; the most is " + std::to_string(kMaxDocumentBytes));
  // UTF-16 is all zero bytes, and expat would read it in spite of what it is told.
  const std::size_t bad = std::min(document.find('\0'), utf8_valid_prefix(document));
  if (bad != document.size())
    return error_at(Code::kPmlSyntax, PlaceCursor(document).at(bad),
                    "the bytes here are not UTF-8 text; save the document as UTF-8");
  return Reader(document).read();
}

Result<bool> is_xml_name(std::string_view name) {
  if (is_ascii_name(name)) return true;
  if (name.empty() || name.find_first_of(": \t\r\n/>=<&\"'") != name.npos) return false;
  // What is a letter elsewhere, the parser itself knows best.
  const auto element = read_xml("<" + std::string(name) + "/>");
  if (!element.ok() && element.error().code == Code::kOutOfMemory) return element.error();
  return element.ok() && element->name == name && element->attributes.empty();
}

}  // namespace pc::pml
