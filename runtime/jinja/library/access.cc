#include "runtime/jinja/library/access.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "runtime/jinja/library/left_out.h"
#include "runtime/jinja/library/methods.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

// As Jinja's messages name an object: "dict object", "None".
std::string describe(const Value& object) {
  switch (object.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kNamespace:
      return "jinja2.utils.Namespace object";
    case Kind::kLoop:
      return "jinja2.runtime.LoopContext object";
    default:
      return type_name(object) + " object";
  }
}

Value no_attribute(const Value& object, std::string_view name) {
  return undefined("'" + describe(object) + "' has no attribute '" + std::string(name) + "'");
}

Value no_element(const Value& object, const Value& index) {
  if (index.is(Kind::kString)) return no_attribute(object, index.text());
  const auto repr = to_repr(nullptr, index);
  return undefined(describe(object) + " has no element " + (repr.ok() ? *repr : "?"));
}

bool changes_its_object(const Value& object, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOfLists = {
      "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  static constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem",
                                                               "setdefault", "update"};
  if (object.is(Kind::kList))
    return std::find(kOfLists.begin(), kOfLists.end(), name) != kOfLists.end();
  return object.is(Kind::kDict) &&
         std::find(kOfDicts.begin(), kOfDicts.end(), name) != kOfDicts.end();
}

// What Python's getattr() finds, if anything.
Result<std::optional<Value>> find_attribute(Runtime& runtime, const Value& object,
                                            std::string_view name) {
  using Found = std::optional<Value>;
  if (object.is(Kind::kUndefined)) return error(Code::kInvalidArgument, object.reason());
  if (changes_its_object(object, name))
    return Found(undefined("access to attribute '" + std::string(name) + "' of '" +
                           type_name(object) + "' object is unsafe."));
  if (object.is(Kind::kNamespace)) {
    const Value* value = object.name_space().find(name);
    return value ? Found(*value) : Found();
  }
  if (is_left_out(object, name)) return left_out(type_name(object) + "." + std::string(name));
  if (object.is(Kind::kLoop) || object.is(Kind::kCallable))
    return static_cast<Callable*>(object.object.get())->attribute(runtime, name);
  if (const Function method = find_method(object, name)) {
    PC_TRY(Value bound, make_function(&runtime.budget, name, method, object));
    return Found(std::move(bound));
  }
  return Found();
}

// What Python's object[index] finds, if anything.
Result<std::optional<Value>> find_item(Runtime& runtime, const Value& object, const Value& index) {
  using Found = std::optional<Value>;
  if (object.is(Kind::kUndefined)) return error(Code::kInvalidArgument, object.reason());
  if (object.is(Kind::kDict)) {
    PC_CHECK_OK(runtime.budget.spend(1 + object.dict().entries.size() / 8));
    if (!hash_of(index).ok()) return Found();
    const Value* value = object.dict().find(index);
    return value ? Found(*value) : Found();
  }
  if (!index.is_integral()) return Found();
  std::int64_t n = 0;
  switch (object.kind) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange: {
      PC_TRY(n, length_of(object));
      break;
    }
    default:
      return Found();
  }
  const std::int64_t at = index.integer < 0 ? index.integer + n : index.integer;
  if (at < 0 || at >= n) return Found();
  if (object.is(Kind::kRange))
    return Found(integer(object.range().start + at * object.range().step));
  if (!object.is(Kind::kString)) return Found(object.items()[static_cast<std::size_t>(at)]);
  PC_TRY(Value one, get_slice(runtime, object, integer(at), integer(at + 1), none()));
  return Found(std::move(one));
}

// A bound of a slice: none, or an integer clamped to [low, high] after counting
// negative ones from the end.
Result<std::int64_t> bound(const Value& value, std::int64_t n, std::int64_t low, std::int64_t high,
                           std::int64_t fallback) {
  if (value.is(Kind::kNone)) return fallback;
  if (value.is(Kind::kUndefined)) return error(Code::kInvalidArgument, value.reason());
  if (!value.is_integral())
    return error(Code::kInvalidArgument, "slice indices must be integers or None");
  const std::int64_t at = value.integer < 0 ? value.integer + n : value.integer;
  return std::clamp(at, low, high);
}

// The elements of a slice: from first, by step, n of them, in front of stop.
struct Stride {
  std::int64_t first = 0, stop = 0, step = 1, n = 0;
};

Result<Stride> stride_of(std::int64_t n, const Value& start, const Value& stop, const Value& step) {
  Stride stride;
  PC_TRY(stride.step, bound(step, 0, INT64_MIN + 1, INT64_MAX, 1));
  if (stride.step == 0) return error(Code::kInvalidArgument, "slice step cannot be zero");
  const bool up = stride.step > 0;
  const std::int64_t low = up ? 0 : -1, high = up ? n : n - 1;
  PC_TRY(stride.first, bound(start, n, low, high, up ? 0 : n - 1));
  PC_TRY(stride.stop, bound(stop, n, low, high, up ? n : -1));
  const std::int64_t distance = up ? stride.stop - stride.first : stride.first - stride.stop;
  const std::int64_t size = up ? stride.step : -stride.step;
  stride.n = distance > 0 ? (distance - 1) / size + 1 : 0;
  return stride;
}

Result<Value> slice_string(Runtime& runtime, const Value& object, const Stride& stride) {
  const auto& text = static_cast<const Text&>(*object.object);
  PC_CHECK_OK(runtime.budget.spend_bytes(text.text.size()));
  const auto at = [&](std::int64_t i) {
    return text.is_ascii ? static_cast<std::size_t>(i)
                         : byte_of(text.text, static_cast<std::size_t>(i));
  };
  if (stride.step == 1) {
    const std::size_t first = at(stride.first);
    const std::size_t n = text.is_ascii ? static_cast<std::size_t>(stride.n)
                                        : byte_of(std::string_view(text.text).substr(first),
                                                  static_cast<std::size_t>(stride.n));
    return make_string(&runtime.budget, text.text.substr(first, n), text.is_markup);
  }
  std::vector<std::size_t> starts;  // of all characters, and the end
  for (std::size_t i = 0; i <= text.text.size(); ++i)
    if (i == text.text.size() || (static_cast<unsigned char>(text.text[i]) & 0xC0) != 0x80)
      starts.push_back(i);
  std::string out;
  for (std::int64_t i = 0; i < stride.n; ++i) {
    const auto place = static_cast<std::size_t>(stride.first + i * stride.step);
    out.append(text.text, starts[place], starts[place + 1] - starts[place]);
  }
  return make_string(&runtime.budget, std::move(out), text.is_markup);
}

}  // namespace

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  PC_TRY(auto attribute, find_attribute(runtime, object, name));
  if (attribute) return std::move(*attribute);
  if (object.is(Kind::kDict)) {
    if (const Value* value = object.dict().find(name)) return *value;
  }
  return no_attribute(object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& index) {
  PC_TRY(auto item, find_item(runtime, object, index));
  if (item) return std::move(*item);
  if (index.is(Kind::kString)) {
    PC_TRY(auto attribute, find_attribute(runtime, object, index.text()));
    if (attribute) return std::move(*attribute);
  }
  return no_element(object, index);
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step) {
  if (object.is(Kind::kUndefined)) return error(Code::kInvalidArgument, object.reason());
  const bool is_sequence = object.is(Kind::kString) || object.is(Kind::kList) ||
                           object.is(Kind::kTuple) || object.is(Kind::kRange);
  if (!is_sequence)
    return error(Code::kInvalidArgument, "'" + type_name(object) + "' object cannot be sliced");
  PC_TRY(const std::int64_t n, length_of(object));
  PC_TRY(const Stride stride, stride_of(n, start, stop, step));
  if (object.is(Kind::kString)) return slice_string(runtime, object, stride);
  if (object.is(Kind::kRange)) {
    const Range& range = object.range();
    const std::int64_t first = range.start + stride.first * range.step;
    return make_range(&runtime.budget, first, range.start + stride.stop * range.step,
                      stride.step * range.step);
  }
  PC_CHECK_OK(runtime.budget.spend(1 + static_cast<std::uint64_t>(stride.n)));
  std::vector<Value> part;
  part.reserve(static_cast<std::size_t>(stride.n));
  for (std::int64_t i = 0; i < stride.n; ++i)
    part.push_back(object.items()[static_cast<std::size_t>(stride.first + i * stride.step)]);
  return object.is(Kind::kList) ? make_list(&runtime.budget, std::move(part))
                                : make_tuple(&runtime.budget, std::move(part));
}

Result<Value> get_path(Runtime& runtime, Value object, const Value& path, const Value* fallback) {
  if (path.is(Kind::kNone)) return object;
  std::vector<Value> parts;
  if (!path.is(Kind::kString)) {
    parts.push_back(path);
  } else {
    std::string_view rest = path.text();
    while (true) {
      const std::size_t dot = rest.find('.');
      const std::string_view part = rest.substr(0, dot);
      std::int64_t number = 0;
      const bool is_number =
          !part.empty() && all_of(part, is_decimal) && part[0] >= '0' && part[0] <= '9' &&
          std::from_chars(part.data(), part.data() + part.size(), number).ec == std::errc();
      PC_TRY(Value name, make_string(&runtime.budget, std::string(part)));
      parts.push_back(is_number ? integer(number) : std::move(name));
      if (dot == rest.npos) break;
      rest.remove_prefix(dot + 1);
    }
  }
  for (const Value& part : parts) {
    PC_TRY(object, get_item(runtime, object, part));
    if (fallback && object.is(Kind::kUndefined)) object = *fallback;
  }
  return object;
}

}  // namespace pc::jinja
