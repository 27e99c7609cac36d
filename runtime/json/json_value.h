// A value of JSON that is built, changed and written, with the members of objects in their order,
// and integers of 64 bits as they are. json.h is for what is only read.
//
// A value: changing a copy changes nothing else. Parts share the value that they are taken from
// until one of both is changed, so that to look at one copies nothing. What is missing, or of
// another type, reads as nothing, because what is read here (requests, schemas, reports) may come
// from anywhere. Thread-compatible.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pc {

class Json {
 public:
  Json();                         // null
  Json(std::string_view text);    // NOLINT: implicit by design, as are the next six
  Json(const char* text);         // NOLINT
  Json(const std::string& text);  // NOLINT
  Json(bool value);               // NOLINT
  Json(double value);             // NOLINT
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : Json(Integer{value}) {}  // NOLINT
  template <std::signed_integral T>
  Json(T value) : Json(SignedInteger{value}) {}  // NOLINT

  static Json object();
  static Json array();
  // Precondition: no key comes twice; set() looks for each.
  static Json object(const std::vector<std::pair<std::string, Json>>& members);
  // Null where it is not JSON, or more than 1000 arrays and objects are in each other.
  static Json read(std::string_view text);

  // What a stranger wrote. Refused, with a sentence that says why and at which byte: what is not
  // JSON, more than max_depth arrays and objects in each other, a key that an object has twice
  // (readers differ on which one counts), unless the last shall count.
  enum class Twice { kRefused, kLastCounts };
  static std::optional<Json> read_strictly(std::string_view text, std::size_t max_depth,
                                           std::string* why, Twice twice = Twice::kRefused);

  // The same, by its status: kUnsupported where it is too deep, kCorrupt for all else.
  static Result<Json> parse(std::string_view text, std::size_t max_depth);

  // Precondition: made by object(), by array().
  Json& set(std::string_view key, const Json& value);
  Json& push(const Json& value);

  Json operator[](std::string_view key) const;  // null when absent
  bool has(std::string_view key) const;         // of an object, be it null
  std::vector<Json> items() const;              // of an array; none for anything else
  std::vector<std::string> keys() const;        // of an object, in its order; none for others
  // Likewise, with their values: [] looks for each key among all.
  std::vector<std::pair<std::string, Json>> members() const;
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_boolean() const;
  bool is_number() const;

  // For people: a string as it is, a number in digits, a truth value as yes or no, an array
  // as its items with commas; "-" for null, objects and the empty string.
  std::string text() const;
  std::string string() const;  // of a string as it is, else ""
  // The same, as long as this Json, or the one that it was taken from, lives unchanged.
  std::string_view view() const;
  std::optional<std::uint64_t> number() const;
  std::optional<std::int64_t> integer()
      const;            // one that has no fraction, also where it is written
  double real() const;  // of any number; else 0
  bool truth() const;   // true only for true

  // The same values, whatever the order of keys.
  friend bool operator==(const Json& a, const Json& b);

  std::string dump() const;  // on one line; invalid UTF-8 is replaced

 private:
  struct Integer {
    std::uint64_t value;
  };
  struct SignedInteger {
    std::int64_t value;
  };
  using Node = nlohmann::ordered_json;
  explicit Json(Integer integer);
  explicit Json(SignedInteger integer);
  explicit Json(Node node);
  explicit Json(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  Json within(Node& part) const;
  Node& own();  // cloned first when another Json shares it

  std::shared_ptr<Node> node_;  // a value of its own, or a part of one that it shares
};

}  // namespace pc
