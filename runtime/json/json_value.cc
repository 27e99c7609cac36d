#include "runtime/json/json_value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>

namespace pc {

namespace {

using Node = nlohmann::ordered_json;

// nlohmann's destructors allocate where there are parts to destroy, and end the process where
// memory is short: so parts are gone before.
void empty(Node& node) noexcept {
  if (auto* const members = node.get_ptr<Node::object_t*>()) {
    for (auto& [key, value] : *members) empty(value);
    members->clear();
  } else if (auto* const items = node.get_ptr<Node::array_t*>()) {
    for (Node& item : *items) empty(item);
    items->clear();
  }
}

struct Tree {
  Node root;
  ~Tree() { empty(root); }
};

// to: an empty part of a tree, which is whole whatever fails.
void copy(const Node& from, Node* to) {
  if (const auto* const members = from.get_ptr<const Node::object_t*>()) {
    *to = Node::object();
    auto& copied = to->get_ref<Node::object_t&>();
    copied.reserve(members->size());
    for (const auto& [key, value] : *members) {
      copied.emplace_back(key, nullptr);
      copy(value, &copied.back().second);
    }
  } else if (const auto* const items = from.get_ptr<const Node::array_t*>()) {
    *to = Node::array();
    auto& copied = to->get_ref<Node::array_t&>();
    copied.reserve(items->size());
    for (const Node& item : *items) copy(item, &copied.emplace_back());
  } else {
    *to = from;
  }
}

std::shared_ptr<Node> owned(std::shared_ptr<Tree> tree) {
  Node* const root = &tree->root;
  return {std::move(tree), root};
}

std::shared_ptr<Node> copied(const Node& node) {
  auto tree = std::make_shared<Tree>();
  copy(node, &tree->root);
  return owned(std::move(tree));
}

}  // namespace

Json::Json(Node node) : node_(owned(std::make_shared<Tree>())) {
  *node_ = std::move(node);
}
Json::Json() : Json(Node(nullptr)) {}
Json::Json(std::string_view text) : Json(Node(std::string(text))) {}
Json::Json(const char* text) : Json(std::string_view(text)) {}
Json::Json(const std::string& text) : Json(std::string_view(text)) {}
Json::Json(bool value) : Json(Node(value)) {}
Json::Json(double value) : Json(Node(value)) {}
Json::Json(Integer integer) : Json(Node(integer.value)) {}
Json::Json(SignedInteger integer) : Json(Node(integer.value)) {}

Json Json::object() {
  return Json(Node::object());
}
Json Json::array() {
  return Json(Node::array());
}
Json Json::object(const std::vector<std::pair<std::string, Json>>& members) {
  Json json = object();
  auto& made = json.node_->get_ref<Node::object_t&>();
  made.reserve(members.size());
  for (const auto& [key, value] : members) {
    made.emplace_back(key, nullptr);
    copy(*value.node_, &made.back().second);
  }
  return json;
}

namespace {

// Builds a value of the parser's events, and stops at what is refused beside what is not JSON.
// Invariant: open_ has the arrays and objects that are open, outermost first; their addresses are
// stable, because only the innermost grows.
class StrictBuilder final : public nlohmann::json_sax<Node> {
 public:
  StrictBuilder(std::size_t max_depth, Json::Twice twice) : max_depth_(max_depth), twice_(twice) {}

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
    Open& object = open_.back();
    auto& members = object.value->get_ref<Node::object_t&>();
    const auto [at, is_new] = object.places.try_emplace(name, members.end() - members.begin());
    if (!is_new && twice_ == Json::Twice::kRefused)
      return fail("an object has the key \"" + name + "\" twice");
    if (is_new) members.emplace_back(name, nullptr);
    slot_ = &(members.begin() + at->second)->second;
    empty(*slot_);  // where the key comes again
    return true;
  }

  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kOutOfRange = 4;  // the hundreds of nlohmann's numbers
    return error.id / 100 == kOutOfRange
               ? fail("a number is beyond what can be computed with")
               : fail("it is not JSON: byte " + std::to_string(at) + " cannot stand there");
  }

  std::shared_ptr<Node> value() && { return owned(std::move(tree_)); }
  const std::string& why() const { return why_; }
  bool is_too_deep() const { return is_too_deep_; }

 private:
  struct Open {
    Node* value;
    // Of an object's members, by their keys: the object itself would look through all of them. In
    // a tree, since a stranger could choose keys that a table of hashes has in one place.
    std::map<std::string, std::ptrdiff_t> places = {};
  };

  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }
  Node* add(Node value) {
    Node* slot = open_.empty() ? &tree_->root : slot_;
    if (!open_.empty() && open_.back().value->is_array())
      slot = &open_.back().value->get_ref<Node::array_t&>().emplace_back();
    *slot = std::move(value);
    return slot;
  }
  bool put(Node value) {
    add(std::move(value));
    return true;
  }
  bool open(Node made) {
    is_too_deep_ = open_.size() == max_depth_;
    if (is_too_deep_)
      return fail("more than " + std::to_string(max_depth_) +
                  " arrays and objects are in each other");
    open_.push_back({add(std::move(made))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::size_t max_depth_;
  const Json::Twice twice_;
  std::shared_ptr<Tree> tree_ = std::make_shared<Tree>();
  std::vector<Open> open_;
  Node* slot_ = nullptr;  // of the member that was named last
  std::string why_;
  bool is_too_deep_ = false;
};

}  // namespace

std::optional<Json> Json::read_strictly(std::string_view text, std::size_t max_depth,
                                        std::string* why, Twice twice) {
  StrictBuilder builder(max_depth, twice);
  if (Node::sax_parse(text.begin(), text.end(), &builder)) return Json(std::move(builder).value());
  *why = builder.why();
  return std::nullopt;
}

Result<Json> Json::parse(std::string_view text, std::size_t max_depth) {
  StrictBuilder builder(max_depth, Twice::kRefused);
  if (Node::sax_parse(text.begin(), text.end(), &builder)) return Json(std::move(builder).value());
  return error(builder.is_too_deep() ? Code::kUnsupported : Code::kCorrupt, builder.why());
}

Json Json::read(std::string_view text) {
  constexpr std::size_t kMaxDepth = 1000;  // values are copied and written by recursion
  std::string why;
  return read_strictly(text, kMaxDepth, &why, Twice::kLastCounts).value_or(Json());
}

Json::Node& Json::own() {
  if (node_.use_count() > 1) node_ = copied(*node_);
  return *node_;
}

Json& Json::set(std::string_view key, const Json& value) {
  const std::shared_ptr<Node> added = value.node_;  // also where it is this one
  Node& slot = own()[std::string(key)];
  empty(slot);
  copy(*added, &slot);
  return *this;
}

Json& Json::push(const Json& value) {
  const std::shared_ptr<Node> added = value.node_;
  copy(*added, &own().get_ref<Node::array_t&>().emplace_back());
  return *this;
}

Json Json::operator[](std::string_view key) const {
  if (!node_->is_object()) return Json();
  const auto found = node_->find(std::string(key));
  return found == node_->end() ? Json() : within(*found);
}

bool Json::has(std::string_view key) const {
  return node_->is_object() && node_->contains(std::string(key));
}

std::vector<Json> Json::items() const {
  std::vector<Json> items;
  if (!node_->is_array()) return items;
  items.reserve(node_->size());
  for (Node& item : *node_) items.push_back(within(item));
  return items;
}

// Shares all of this value, of which `part` is a part.
Json Json::within(Node& part) const {
  Json json(std::shared_ptr<Node>(node_, &part));
  return json;
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  std::vector<std::pair<std::string, Json>> members;
  if (auto* const all = node_->get_ptr<Node::object_t*>()) {
    members.reserve(all->size());
    for (auto& [key, value] : *all) members.emplace_back(key, within(value));
  }
  return members;
}

std::vector<std::string> Json::keys() const {
  std::vector<std::string> keys;
  if (node_->is_object())
    for (const auto& [key, value] : node_->items()) keys.push_back(key);
  return keys;
}

bool Json::is_null() const {
  return node_->is_null();
}
bool Json::is_object() const {
  return node_->is_object();
}
bool Json::is_array() const {
  return node_->is_array();
}
bool Json::is_string() const {
  return node_->is_string();
}
bool Json::is_boolean() const {
  return node_->is_boolean();
}
bool Json::is_number() const {
  return node_->is_number();
}

std::string Json::text() const {
  const auto& json = (*node_);
  std::string text;
  if (json.is_string()) text = json.get<std::string>();
  if (json.is_boolean()) text = json.get<bool>() ? "yes" : "no";
  if (json.is_number()) text = json.dump();
  for (const Json& item : items()) text += (text.empty() ? "" : ", ") + item.text();
  return text.empty() ? "-" : text;
}

std::string Json::string() const {
  return node_->is_string() ? node_->get<std::string>() : std::string();
}

std::string_view Json::view() const {
  return node_->is_string() ? std::string_view(node_->get_ref<const std::string&>())
                            : std::string_view();
}

std::optional<std::uint64_t> Json::number() const {
  const auto& json = (*node_);
  if (!json.is_number_unsigned()) return std::nullopt;
  return json.get<std::uint64_t>();
}

std::optional<std::int64_t> Json::integer() const {
  const auto& json = (*node_);
  constexpr double kMost = 9007199254740992;  // 2^53: up to there a double says which one it is
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double real = json.get<double>();
  if (std::abs(real) > kMost || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

double Json::real() const {
  return node_->is_number() ? node_->get<double>() : 0;
}

bool Json::truth() const {
  return node_->is_boolean() && node_->get<bool>();
}

namespace {

bool are_equal(const Node& a, const Node& b);

// Whatever the order of keys, which ordered_json's own comparison heeds. No object has one twice.
bool have_same_members(const Node::object_t& a, const Node::object_t& b) {
  using Member = Node::object_t::value_type;
  const auto are_same = [](const Member& one, const Member& other) {
    return one.first == other.first && are_equal(one.second, other.second);
  };
  if (a.size() != b.size()) return false;
  if (std::ranges::equal(a, b, {}, &Member::first, &Member::first))
    return std::ranges::equal(a, b, are_same);
  const auto by_key = [](const Node::object_t& object) {
    std::vector<const Member*> sorted;
    sorted.reserve(object.size());
    for (const Member& member : object) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, [](const Member* m) { return std::string_view(m->first); });
    return sorted;
  };
  return std::ranges::equal(by_key(a), by_key(b), [&](const Member* one, const Member* other) {
    return are_same(*one, *other);
  });
}

bool are_equal(const Node& a, const Node& b) {
  if (a.is_array() && b.is_array())
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), are_equal);
  if (!a.is_object() || !b.is_object()) return a == b;
  return have_same_members(a.get_ref<const Node::object_t&>(), b.get_ref<const Node::object_t&>());
}

}  // namespace

bool operator==(const Json& a, const Json& b) {
  return are_equal(*a.node_, *b.node_);
}

std::string Json::dump() const {
  return node_->dump(-1, ' ', false, Node::error_handler_t::replace);
}

}  // namespace pc
