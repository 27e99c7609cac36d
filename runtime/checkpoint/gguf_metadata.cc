// Typed reading of a GGUF file's key-value pairs.
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "base/utf8.h"  // one_line
#include "runtime/checkpoint/gguf.h"

namespace pc {
namespace {

// The longest array that is copied. A file may hold longer ones, which nobody asks for.
constexpr std::uint64_t kMaxElements = std::uint64_t{2} << 20;

// The name of each GgufType in messages.
constexpr std::array<const char*, 13> kTypeNames{"u8",  "i8",  "u16",     "i16",    "u32",
                                                 "i32", "f32", "boolean", "string", "array",
                                                 "u64", "i64", "f64"};

// "u32", "an array of u32"
std::string description(const GgufValue& value) {
  const std::string name = kTypeNames[static_cast<std::uint32_t>(value.type)];
  return value.is_array ? "an array of " + name : name;
}

bool is_float(GgufType type) {
  return type == GgufType::kF32 || type == GgufType::kF64;
}

bool is_integer(GgufType type) {
  return !is_float(type) && type != GgufType::kBool && type != GgufType::kString;
}

// Element i as an integer; booleans are 0 and 1. Precondition: neither a float, a string
// nor a u64.
std::int64_t integer_at(const GgufValue& value, std::size_t i) {
  switch (value.type) {
    case GgufType::kI8:
      return load_le<std::int8_t>(value.bytes, i);
    case GgufType::kU16:
      return load_le<std::uint16_t>(value.bytes, i * 2);
    case GgufType::kI16:
      return load_le<std::int16_t>(value.bytes, i * 2);
    case GgufType::kU32:
      return load_le<std::uint32_t>(value.bytes, i * 4);
    case GgufType::kI32:
      return load_le<std::int32_t>(value.bytes, i * 4);
    case GgufType::kI64:
      return load_le<std::int64_t>(value.bytes, i * 8);
    default:
      return load_le<std::uint8_t>(value.bytes, i);  // u8, boolean
  }
}

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = pairs_.find(key);
  return found == pairs_.end() ? nullptr : &found->second;
}

Error GgufMetadata::error(Code code, std::string_view key, std::string_view what) const {
  return pc::error(code, file_ + ": key \"" + std::string(key) + "\": " + one_line(what));
}

Result<const GgufValue*> GgufMetadata::get(std::string_view key, std::string_view wanted,
                                           bool (*is_wanted)(const GgufValue&)) const {
  const GgufValue* value = find(key);
  if (!value) return error(Code::kCorrupt, key, "is missing, wanted " + std::string(wanted));
  if (!is_wanted(*value)) {
    return error(Code::kCorrupt, key,
                 "is " + description(*value) + ", wanted " + std::string(wanted));
  }
  return value;
}

Result<const GgufValue*> GgufMetadata::get_array(std::string_view key, std::string_view wanted,
                                                 bool (*is_wanted)(const GgufValue&)) const {
  PC_TRY(const GgufValue* value, get(key, wanted, is_wanted));
  if (value->n <= kMaxElements) return value;
  return error(Code::kUnsupported, key,
               "has " + std::to_string(value->n) + " elements, the limit is " +
                   std::to_string(kMaxElements));
}

Result<std::string_view> GgufMetadata::string(std::string_view key) const {
  PC_TRY(const GgufValue* value, get(key, "a string", [](const GgufValue& v) {
           return v.type == GgufType::kString && !v.is_array;
         }));
  return value->strings.front();
}

Result<std::uint64_t> GgufMetadata::integer(std::string_view key) const {
  PC_TRY(const GgufValue* value, get(key, "an integer", [](const GgufValue& v) {
           return is_integer(v.type) && !v.is_array;
         }));
  if (value->type == GgufType::kU64) return load_le<std::uint64_t>(value->bytes, 0);
  const std::int64_t n = integer_at(*value, 0);
  if (n < 0) return error(Code::kCorrupt, key, "is " + std::to_string(n) + ", which is negative");
  return static_cast<std::uint64_t>(n);
}

Result<double> GgufMetadata::number(std::string_view key) const {
  PC_TRY(const GgufValue* value, get(key, "a number", [](const GgufValue& v) {
           return (is_integer(v.type) || is_float(v.type)) && !v.is_array;
         }));
  if (value->type == GgufType::kU64) {
    return static_cast<double>(load_le<std::uint64_t>(value->bytes, 0));
  }
  if (!is_float(value->type)) return static_cast<double>(integer_at(*value, 0));
  const double x = value->type == GgufType::kF32 ? load_le<float>(value->bytes, 0)
                                                 : load_le<double>(value->bytes, 0);
  if (!std::isfinite(x)) return error(Code::kCorrupt, key, "is infinite or not a number");
  return x;
}

Result<bool> GgufMetadata::boolean(std::string_view key) const {
  PC_TRY(const GgufValue* value, get(key, "a boolean", [](const GgufValue& v) {
           return v.type == GgufType::kBool && !v.is_array;
         }));
  return value->bytes.front() != std::byte{0};
}

Result<std::string_view> GgufMetadata::string_or(std::string_view key,
                                                 std::string_view absent) const {
  return has(key) ? string(key) : absent;
}

Result<std::uint64_t> GgufMetadata::integer_or(std::string_view key, std::uint64_t absent) const {
  return has(key) ? integer(key) : absent;
}

Result<double> GgufMetadata::number_or(std::string_view key, double absent) const {
  return has(key) ? number(key) : absent;
}

Result<bool> GgufMetadata::boolean_or(std::string_view key, bool absent) const {
  return has(key) ? boolean(key) : absent;
}

Result<std::span<const std::string_view>> GgufMetadata::strings(std::string_view key) const {
  PC_TRY(const GgufValue* value, get(key, "an array of strings", [](const GgufValue& v) {
           return v.type == GgufType::kString && v.is_array;
         }));
  return std::span(value->strings);
}

Result<std::vector<std::int64_t>> GgufMetadata::integers(std::string_view key) const {
  PC_TRY(const GgufValue* value, get_array(key, "an array of integers", [](const GgufValue& v) {
           return (is_integer(v.type) || v.type == GgufType::kBool) && v.is_array;
         }));
  std::vector<std::int64_t> out(value->n);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (value->type == GgufType::kU64) {
      const auto n = load_le<std::uint64_t>(value->bytes, i * 8);
      if (n > INT64_MAX) return error(Code::kCorrupt, key, "holds " + std::to_string(n));
      out[i] = static_cast<std::int64_t>(n);
    } else {
      out[i] = integer_at(*value, i);
    }
  }
  return out;
}

Result<std::vector<float>> GgufMetadata::floats(std::string_view key) const {
  PC_TRY(const GgufValue* value, get_array(key, "an array of f32", [](const GgufValue& v) {
           return v.type == GgufType::kF32 && v.is_array;
         }));
  std::vector<float> out(value->n);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_le<float>(value->bytes, i * 4);
    if (!std::isfinite(out[i])) {
      return error(Code::kCorrupt, key,
                   "element " + std::to_string(i) + " is infinite or not a number");
    }
  }
  return out;
}

}  // namespace pc
