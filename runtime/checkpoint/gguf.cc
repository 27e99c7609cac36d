// The bytes of one GGUF file: parse_gguf of gguf.h.
#include "runtime/checkpoint/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "runtime/checkpoint/gguf_types.h"

namespace pc {
namespace {

constexpr std::uint64_t kPrefixBytes = 24;  // magic, version, the two counts
constexpr std::uint64_t kMaxEntries = 65536;
constexpr std::uint64_t kMaxNameBytes = 256;
constexpr std::uint64_t kMaxStringBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxArrayBytes = std::uint64_t{256} << 20;
// A million tokens and two million merges: 48 MiB of views.
constexpr std::uint64_t kMaxStrings = std::uint64_t{3} << 20;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = 65536;
constexpr const char* kAlignmentKey = "general.alignment";
// The least that a key-value pair takes: the key's length, a key of one byte, the value's
// type, a value of one byte. The least of a tensor's entry: the name's length, a name of one
// byte, the number of dimensions (none), the type, the offset.
constexpr std::uint64_t kMinPairBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;

// Bytes of a number of each GgufType; 0 for strings and arrays, which give their own length.
constexpr std::array<std::uint8_t, 13> kElementBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Files that people give in place of a GGUF file: how one begins, and what it is.
struct OtherFile {
  std::string_view begin, what;
};
constexpr std::array<OtherFile, 5> kOtherFiles{{
    {"lmgg", "a GGML file from before GGUF; convert the model again"},
    {"fmgg", "a GGML file from before GGUF; convert the model again"},
    {"tjgg", "a GGML file from before GGUF; convert the model again"},
    {"vers", "a Git LFS pointer, it seems; fetch the file itself"},
    {"PK\x03\x04", "a ZIP archive; GGUF and safetensors files are read"},
}};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Names must pass this, so that a message that quotes one stays one line.
bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string of(std::uint64_t n, std::string_view unit) {
  return std::to_string(n) + " " + std::string(unit);
}

// The part of the file that is being read, as messages name it.
struct Place {
  std::string_view kind = "header";
  std::string_view name = {};
  std::uint64_t number = 0;  // counted from 1; stands in messages until the name is known

  std::string text() const {
    if (!name.empty()) return std::string(kind) + " \"" + std::string(name) + "\"";
    return "the " + std::string(kind) + (number ? " " + std::to_string(number) : "");
  }
};

struct Placed {
  std::uint64_t begin = 0, end = 0;  // in the data part of the file
  TensorMap::iterator tensor;
};

}  // namespace

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> file, const std::string& name) : bytes_(file) {
    result_.metadata.file_ = name;
  }

  Result<GgufFile> parse() {
    PC_CHECK_OK(check_magic());
    PC_CHECK_OK(read_counts());
    for (std::uint64_t i = 0; i < n_pairs_; ++i) PC_CHECK_OK(read_pair(i));
    PC_CHECK_OK(read_alignment());
    placed_.reserve(n_tensors_);
    for (std::uint64_t i = 0; i < n_tensors_; ++i) PC_CHECK_OK(read_tensor(i));
    PC_CHECK_OK(place_tensors());
    return std::move(result_);
  }

 private:
  const std::string& file() const { return result_.metadata.file_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  Error fail(Code code, const std::string& what) const {
    return error(code, file() + ": " + place_.text() + " " + what);
  }
  Error truncated() const {
    return fail(Code::kCorrupt, "goes past the end of the file, which is truncated or damaged");
  }

  // ---- pieces; each is checked against the end of the file

  Result<std::span<const std::byte>> take(std::uint64_t n) {
    if (n > left()) return truncated();
    const auto part = bytes_.subspan(at_, n);
    at_ += n;
    return part;
  }

  template <class T>
  Result<T> number() {
    if (sizeof(T) > left()) return truncated();
    const T value = load_le<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }

  Result<std::string_view> string(std::uint64_t limit) {
    PC_TRY(const auto n, number<std::uint64_t>());
    if (n > left()) return truncated();
    if (n > limit) {
      return fail(Code::kUnsupported,
                  "has a string of " + of(n, "bytes") + ", the limit is " + std::to_string(limit));
    }
    PC_TRY(const auto text, take(n));
    return text_of(text);
  }

  // Reads the name of a pair or of a tensor, which stands in messages from here on.
  Status name_place() {
    PC_TRY(const std::string_view name, string(kMaxNameBytes));
    if (name.empty() || !is_printable_ascii(name)) {
      return fail(Code::kCorrupt, "has a name that is not printable ASCII");
    }
    place_.name = name;
    return ok();
  }

  // ---- the header

  Status check_magic() {
    const std::string_view begin = text_of(bytes_.first(std::min<std::size_t>(bytes_.size(), 4)));
    if (begin != "GGUF") {
      for (const auto& other : kOtherFiles) {
        if (begin == other.begin) {
          return error(Code::kUnsupported, file() + ": " + std::string(other.what));
        }
      }
      return error(Code::kCorrupt, file() + ": not a GGUF file: it does not begin with \"GGUF\"");
    }
    if (bytes_.size() < kPrefixBytes) return truncated();
    const auto version = load_le<std::uint32_t>(bytes_, 4);
    if (version == 2 || version == 3) return ok();
    if (version != 0 && (version & 0xFFFF) == 0) {
      return error(
          Code::kUnsupported,
          file() + ": a big-endian GGUF file; convert the model for little-endian machines");
    }
    return error(Code::kUnsupported, file() + ": GGUF version " + std::to_string(version) +
                                         "; versions 2 and 3 are read" +
                                         (version == 1 ? ", convert the model again" : ""));
  }

  // A count is refused where the rest of the file is too short for so many entries.
  Status read_counts() {
    n_tensors_ = load_le<std::uint64_t>(bytes_, 8);
    n_pairs_ = load_le<std::uint64_t>(bytes_, 16);
    at_ = kPrefixBytes;
    PC_CHECK_OK(check_count(n_pairs_, "key-value pairs", kMinPairBytes));
    return check_count(n_tensors_, "tensors", kMinTensorBytes);
  }

  Status check_count(std::uint64_t n, std::string_view what, std::uint64_t min_bytes) const {
    if (n > left() / min_bytes) {
      return fail(Code::kCorrupt, "counts " + of(n, what) + ", more than a file of " +
                                      of(bytes_.size(), "bytes") +
                                      " can hold: it is truncated or damaged");
    }
    if (n > kMaxEntries) {
      return fail(Code::kUnsupported,
                  "counts " + of(n, what) + ", the limit is " + std::to_string(kMaxEntries));
    }
    return ok();
  }

  // ---- key-value pairs

  Status read_pair(std::uint64_t i) {
    place_ = {.kind = "key-value pair", .number = i + 1};
    PC_CHECK_OK(name_place());
    place_.kind = "key";
    PC_TRY(GgufValue value, read_value());
    if (!result_.metadata.pairs_.emplace(place_.name, std::move(value)).second) {
      return fail(Code::kCorrupt, "occurs twice");
    }
    return ok();
  }

  Result<GgufType> value_type() {
    PC_TRY(const auto type, number<std::uint32_t>());
    if (type < kElementBytes.size()) return static_cast<GgufType>(type);
    return fail(Code::kUnsupported, "has a value of type " + std::to_string(type) +
                                        ", which this reader does not know");
  }

  Result<GgufValue> read_value() {
    PC_TRY(GgufType type, value_type());
    const bool is_array = type == GgufType::kArray;
    std::uint64_t n = 1;
    if (is_array) {
      PC_TRY(type, value_type());
      if (type == GgufType::kArray) {
        return fail(Code::kUnsupported, "is an array of arrays, which no model needs");
      }
      PC_TRY(n, number<std::uint64_t>());
    }
    if (type == GgufType::kString) return read_strings(n, is_array);
    return read_numbers(type, n, is_array);
  }

  Result<GgufValue> read_numbers(GgufType type, std::uint64_t n, bool is_array) {
    const std::uint64_t size = kElementBytes[static_cast<std::uint32_t>(type)];
    if (n > left() / size) return truncated();
    if (n * size > kMaxArrayBytes) return too_large(n * size);
    PC_TRY(const auto bytes, take(n * size));
    if (type == GgufType::kBool) {
      const auto is_bool = [](std::byte b) { return b <= std::byte{1}; };
      if (!std::all_of(bytes.begin(), bytes.end(), is_bool)) {
        return fail(Code::kCorrupt, "has a boolean that is neither 0 nor 1");
      }
    }
    return GgufValue{.type = type, .is_array = is_array, .n = n, .bytes = bytes};
  }

  Result<GgufValue> read_strings(std::uint64_t n, bool is_array) {
    if (n > left() / sizeof(std::uint64_t)) return truncated();
    if (n > kMaxStrings - n_strings_) {
      return fail(Code::kUnsupported, "has " + of(n, "strings") + ", the limit is " +
                                          std::to_string(kMaxStrings) + " in a file");
    }
    n_strings_ += n;
    GgufValue value{.type = GgufType::kString, .is_array = is_array, .n = n, .bytes = {}};
    value.strings.reserve(n);
    const std::uint64_t begin = at_;
    for (std::uint64_t i = 0; i < n; ++i) {
      PC_TRY(const std::string_view text, string(kMaxStringBytes));
      value.strings.push_back(text);
      if (at_ - begin > kMaxArrayBytes) return too_large(at_ - begin);
    }
    return value;
  }

  Error too_large(std::uint64_t n_bytes) const {
    return fail(Code::kUnsupported, "is an array of at least " + of(n_bytes, "bytes") +
                                        ", the limit is " + std::to_string(kMaxArrayBytes));
  }

  Status read_alignment() {
    const GgufValue* value = result_.metadata.find(kAlignmentKey);
    if (!value) return ok();
    place_ = {.kind = "key", .name = kAlignmentKey};
    if (value->type != GgufType::kU32 || value->is_array) {
      return fail(Code::kCorrupt, "is not a u32");
    }
    alignment_ = load_le<std::uint32_t>(value->bytes, 0);
    if (!std::has_single_bit(alignment_)) {
      return fail(Code::kCorrupt, "is " + std::to_string(alignment_) + ", not a power of two");
    }
    if (alignment_ > kMaxAlignment) {
      return fail(Code::kUnsupported, "is " + std::to_string(alignment_) + ", the limit is " +
                                          std::to_string(kMaxAlignment));
    }
    return ok();
  }

  // ---- tensors

  Status read_tensor(std::uint64_t i) {
    place_ = {.kind = "tensor", .number = i + 1};
    PC_CHECK_OK(name_place());
    PC_TRY(auto shape, read_shape());
    PC_TRY(const GgufTensorType* type, tensor_type());
    PC_TRY(const std::uint64_t n_bytes, tensor_bytes(*type, shape));
    PC_TRY(const auto offset, number<std::uint64_t>());
    if (offset % alignment_ != 0) {
      return fail(Code::kCorrupt, "begins at byte " + std::to_string(offset) +
                                      " of the data, no multiple of the file's alignment of " +
                                      std::to_string(alignment_));
    }
    const auto end = checked_add(offset, n_bytes);
    if (!end) return truncated();
    const auto [tensor, is_new] =
        result_.tensors.emplace(place_.name, TensorView{type->name, std::move(shape), {}, file()});
    if (!is_new) return fail(Code::kCorrupt, "occurs twice");
    placed_.push_back({offset, *end, tensor});
    return ok();
  }

  Result<std::vector<std::uint64_t>> read_shape() {
    PC_TRY(const auto n, number<std::uint32_t>());
    if (n > kMaxDimensions) {
      return fail(Code::kUnsupported, "has " + of(n, "dimensions") + ", the limit is " +
                                          std::to_string(kMaxDimensions));
    }
    std::vector<std::uint64_t> shape(n);
    for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
      PC_TRY(*extent, number<std::uint64_t>());
      if (*extent == 0) return fail(Code::kCorrupt, "has a dimension of zero");
    }
    return shape;
  }

  Result<const GgufTensorType*> tensor_type() {
    PC_TRY(const auto id, number<std::uint32_t>());
    if (const GgufTensorType* type = find_gguf_tensor_type(id)) return type;
    return fail(Code::kUnsupported,
                "is of type " + std::to_string(id) + ", which this reader does not know");
  }

  Result<std::uint64_t> tensor_bytes(const GgufTensorType& type,
                                     std::span<const std::uint64_t> shape) const {
    const std::uint64_t row = shape.empty() ? 1 : shape.back();
    if (row % type.elements != 0) {
      return fail(Code::kCorrupt, "has rows of " + of(row, "elements") + "; " + type.name +
                                      " comes in blocks of " + std::to_string(type.elements));
    }
    std::optional<std::uint64_t> n = checked_mul(row / type.elements, type.bytes);
    for (std::size_t i = 0; n && i + 1 < shape.size(); ++i) n = checked_mul(*n, shape[i]);
    if (!n) return fail(Code::kCorrupt, "has more than 2^64 bytes by its shape");
    return *n;
  }

  // The data begins at the next multiple of the alignment; holes are padding.
  Status place_tensors() {
    std::sort(placed_.begin(), placed_.end(),
              [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    const std::uint64_t begin = std::min<std::uint64_t>(align_up(at_, alignment_), bytes_.size());
    const auto data = bytes_.subspan(begin);
    std::uint64_t free = 0;
    for (const Placed& place : placed_) {
      place_ = {.kind = "tensor", .name = place.tensor->first};
      if (place.begin < free) {
        return fail(Code::kCorrupt, "begins at byte " + std::to_string(place.begin) +
                                        " of the data, inside another tensor");
      }
      if (place.end > data.size()) {
        return fail(Code::kCorrupt, "ends at byte " + std::to_string(place.end) +
                                        " of the data, of which there are only " +
                                        std::to_string(data.size()) +
                                        ": the file is truncated or damaged");
      }
      place.tensor->second.bytes = data.subspan(place.begin, place.end - place.begin);
      free = place.end;
    }
    return ok();
  }

  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;  // <= bytes_.size()
  std::uint64_t n_pairs_ = 0, n_tensors_ = 0, n_strings_ = 0;
  std::uint64_t alignment_ = kDefaultAlignment;
  Place place_;
  std::vector<Placed> placed_;
  GgufFile result_;
};

Result<GgufFile> parse_gguf(std::span<const std::byte> file, const std::string& name) {
  return GgufParser(file, name).parse();
}

}  // namespace pc
