#include "runtime/jinja/values/iterate.h"

#include "base/utf8.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {

bool is_iterable(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

Result<Cursor> Cursor::over(Budget* budget, Value iterable) {
  if (!is_iterable(iterable) || iterable.is(Kind::kLoop))
    return error(Code::kInvalidArgument, "'" + type_name(iterable) + "' object is not iterable");
  Cursor cursor;
  cursor.budget_ = budget;
  cursor.iterable_ = std::move(iterable);
  return cursor;
}

Result<std::optional<Value>> Cursor::next() {
  if (budget_) PC_CHECK_OK(budget_->spend(1));
  using Element = std::optional<Value>;
  switch (iterable_.kind) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kView:
      return at_ < iterable_.items().size() ? Element(iterable_.items()[at_++]) : Element();
    case Kind::kDict: {
      const auto& entries = iterable_.dict().entries;
      return at_ < entries.size() ? Element(entries[at_++].first) : Element();
    }
    case Kind::kString: {
      const std::string& text = iterable_.text();
      if (at_ >= text.size()) return Element();
      const std::size_t n = utf8_length(text[at_]);
      at_ += n;
      // A character of a Markup is a plain string.
      PC_TRY(Value character, make_string(budget_, text.substr(at_ - n, n)));
      return Element(std::move(character));
    }
    case Kind::kRange: {
      const Range& range = iterable_.range();
      if (at_ >= static_cast<std::size_t>(range.n)) return Element();
      return Element(integer(range.start + static_cast<std::int64_t>(at_++) * range.step));
    }
    case Kind::kIterator: {
      Iterator& iterator = iterable_.iterator();
      if (iterator.next < iterator.items.size()) return Element(iterator.items[iterator.next++]);
      if (iterator.failure) return Error(*iterator.failure);
      return Element();
    }
    default:  // undefined: no elements
      return Element();
  }
}

std::optional<std::size_t> Cursor::length() const {
  if (iterable_.is(Kind::kIterator)) return std::nullopt;
  const auto n = length_of(iterable_);
  return n.ok() ? std::optional(static_cast<std::size_t>(*n)) : std::nullopt;
}

Result<std::vector<Value>> elements(Budget* budget, const Value& iterable) {
  PC_TRY(Cursor cursor, Cursor::over(budget, iterable));
  std::vector<Value> all;
  if (const auto n = cursor.length()) all.reserve(*n);
  while (true) {
    PC_TRY(auto element, cursor.next());
    if (!element) return all;
    all.push_back(std::move(*element));
  }
}

Result<std::int64_t> length_of(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString: {
      const auto& text = static_cast<const Text&>(*value.object);
      return static_cast<std::int64_t>(text.is_ascii ? text.text.size() : n_characters(text.text));
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kView:
      return static_cast<std::int64_t>(value.items().size());
    case Kind::kDict:
      return static_cast<std::int64_t>(value.dict().entries.size());
    case Kind::kRange:
      return value.range().n;
    default:
      return error(Code::kInvalidArgument,
                   "object of type '" + type_name(value) + "' has no len()");
  }
}

}  // namespace pc::jinja
