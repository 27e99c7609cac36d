#include "runtime/json/json.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/utf8.h"  // one_line

namespace pc {

using Node = nlohmann::json;

namespace {

// Takes it apart from the inside. The library's destructor wants memory for what a container
// holds, and of an empty one none. Recursion ends at JsonLimits::depth.
void empty(Node& node) {
  if (auto* const members = node.get_ptr<Node::object_t*>()) {
    for (auto& [key, value] : *members) empty(value);
    members->clear();
  } else if (auto* const elements = node.get_ptr<Node::array_t*>()) {
    for (Node& element : *elements) empty(element);
    elements->clear();
  }
}

}  // namespace

struct JsonTree {
  std::string name;
  Node root;
  ~JsonTree() { empty(root); }
};

namespace {

const Node& as_node(const void* node) {
  return *static_cast<const Node*>(node);
}

// Builds the tree from the parser's events and stops it at a limit or at a
// repeated key. Invariant: open_ holds the arrays and objects that are open,
// outermost first; their addresses are stable because only the innermost grows.
class Builder final : public nlohmann::json_sax<Node> {
 public:
  Builder(JsonTree* tree, const JsonLimits& limits) : tree_(tree), limits_(limits) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return open(Node::object()); }
  bool start_array(std::size_t) override { return open(Node::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto [member, is_new] = open_.back()->get_ref<Node::object_t&>().try_emplace(name);
    if (!is_new)
      return fail(Code::kCorrupt, "the key \"" + one_line(name) + "\" appears twice in one object");
    slot_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(Code::kCorrupt, "not valid JSON at byte " + std::to_string(at));
  }

  Error error() && { return std::move(error_); }

 private:
  bool fail(Code code, std::string what) {
    error_ = pc::error(code, tree_->name + ": " + std::move(what));
    return false;
  }

  // Where the next value goes: the root, the member just named, or a new element.
  Node* next_slot() {
    if (open_.empty()) return &tree_->root;
    if (open_.back()->is_object()) return slot_;
    auto& elements = open_.back()->get_ref<Node::array_t&>();
    return &elements.emplace_back();
  }

  bool put(Node value) {
    if (++n_values_ > limits_.values) {
      return fail(Code::kUnsupported,
                  "more than " + std::to_string(limits_.values) + " values, the limit");
    }
    *next_slot() = std::move(value);
    return true;
  }

  bool open(Node container) {
    if (open_.size() >= limits_.depth) {
      return fail(Code::kUnsupported,
                  "nested deeper than " + std::to_string(limits_.depth) + " levels, the limit");
    }
    if (!put(std::move(container))) return false;
    open_.push_back(last_put());
    return true;
  }

  Node* last_put() {
    if (open_.empty()) return &tree_->root;
    return open_.back()->is_object() ? slot_ : &open_.back()->get_ref<Node::array_t&>().back();
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree* tree_;
  JsonLimits limits_;
  std::vector<Node*> open_;
  Node* slot_ = nullptr;
  std::size_t n_values_ = 0;
  Error error_;
};

// Hands the parser's events on, and stops it at a limit or at the first error.
class EventReader final : public nlohmann::json_sax<Node> {
 public:
  EventReader(const std::string& name, const JsonLimits& limits, JsonEvents* events)
      : name_(name), limits_(limits), events_(events) {}

  bool null() override { return value(events_->null()); }
  bool boolean(bool b) override { return value(events_->boolean(b)); }
  bool number_integer(number_integer_t i) override { return value(events_->integer(i)); }
  bool number_unsigned(number_unsigned_t i) override {
    if (i > INT64_MAX) return fail(Code::kUnsupported, "an integer beyond 64 bits");
    return value(events_->integer(static_cast<std::int64_t>(i)));
  }
  // An integer that fits no 64 bits comes as a float, too.
  bool number_float(number_float_t d, const string_t& spelled) override {
    if (spelled.find_first_of(".eE") == spelled.npos)
      return fail(Code::kUnsupported, "an integer beyond 64 bits");
    return value(events_->number(d));
  }
  bool string(string_t& text) override { return value(events_->string(text)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool key(string_t& name) override { return take(events_->key(name)); }
  bool start_object(std::size_t) override { return open() && value(events_->begin_object()); }
  bool start_array(std::size_t) override { return open() && value(events_->begin_array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(Code::kCorrupt, "not valid JSON at byte " + std::to_string(at));
  }

  Error error() && { return std::move(error_); }

 private:
  bool fail(Code code, const std::string& what) {
    error_ = pc::error(code, name_ + ": " + what);
    return false;
  }
  bool take(Status done) {
    if (done.ok()) return true;
    error_ = std::move(done).error();
    return false;
  }
  bool value(Status done) {
    if (++n_values_ > limits_.values)
      return fail(Code::kUnsupported,
                  "more than " + std::to_string(limits_.values) + " values, the limit");
    return take(std::move(done));
  }
  bool open() {
    if (++depth_ <= limits_.depth) return true;
    return fail(Code::kUnsupported,
                "nested deeper than " + std::to_string(limits_.depth) + " levels, the limit");
  }
  bool close() {
    --depth_;
    return take(events_->end());
  }

  const std::string& name_;
  JsonLimits limits_;
  JsonEvents* events_;
  std::size_t n_values_ = 0, depth_ = 0;
  Error error_;
};

Error too_many_bytes(const std::string& name, std::size_t n, std::size_t limit) {
  return pc::error(Code::kUnsupported, name + ": " + std::to_string(n) +
                                           " bytes of JSON, the limit is " + std::to_string(limit));
}

Error no_memory(std::size_t n) {
  return pc::error(Code::kOutOfMemory,
                   "not enough memory to read a JSON document of " + std::to_string(n) + " bytes");
}

// A text with null in the place of Infinity and -Infinity outside of strings; no byte moves.
std::string without_infinities(std::string_view text) {
  constexpr std::string_view kInfinity = "Infinity", kNull = "null    ";
  std::string plain(text);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      ++i;  // what it stands before ends no string
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && text.substr(i).starts_with(kInfinity)) {
      plain.replace(i, kNull.size(), kNull);
      if (i != 0 && text[i - 1] == '-') plain[i - 1] = ' ';
      i += kInfinity.size() - 1;
    }
  }
  return plain;
}

// Writes the path of `wanted` behind `path`; false when it is not below `node`.
// Recursion ends at JsonLimits::depth.
bool find_path(const Node& node, const Node* wanted, std::string* path) {
  if (&node == wanted) return true;
  const std::size_t n = path->size();
  if (node.is_object()) {
    for (const auto& [key, value] : node.get_ref<const Node::object_t&>()) {
      path->append(".").append(key);
      if (find_path(value, wanted, path)) return true;
      path->resize(n);
    }
  } else if (node.is_array()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      path->append("[").append(std::to_string(i)).append("]");
      if (find_path(node[i], wanted, path)) return true;
      path->resize(n);
    }
  }
  return false;
}

}  // namespace

bool JsonView::is_null() const {
  return as_node(node_).is_null();
}
bool JsonView::is_object() const {
  return as_node(node_).is_object();
}
bool JsonView::is_array() const {
  return as_node(node_).is_array();
}
bool JsonView::is_string() const {
  return as_node(node_).is_string();
}
bool JsonView::is_number() const {
  return as_node(node_).is_number();
}
bool JsonView::is_boolean() const {
  return as_node(node_).is_boolean();
}

std::string JsonView::path() const {
  std::string path = "$";
  find_path(tree_->root, &as_node(node_), &path);
  return path;
}

Error JsonView::error(Code code, std::string_view what) const {
  return pc::error(code, tree_->name + ": " + one_line(path()) + ": " + one_line(what));
}

Error JsonView::wrong_type(std::string_view wanted) const {
  return error(Code::kCorrupt,
               "is " + std::string(as_node(node_).type_name()) + ", wanted " + std::string(wanted));
}

Result<std::string_view> JsonView::string() const {
  if (!is_string()) return wrong_type("a string");
  return std::string_view(as_node(node_).get_ref<const std::string&>());
}

Result<double> JsonView::number() const {
  if (!is_number()) return wrong_type("a number");
  return as_node(node_).get<double>();
}

Result<std::int64_t> JsonView::integer() const {
  const Node& node = as_node(node_);
  if (!node.is_number_integer()) return wrong_type("an integer");
  if (node.is_number_unsigned() && node.get<std::uint64_t>() > INT64_MAX) {
    return error(Code::kCorrupt, "is too large for a signed 64-bit integer");
  }
  return node.get<std::int64_t>();
}

Result<std::int64_t> JsonView::integer_in(std::int64_t low, std::int64_t high) const {
  PC_TRY(const std::int64_t value, integer());
  if (value < low || value > high) {
    return error(Code::kCorrupt, "is " + std::to_string(value) + ", wanted " + std::to_string(low) +
                                     " to " + std::to_string(high));
  }
  return value;
}

Result<bool> JsonView::boolean() const {
  if (!is_boolean()) return wrong_type("true or false");
  return as_node(node_).get<bool>();
}

std::size_t JsonView::size() const {
  return is_object() || is_array() ? as_node(node_).size() : 0;
}

JsonView JsonView::at(std::size_t i) const {
  PC_EXPECT(is_array() && i < size());
  return {tree_, &as_node(node_)[i]};
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  const auto& members = as_node(node_).get_ref<const Node::object_t&>();
  const auto member = members.find(key);
  if (member == members.end() || member->second.is_null()) return std::nullopt;
  return JsonView(tree_, &member->second);
}

Result<JsonView> JsonView::member(std::string_view key) const {
  if (!is_object()) return wrong_type("an object");
  if (const auto value = find(key)) return *value;
  return error(Code::kCorrupt, "has no \"" + std::string(key) + "\"");
}

Result<std::string> JsonView::string_or(std::string_view key, std::string_view fallback) const {
  const auto value = find(key);
  if (!value) return std::string(fallback);
  PC_TRY(const std::string_view text, value->string());
  return std::string(text);
}

Result<double> JsonView::number_or(std::string_view key, double fallback) const {
  const auto value = find(key);
  return value ? value->number() : Result<double>(fallback);
}

Result<std::int64_t> JsonView::integer_or(std::string_view key, std::int64_t fallback) const {
  const auto value = find(key);
  return value ? value->integer() : Result<std::int64_t>(fallback);
}

Result<bool> JsonView::boolean_or(std::string_view key, bool fallback) const {
  const auto value = find(key);
  return value ? value->boolean() : Result<bool>(fallback);
}

Status JsonView::for_each_member(
    const std::function<Status(std::string_view, JsonView)>& visit) const {
  if (!is_object()) return wrong_type("an object");
  for (const auto& [key, value] : as_node(node_).get_ref<const Node::object_t&>()) {
    PC_CHECK_OK(visit(key, JsonView(tree_, &value)));
  }
  return ok();
}

std::string JsonView::dump() const {
  return as_node(node_).dump();
}

Status read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
                 JsonEvents* events) {
  if (text.size() > limits.bytes) return too_many_bytes(name, text.size(), limits.bytes);
  try {
    EventReader reader(name, limits, events);
    if (!Node::sax_parse(text.begin(), text.end(), &reader)) return std::move(reader).error();
    return ok();
  } catch (const std::exception&) {  // the parser's own errors are events: this is memory
    return no_memory(text.size());
  }
}

void JsonDocument::FreeTree::operator()(const JsonTree* tree) const {
  delete tree;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string name,
                                         const JsonLimits& limits) {
  if (text.size() > limits.bytes) return too_many_bytes(name, text.size(), limits.bytes);
  try {
    std::unique_ptr<JsonTree> tree(new JsonTree{std::move(name), {}});
    Builder builder(tree.get(), limits);
    if (!Node::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder).error();
    return JsonDocument(tree.release());
  } catch (const std::exception&) {  // the parser's own errors are events: this is memory
    return no_memory(text.size());
  }
}

Result<JsonDocument> JsonDocument::parse(std::span<const std::byte> bytes, std::string name,
                                         const JsonLimits& limits) {
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, std::move(name),
               limits);
}

Result<JsonDocument> JsonDocument::read_file(const std::string& path, const JsonLimits& limits) {
  PC_TRY(const MappedFile file, MappedFile::open(path));
  auto document = parse(file.bytes(), path, limits);
  if (document.ok() || document.error().code != Code::kCorrupt) return document;
  try {
    const std::span<const std::byte> bytes = file.bytes();
    return parse(without_infinities({reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
                 path, limits);
  } catch (const std::exception&) {
    return no_memory(file.bytes().size());
  }
}

JsonView JsonDocument::root() const {
  return {tree_.get(), &tree_->root};
}
const std::string& JsonDocument::name() const {
  return tree_->name;
}

}  // namespace pc
