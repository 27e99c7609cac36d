#include "runtime/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "runtime/json/json.h"

namespace pc {
namespace {

constexpr std::uint64_t kPrefixBytes = 8;  // the header's length
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMaxTensors = 65536;
constexpr std::size_t kMaxDimensions = 8;
// A tensor's entry is an object with a string and two short arrays, so that the whole
// header nests 3 levels deep.
constexpr JsonLimits kHeaderLimits{
    .bytes = kMaxHeaderBytes, .values = std::size_t{2} << 20, .depth = 8};

struct DtypeBits {
  std::string_view name;
  std::uint32_t bits;
};
constexpr std::array<DtypeBits, 20> kDtypes{{
    {"BF16", 16},   {"BOOL", 8},    {"C64", 64},    {"F16", 16}, {"F32", 32},
    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F64", 64}, {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"I16", 16},    {"I32", 32}, {"I64", 64},
    {"I8", 8},      {"U16", 16},    {"U32", 32},    {"U64", 64}, {"U8", 8},
}};

std::string quoted(std::string_view name) {
  return "tensor \"" + std::string(name) + "\"";
}

struct Placed {
  std::uint64_t begin = 0, end = 0;  // in the data part of the file
  TensorMap::iterator tensor;
};

Result<const DtypeBits*> read_dtype(JsonView tensor) {
  PC_TRY(const JsonView member, tensor.member("dtype"));
  PC_TRY(const std::string_view name, member.string());
  for (const DtypeBits& dtype : kDtypes) {
    if (dtype.name == name) return &dtype;
  }
  return member.error(Code::kUnsupported,
                      "is \"" + std::string(name) + "\", a type this reader does not know");
}

Result<std::vector<std::uint64_t>> read_shape(JsonView tensor) {
  PC_TRY(const JsonView member, tensor.member("shape"));
  if (!member.is_array()) return member.error(Code::kCorrupt, "is not a list of dimensions");
  if (member.size() > kMaxDimensions) {
    return member.error(Code::kUnsupported, "has " + std::to_string(member.size()) +
                                                " dimensions, the limit is " +
                                                std::to_string(kMaxDimensions));
  }
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < member.size(); ++i) {
    PC_TRY(const std::int64_t extent, member.at(i).integer_in(0, INT64_MAX));
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  return shape;
}

// How many bytes a tensor takes; nothing if the number overflows or is not whole.
std::optional<std::uint64_t> tensor_bytes(std::span<const std::uint64_t> shape,
                                          std::uint32_t bits) {
  std::uint64_t n = bits;
  for (const std::uint64_t extent : shape) {
    const auto product = checked_mul(n, extent);
    if (!product) return std::nullopt;
    n = *product;
  }
  if (n % 8 != 0) return std::nullopt;
  return n / 8;
}

Result<std::pair<std::uint64_t, std::uint64_t>> read_offsets(JsonView tensor,
                                                             std::uint64_t data_bytes) {
  PC_TRY(const JsonView member, tensor.member("data_offsets"));
  if (!member.is_array() || member.size() != 2) {
    return member.error(Code::kCorrupt, "is not a pair of offsets");
  }
  PC_TRY(const std::int64_t begin, member.at(0).integer_in(0, INT64_MAX));
  PC_TRY(const std::int64_t end, member.at(1).integer_in(begin, INT64_MAX));
  if (static_cast<std::uint64_t>(end) > data_bytes) {
    return member.error(Code::kCorrupt, "ends at byte " + std::to_string(end) + " of only " +
                                            std::to_string(data_bytes) +
                                            ": the file is truncated or damaged");
  }
  return std::pair(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
}

Result<TensorView> read_tensor(JsonView entry, std::span<const std::byte> data,
                               const std::string& file, Placed* place) {
  PC_TRY(const DtypeBits* dtype, read_dtype(entry));
  PC_TRY(auto shape, read_shape(entry));
  PC_TRY(const auto offsets, read_offsets(entry, data.size()));
  const auto [begin, end] = offsets;
  const auto n_bytes = tensor_bytes(shape, dtype->bits);
  if (!n_bytes || *n_bytes != end - begin) {
    return entry.error(Code::kCorrupt, "holds " + std::to_string(end - begin) + " bytes, but " +
                                           std::string(dtype->name) + " " + shape_text(shape) +
                                           " takes another number");
  }
  place->begin = begin;
  place->end = end;
  return TensorView{dtype->name, std::move(shape), data.subspan(begin, end - begin), file};
}

// "__metadata__" must map names to strings. Nobody here reads them.
Status check_metadata(JsonView metadata) {
  return metadata.for_each_member([](std::string_view, JsonView value) -> Status {
    PC_CHECK_OK(value.string());
    return ok();
  });
}

// Every byte of the data belongs to exactly one tensor.
Status check_coverage(std::vector<Placed> places, std::uint64_t data_bytes,
                      const std::string& file) {
  std::sort(places.begin(), places.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  for (const Placed& place : places) {
    if (place.begin != expected) {
      return error(Code::kCorrupt,
                   file + ": " + quoted(place.tensor->first) + " begins at byte " +
                       std::to_string(place.begin) + " of the data, " +
                       (place.begin < expected ? "inside another tensor" : "after a hole") +
                       "; the one before it ends at " + std::to_string(expected));
    }
    expected = place.end;
  }
  if (expected != data_bytes) {
    return error(Code::kCorrupt, file + ": " + std::to_string(data_bytes - expected) +
                                     " bytes after the last tensor belong to none");
  }
  return ok();
}

Result<std::string_view> read_header(std::span<const std::byte> file, const std::string& name) {
  if (file.size() < kPrefixBytes) {
    return error(Code::kCorrupt, name + ": " + std::to_string(file.size()) +
                                     " bytes are too few for a safetensors file");
  }
  const auto n = load_le<std::uint64_t>(file, 0);
  if (n > kMaxHeaderBytes) {
    return error(Code::kUnsupported, name + ": a header of " + std::to_string(n) +
                                         " bytes, the limit is " + std::to_string(kMaxHeaderBytes) +
                                         "; is this a safetensors file?");
  }
  if (!in_range(kPrefixBytes, n, file.size())) {
    return error(Code::kCorrupt, name + ": the header of " + std::to_string(n) +
                                     " bytes goes past the file's end: the file is truncated");
  }
  return std::string_view(reinterpret_cast<const char*>(file.data()) + kPrefixBytes, n);
}

// A name that stays inside the folder on every system.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

Result<TensorMap> parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  PC_TRY(const std::string_view header, read_header(file, name));
  const auto data = file.subspan(kPrefixBytes + header.size());
  PC_TRY(const JsonDocument document, JsonDocument::parse(header, name, kHeaderLimits));
  if (document.root().size() > kMaxTensors + 1) {  // and __metadata__
    return error(Code::kUnsupported, name + ": " + std::to_string(document.root().size()) +
                                         " tensors, the limit is " + std::to_string(kMaxTensors));
  }
  TensorMap tensors;
  std::vector<Placed> places;
  const auto read_entry = [&](std::string_view key, JsonView entry) -> Status {
    if (key == "__metadata__") return check_metadata(entry);
    Placed place;
    PC_TRY(auto tensor, read_tensor(entry, data, name, &place));
    place.tensor = tensors.emplace(key, std::move(tensor)).first;
    places.push_back(place);
    return ok();
  };
  PC_CHECK_OK(document.root().for_each_member(read_entry));
  PC_CHECK_OK(check_coverage(std::move(places), data.size(), name));
  return tensors;
}

Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& name) {
  PC_TRY(const JsonDocument document, JsonDocument::parse(text, name, kHeaderLimits));
  PC_TRY(const JsonView map, document.root().member("weight_map"));
  std::map<std::string, std::string> shard_of;
  PC_CHECK_OK(map.for_each_member([&](std::string_view tensor, JsonView value) -> Status {
    PC_TRY(const std::string_view file, value.string());
    if (!is_plain_name(file)) {
      return value.error(Code::kCorrupt, "is \"" + std::string(file) +
                                             "\"; a shard is a plain file name beside the index");
    }
    shard_of.emplace(tensor, file);
    return ok();
  }));
  return shard_of;
}

}  // namespace pc
