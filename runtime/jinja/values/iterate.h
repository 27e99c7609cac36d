// Iterating over a value as Python does: elements of lists, keys of
// dictionaries, characters of strings, what is left of an iterator.
//
// A Cursor keeps its value alive. Threads: one rendering, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

class Cursor {
 public:
  // An error for what cannot be iterated ("'int' object is not iterable").
  static Result<Cursor> over(Budget* budget, Value iterable);

  // The next element; nothing at the end.
  Result<std::optional<Value>> next();

  // Elements in all, where that is known without reading them.
  std::optional<std::size_t> length() const;

 private:
  Budget* budget_ = nullptr;
  Value iterable_;
  std::size_t at_ = 0;  // an element, or a byte of a string
};

bool is_iterable(const Value& value);

// All that is left.
Result<std::vector<Value>> elements(Budget* budget, const Value& iterable);

// Python's len(); an error for what has none.
Result<std::int64_t> length_of(const Value& value);

}  // namespace pc::jinja
