#include "pml/syntax/schema_parser.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "pml/syntax/elements.h"
#include "pml/syntax/names.h"
#include "pml/syntax/xml_reader.h"

namespace pc::pml {
namespace {

using Kind = SchemaNode::Kind;
using Names = std::unordered_map<std::string, Place>;  // where each was defined

// What an element inherits from those around it.
struct Scope {
  bool preserve = false;          // text that stands directly here
  bool modules_preserve = false;  // text of the modules in it
  std::optional<Role> role;       // of the role element around, through modules too
  std::size_t path_bytes = 0;     // of the path of the module around
  Names* modules = nullptr;       // siblings: shared through unions and roles
  Names* params = nullptr;        // of the module around; nullptr directly in the schema
};

class SchemaReader {
 public:
  explicit SchemaReader(const ReadFileFn& read_file) : read_file_(read_file) {}

  Result<Schema> read(const XmlNode& root);

 private:
  using Children = std::vector<SchemaNode>;

  Result<Children> content(const XmlNode& element, Scope scope);
  static Status set_space(const XmlNode& element, Scope& scope);
  Status child(const XmlNode& element, const Scope& scope, Children& into);
  Status add_text(const XmlNode& element, std::size_t index, bool preserve, Children& into);
  Status add_file(const XmlNode& element, Children& into);
  Status add_anonymous(const XmlNode& element, Scope scope, Children& into);
  Status add_scaffold(const XmlNode& element);
  Status add_stand_in(const XmlNode& element, Scope scope);
  Status count_text(Place place, std::size_t bytes);
  Result<SchemaNode> module(const XmlNode& element, Scope scope);
  Result<SchemaNode> alternatives(const XmlNode& element, Scope scope);
  Result<SchemaNode> param(const XmlNode& element, const Scope& scope);
  Result<SchemaNode> role(const XmlNode& element, Role role, Scope scope);

  const ReadFileFn& read_file_;
  std::size_t text_bytes_ = 0;
  Names scaffold_names_;
  Schema schema_;
};

Status add_name(Names& names, const std::string& name, const XmlNode& element, const char* what) {
  const auto [known, added] = names.emplace(name, element.place);
  if (!added)
    return broken_rule(element.place, std::string(what) + " " + quote(name) +
                                          " is already defined at " + to_string(known->second));
  return ok();
}

template <class T>
Result<T> choice(const XmlNode& element, std::string_view attribute, T otherwise,
                 std::initializer_list<std::pair<std::string_view, T>> values) {
  const std::string* given = element.attribute(attribute);
  if (!given) return otherwise;
  std::string known;
  for (const auto& [name, value] : values) {
    if (*given == name) return value;
    known += (known.empty() ? "'" : " or '") + std::string(name) + "'";
  }
  return broken_rule(element.place, "attribute '" + std::string(attribute) + "' of <" +
                                        element.name + "> is " + known + ", not " + quote(*given));
}

Result<Schema> SchemaReader::read(const XmlNode& root) {
  if (root.name != "schema")
    return broken_rule(root.place,
                       "a schema is a <schema name=\"...\"> element, not " + tag(root.name));
  PC_CHECK_OK(
      check_attributes(root, {"name", "positions", "attend", "repair", "src", "xml:space"}));
  schema_.place = root.place;
  PC_TRY(schema_.name, required(root, "name"));
  PC_CHECK_OK(check_name(root, schema_.name));
  PC_TRY(schema_.positions,
         choice(root, "positions", Positions::kCompact,
                {{"compact", Positions::kCompact}, {"schema", Positions::kSchema}}));
  PC_TRY(schema_.attend, choice(root, "attend", Attend::kPrefix,
                                {{"prefix", Attend::kPrefix},
                                 {"self", Attend::kSelf},
                                 {"schema", Attend::kSchema},
                                 {"slots", Attend::kSlots}}));
  if (schema_.attend == Attend::kSlots && schema_.positions == Positions::kSchema)
    return broken_rule(root.place,
                       "with attend=\"slots\" modules are encoded behind stand-ins, which have no "
                       "place in positions=\"schema\"; leave positions= out");
  PC_TRY(const std::optional<Repair> repair, repair_of(root));
  schema_.repair = repair.value_or(Repair{});
  Names modules;
  Scope scope;
  scope.modules = &modules;
  PC_TRY(scope.modules_preserve, preserves_space(root, false));
  PC_TRY(schema_.children, content(root, scope));
  return std::move(schema_);
}

Result<SchemaReader::Children> SchemaReader::content(const XmlNode& element, Scope scope) {
  Children children;
  PC_CHECK_OK(add_file(element, children));
  for (std::size_t i = 0; i < element.children.size(); ++i) {
    const XmlNode& node = element.children[i];
    PC_CHECK_OK(node.is_text() ? add_text(element, i, scope.preserve, children)
                               : child(node, scope, children));
  }
  return children;
}

// xml:space of an element that holds text, for itself and all in it.
Status SchemaReader::set_space(const XmlNode& element, Scope& scope) {
  if (!element.attribute("xml:space")) return ok();
  PC_TRY(scope.preserve, preserves_space(element, false));
  scope.modules_preserve = scope.preserve;
  return ok();
}

Status SchemaReader::child(const XmlNode& element, const Scope& scope, Children& into) {
  const auto add = [&](Result<SchemaNode> node) -> Status {
    if (!node.ok()) return std::move(node).error();
    into.push_back(std::move(node).value());
    return ok();
  };
  if (element.name == "module" && !element.attribute("name"))
    return add_anonymous(element, scope, into);
  if (element.name == "module") return add(module(element, scope));
  if (element.name == "union") return add(alternatives(element, scope));
  if (element.name == "param" || element.name == "parameter") return add(param(element, scope));
  if (const auto known = role_of(element.name)) return add(role(element, *known, scope));
  if (element.name == "scaffold") {
    if (scope.params || scope.role)
      return broken_rule(element.place, "<scaffold> stands directly in <schema>");
    return add_scaffold(element);
  }
  if (element.name == "stand-in") {
    if (scope.params || scope.role)
      return broken_rule(element.place, "<stand-in> stands directly in <schema>");
    return add_stand_in(element, scope);
  }
  constexpr std::string_view kTags[] = {"module", "union",     "param",    "system",
                                        "user",   "assistant", "scaffold", "stand-in"};
  return broken_rule(element.place, "no element " + tag(element.name) + " in a schema" +
                                        name_hint(element.name, kTags));
}

Status SchemaReader::count_text(Place place, std::size_t bytes) {
  text_bytes_ += bytes;  // each at most a document or a file: no overflow before the check
  if (text_bytes_ <= kMaxSchemaTextBytes) return ok();
  return broken_rule(place, "the schema's text exceeds " + std::to_string(kMaxSchemaTextBytes) +
                                " bytes; split the schema");
}

Status SchemaReader::add_text(const XmlNode& element, std::size_t index, bool preserve,
                              Children& into) {
  SchemaNode node;
  node.place = element.children[index].place;
  node.text = text_of(element, index, preserve);
  PC_CHECK_OK(count_text(node.place, node.text.size()));
  if (!node.text.empty()) into.push_back(std::move(node));
  return ok();
}

// The file's text as it stands. A byte order mark at its start is no text.
Status SchemaReader::add_file(const XmlNode& element, Children& into) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string* src = element.attribute("src");
  if (!src) return ok();
  if (!read_file_)
    return broken_rule(element.place,
                       "src=" + quote(*src) + " cannot be read: this schema came without a folder");
  auto bytes = read_file_(*src);
  if (!bytes.ok()) return at(element.place, std::move(bytes).error());
  const std::size_t valid = utf8_valid_prefix(*bytes);
  if (valid != bytes->size())
    return broken_rule(element.place, "file " + quote(*src) + " is not UTF-8 at byte " +
                                          std::to_string(valid) + "; save it as UTF-8");
  PC_CHECK_OK(count_text(element.place, bytes->size()));
  SchemaNode node;
  node.place = element.place;
  node.text = *std::move(bytes);
  if (node.text.starts_with(kByteOrderMark)) node.text.erase(0, kByteOrderMark.size());
  if (!node.text.empty()) into.push_back(std::move(node));
  return ok();
}

// A module without a name is text of whatever it stands in.
Status SchemaReader::add_anonymous(const XmlNode& element, Scope scope, Children& into) {
  if (element.attribute("cache"))
    return broken_rule(element.place,
                       "cache= on a <module> without a name, which is part of the text around it "
                       "and of every prompt; give it a name");
  PC_CHECK_OK(check_attributes(element, {"name", "src", "xml:space"}));
  scope.preserve = scope.modules_preserve;
  PC_CHECK_OK(set_space(element, scope));
  PC_TRY(Children children, content(element, scope));
  std::move(children.begin(), children.end(), std::back_inserter(into));
  return ok();
}

Result<SchemaNode> SchemaReader::module(const XmlNode& element, Scope scope) {
  PC_CHECK_OK(check_attributes(element, {"name", "src", "cache", "repair", "xml:space"}));
  SchemaNode node;
  node.kind = Kind::kModule;
  node.place = element.place;
  PC_TRY(node.name, required(element, "name"));
  PC_CHECK_OK(check_name(element, node.name));
  if (is_reserved(node.name))
    return broken_rule(element.place,
                       quote(node.name) + " is a tag of the language; choose another name");
  PC_CHECK_OK(add_name(*scope.modules, node.name, element, "module"));
  PC_TRY(node.cache, choice(element, "cache", true, {{"true", true}, {"false", false}}));
  PC_TRY(node.repair, repair_of(element));
  scope.path_bytes += node.name.size() + 1;
  if (scope.path_bytes > kMaxPathBytes)
    return broken_rule(element.place, "the path of module " + quote(node.name) +
                                          " is longer than " + std::to_string(kMaxPathBytes) +
                                          " bytes");
  Names modules, params;
  scope.modules = &modules;
  scope.params = &params;
  scope.preserve = scope.modules_preserve;
  PC_CHECK_OK(set_space(element, scope));
  PC_TRY(node.children, content(element, scope));
  return node;
}

Result<SchemaNode> SchemaReader::alternatives(const XmlNode& element, Scope scope) {
  PC_CHECK_OK(check_attributes(element, {"scaffold", "xml:space"}));
  SchemaNode node;
  node.kind = Kind::kUnion;
  node.place = element.place;
  PC_CHECK_OK(set_space(element, scope));
  for (const XmlNode& child : element.children) {
    if (child.is_text() && is_white_space(child.text)) continue;
    if (child.name != "module")
      return broken_rule(child.place, (child.is_text() ? "text" : tag(child.name)) +
                                          " in a <union>, which holds modules only");
    PC_TRY(SchemaNode member, module(child, scope));
    node.children.push_back(std::move(member));
  }
  if (const std::string* preset = element.attribute("scaffold")) {
    std::vector<std::string_view> members;
    for (const SchemaNode& member : node.children) members.push_back(member.name);
    if (std::find(members.begin(), members.end(), *preset) == members.end())
      return broken_rule(element.place,
                         "the union has no member " + quote(*preset) + name_hint(*preset, members));
    node.name = *preset;
  }
  return node;
}

Result<SchemaNode> SchemaReader::param(const XmlNode& element, const Scope& scope) {
  PC_CHECK_OK(check_attributes(element, {"name", "len", "length", "scaffold"}));
  if (!scope.params)
    return broken_rule(element.place,
                       tag(element.name) + " outside of a module; only modules have parameters");
  PC_CHECK_OK(check_empty(element));
  SchemaNode node;
  node.kind = Kind::kParam;
  node.place = element.place;
  PC_TRY(node.name, required(element, "name"));
  PC_CHECK_OK(check_name(element, node.name));
  PC_CHECK_OK(add_name(*scope.params, node.name, element, "parameter"));
  const std::string* length = element.attribute("length");
  if (length && element.attribute("len"))
    return broken_rule(element.place,
                       "'len' and 'length' are the same attribute; give one of them");
  PC_TRY(const std::string len, length ? *length : required(element, "len"));
  const auto [end, failure] = std::from_chars(len.data(), len.data() + len.size(), node.len);
  if (failure != std::errc() || end != len.data() + len.size() || node.len < 1 ||
      node.len > kMaxParamTokens)
    return broken_rule(element.place, "the length of parameter " + quote(node.name) +
                                          " is a number of tokens from 1 to " +
                                          std::to_string(kMaxParamTokens) + ", not " + quote(len));
  if (const std::string* filler = element.attribute("scaffold")) node.text = *filler;
  return node;
}

Status SchemaReader::add_stand_in(const XmlNode& element, Scope scope) {
  PC_CHECK_OK(check_attributes(element, {"src", "xml:space"}));
  if (schema_.attend != Attend::kSlots)
    return broken_rule(element.place,
                       "a <stand-in> stands for modules that others have not seen, which only "
                       "attend=\"slots\" lets them see; give the schema that");
  if (schema_.stand_ins.size() == kMaxStandIns)
    return broken_rule(element.place, "a schema has at most " + std::to_string(kMaxStandIns) +
                                          " stand-ins; modules behind more see the last ones");
  scope.preserve = scope.modules_preserve;
  PC_CHECK_OK(set_space(element, scope));
  Children children;
  PC_CHECK_OK(add_file(element, children));
  for (std::size_t i = 0; i < element.children.size(); ++i) {
    if (!element.children[i].is_text())
      return broken_rule(element.children[i].place,
                         tag(element.children[i].name) + " in a <stand-in>, which holds text only");
    PC_CHECK_OK(add_text(element, i, scope.preserve, children));
  }
  SchemaStandIn stand_in{element.place, {}};
  for (const SchemaNode& text : children) stand_in.text += text.text;
  if (stand_in.text.empty()) return broken_rule(element.place, "a <stand-in> without text");
  schema_.stand_ins.push_back(std::move(stand_in));
  return ok();
}

Result<SchemaNode> SchemaReader::role(const XmlNode& element, Role known, Scope scope) {
  if (scope.role) return nested_role(element, *scope.role);
  PC_CHECK_OK(check_attributes(element, {"xml:space"}));
  SchemaNode node;
  node.kind = Kind::kRole;
  node.role = known;
  node.place = element.place;
  scope.role = known;
  PC_CHECK_OK(set_space(element, scope));
  PC_TRY(node.children, content(element, scope));
  return node;
}

Status SchemaReader::add_scaffold(const XmlNode& element) {
  PC_CHECK_OK(check_attributes(element, {"name", "modules"}));
  PC_CHECK_OK(check_empty(element));
  SchemaScaffold scaffold;
  scaffold.place = element.place;
  PC_TRY(scaffold.name, required(element, "name"));
  PC_CHECK_OK(check_name(element, scaffold.name));
  PC_CHECK_OK(add_name(scaffold_names_, scaffold.name, element, "scaffold"));
  PC_TRY(const std::string list, required(element, "modules"));
  for (std::size_t begin = 0; begin < list.size();) {  // the reader has made all white space spaces
    const std::size_t end = std::min(list.find(' ', begin), list.size());
    if (end > begin) scaffold.modules.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (scaffold.modules.empty())
    return broken_rule(element.place, "scaffold " + quote(scaffold.name) + " lists no modules");
  schema_.scaffolds.push_back(std::move(scaffold));
  return ok();
}

}  // namespace

Result<Schema> parse_schema(std::string_view document, const ReadFileFn& read_file) {
  PC_TRY(const XmlNode root, read_xml(document));
  return SchemaReader(read_file).read(root);
}

}  // namespace pc::pml
