// Writes the GGUF format, and whatever looks a little like it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/checkpoint/gguf.h"  // GgufType

namespace pc::test {

template <class T>
std::string le(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string gguf_string(std::string_view text) {
  return le(std::uint64_t{text.size()}) + std::string(text);
}

template <class T>
constexpr GgufType gguf_type() {
  if (std::is_same_v<T, bool>) return GgufType::kBool;
  if (std::is_same_v<T, float>) return GgufType::kF32;
  if (std::is_same_v<T, double>) return GgufType::kF64;
  constexpr GgufType kTypes[2][4] = {
      {GgufType::kU8, GgufType::kU16, GgufType::kU32, GgufType::kU64},
      {GgufType::kI8, GgufType::kI16, GgufType::kI32, GgufType::kI64}};
  constexpr std::size_t size = sizeof(T);
  return kTypes[std::is_signed_v<T>][size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

// Pairs and tensors in the order of the calls. The counts are what was added,
// unless they are set.
class GgufBytes {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the data; says nothing in the file
  std::optional<std::uint64_t> n_pairs, n_tensors;

  // The bytes behind the key are the caller's: type and value.
  GgufBytes& raw_pair(std::string_view key, std::string_view type_and_value) {
    pairs_ += gguf_string(key) + std::string(type_and_value);
    ++added_pairs_;
    return *this;
  }
  // A number or a boolean, in the type it has in C++.
  template <class T>
  GgufBytes& value(std::string_view key, T value) {
    return raw_pair(key, le(gguf_type<T>()) + le(value));
  }
  GgufBytes& string(std::string_view key, std::string_view text) {
    return raw_pair(key, le(GgufType::kString) + gguf_string(text));
  }
  template <class T>
  GgufBytes& array(std::string_view key, const std::vector<T>& values) {
    std::string bytes;
    for (const T value : values) bytes += le(value);
    return raw_pair(key, array_head(gguf_type<T>(), values.size()) + bytes);
  }
  GgufBytes& strings(std::string_view key, const std::vector<std::string>& texts) {
    std::string bytes;
    for (const std::string& text : texts) bytes += gguf_string(text);
    return raw_pair(key, array_head(GgufType::kString, texts.size()) + bytes);
  }
  static std::string array_head(GgufType type, std::uint64_t n) {
    return le(GgufType::kArray) + le(type) + le(n);
  }

  // Extents are the format's: fastest first. Data goes behind that of the
  // tensors before, or is left to others where an offset is given.
  GgufBytes& tensor(std::string_view name, std::uint32_t type,
                    const std::vector<std::uint64_t>& extents, std::string_view data,
                    std::optional<std::uint64_t> offset = {}) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensors_ += gguf_string(name) + le(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) tensors_ += le(extent);
    tensors_ += le(type) + le(offset.value_or(data_.size()));
    data_ += data;
    ++added_tensors_;
    return *this;
  }

  std::string file() const {
    std::string bytes = "GGUF" + le(version) + le(n_tensors.value_or(added_tensors_)) +
                        le(n_pairs.value_or(added_pairs_)) + pairs_ + tensors_;
    if (added_tensors_ > 0) bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data_;
  }

 private:
  std::string pairs_, tensors_, data_;
  std::uint64_t added_pairs_ = 0, added_tensors_ = 0;
};

}  // namespace pc::test
