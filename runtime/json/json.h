// Strict JSON, read from untrusted bytes: the home of nlohmann-json.
//
// A JsonDocument owns the parsed tree. A JsonView points at one value of it,
// is cheap to copy, and must not outlive the document (which may be moved).
// Every error names the document, the path of the value ("$.rope_scaling.type")
// and what was wanted.
//
// Strict means: RFC 8259, no comments, no trailing commas, no NaN; valid UTF-8;
// an object that has a key twice is refused, because readers differ on which
// one counts. Bytes, depth and the number of values are limited.
// Threads: const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pc {

struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;  // a tokenizer of 150,000 words is about 10 MiB
  std::size_t values = std::size_t{8} << 20;  // scalars, arrays and objects together
  std::size_t depth = 64;                     // arrays and objects open at once
};

// Told what a document holds, in its order; an error ends the reading. Keys come
// in front of their values, and end() closes the innermost object or array.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual Status null() = 0;
  virtual Status boolean(bool b) = 0;
  virtual Status integer(std::int64_t i) = 0;
  virtual Status number(double d) = 0;
  virtual Status string(std::string_view text) = 0;
  virtual Status key(std::string_view name) = 0;
  virtual Status begin_object() = 0;
  virtual Status begin_array() = 0;
  virtual Status end() = 0;
};

// For values whose keys have an order to keep; which key appears twice is for the
// events to see. `name` stands in messages. Errors: as JsonDocument::parse, and
// kUnsupported for an integer beyond 64 bits.
Status read_json(std::string_view text, const std::string& name, const JsonLimits& limits,
                 JsonEvents* events);

struct JsonTree;  // the parsed values and the document's name

class JsonView {
 public:
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_boolean() const;

  // The value itself, or an error that names its path and the type wanted.
  Result<std::string_view> string() const;  // lives as long as the document
  Result<double> number() const;
  Result<std::int64_t> integer() const;  // a number written without fraction or exponent
  Result<bool> boolean() const;
  // An integer in [low, high].
  Result<std::int64_t> integer_in(std::int64_t low, std::int64_t high) const;

  // Elements of an array or members of an object; 0 for anything else.
  std::size_t size() const;
  // Precondition: is_array() and i < size().
  JsonView at(std::size_t i) const;

  // The member's value; nothing when it is absent or null, or this is no object.
  std::optional<JsonView> find(std::string_view key) const;
  // The member's value; an error when it is absent or null, or this is no object.
  Result<JsonView> member(std::string_view key) const;

  // Members with a default: it counts when the member is absent or null; a
  // member of another type is an error.
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;

  // Calls visit(key, value) for each member in the order of the keys; the first
  // error ends the walk. An error when this is no object.
  Status for_each_member(
      const std::function<Status(std::string_view key, JsonView value)>& visit) const;

  // The value as compact JSON with sorted keys: equal values give equal text.
  std::string dump() const;
  // "$.a.b[3]". Walks the document: for messages only.
  std::string path() const;
  // "<document>: <path>: <what>".
  Error error(Code code, std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonView(const JsonTree* tree, const void* node) : tree_(tree), node_(node) {}
  Error wrong_type(std::string_view wanted) const;

  const JsonTree* tree_;
  const void* node_;  // one value of the tree
};

class JsonDocument {
 public:
  // `name` stands in messages: a file's path as a rule.
  // Errors: kCorrupt (not JSON; the byte is named), kUnsupported (over a limit).
  static Result<JsonDocument> parse(std::string_view text, std::string name,
                                    const JsonLimits& limits = {});
  static Result<JsonDocument> parse(std::span<const std::byte> bytes, std::string name,
                                    const JsonLimits& limits = {});
  // Reads a whole file, where infinities as Python writes them, which JSON has none of, are null.
  // Errors also: kNotFound, kIo.
  static Result<JsonDocument> read_file(const std::string& path, const JsonLimits& limits = {});

  JsonView root() const;
  const std::string& name() const;

 private:
  struct FreeTree {
    void operator()(const JsonTree* tree) const;
  };
  explicit JsonDocument(const JsonTree* tree) : tree_(tree) {}
  // On the heap, so that views survive a move of the document.
  std::unique_ptr<const JsonTree, FreeTree> tree_;
};

}  // namespace pc
