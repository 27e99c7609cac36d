#include "runtime/tokenizer/sentencepiece/sentencepiece_model.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "runtime/tokenizer/text/tokenizer_config.h"  // kMaxVocabSize

namespace pc {
namespace {

using Piece = SentencepieceModel::Piece;
using Type = SentencepieceModel::Type;

// The longest piece of a published model has under 100 bytes; the library's
// recursion over unused pieces is as deep as they are long.
constexpr std::size_t kMaxPieceBytes = 512;

// One field of a protocol buffer message, read in order.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire_type = 0;
  std::uint64_t value = 0;      // of a varint or a fixed 32-bit field
  std::string_view bytes;       // of a length-delimited field
  std::size_t at = 0, end = 0;  // in the file

  // As for the library, a known number with another wire type is an unknown field.
  bool is(std::uint64_t wanted, std::uint64_t wire) const {
    return number == wanted && wire_type == wire;
  }
};

constexpr std::uint64_t kVarint = 0, kBytes = 2, kFixed32 = 5;  // wire types

// Walks the fields of one message, a part of the file.
class Fields {
 public:
  Fields(std::string_view file, std::string_view message)
      : file_(file),
        at_(static_cast<std::size_t>(message.data() - file.data())),
        end_(at_ + message.size()) {}

  bool done() const { return at_ == end_; }

  // False where the bytes are no field.
  bool next(Field* field) {
    field->at = at_;
    std::uint64_t tag = 0;
    if (!varint(&tag) || tag > UINT32_MAX) return false;
    field->number = tag >> 3;
    field->wire_type = tag & 7;
    if (!value(field)) return false;
    field->end = at_;
    return field->number != 0;
  }

 private:
  bool value(Field* field) {
    switch (field->wire_type) {
      case kVarint:
        return varint(&field->value);
      case 1:
        return skip(8);
      case kBytes: {
        std::uint64_t n = 0;
        if (!varint(&n) || n > end_ - at_) return false;
        field->bytes = file_.substr(at_, n);
        return skip(n);
      }
      case kFixed32: {
        if (end_ - at_ < 4) return false;
        field->value = load_le<std::uint32_t>(std::as_bytes(std::span(file_)), at_);
        return skip(4);
      }
      default:
        return false;  // groups: no sentencepiece model has them
    }
  }

  bool varint(std::uint64_t* out) {
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return false;
      const auto byte = static_cast<unsigned char>(file_[at_++]);
      *out |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool skip(std::uint64_t n) {
    if (n > end_ - at_) return false;
    at_ += n;
    return true;
  }

  std::string_view file_;
  std::size_t at_, end_;
};

// The field numbers are those of sentencepiece_model.proto.
class Parser {
 public:
  Parser(std::string_view file, const std::string& name) : file_(file), name_(name) {}

  Result<SentencepieceModel> parse() {
    PC_CHECK_OK(each_field(file_, "the model", [this](const Field& field) -> Status {
      using Section = SentencepieceModel::Section;
      const auto kind = field.is(1, kBytes)   ? Section::Kind::kPiece
                        : field.is(4, kBytes) ? Section::Kind::kSelfTest
                                              : Section::Kind::kOther;
      model_.sections.push_back({kind, file_.substr(field.at, field.end - field.at)});
      if (kind == Section::Kind::kPiece) return piece(field.bytes);
      if (field.is(2, kBytes)) return trainer(field.bytes);
      if (field.is(3, kBytes)) return normalizer(field.bytes);
      return ok();
    }));
    if (model_.pieces.empty()) return corrupt("holds no pieces; is it a sentencepiece model?");
    PC_CHECK_OK(check_charsmap());
    return std::move(model_);
  }

 private:
  template <class Visit>
  Status each_field(std::string_view message, const char* what, Visit visit) {
    Fields fields(file_, message);
    for (Field field; !fields.done(); field = {}) {
      if (!fields.next(&field))
        return corrupt(std::string("no sentencepiece model, or damaged in ") + what);
      PC_CHECK_OK(visit(field));
    }
    return ok();
  }

  Status piece(std::string_view message) {
    const std::string what = "piece " + std::to_string(model_.pieces.size());
    Piece piece;
    piece.message = message;
    PC_CHECK_OK(each_field(message, what.c_str(), [&](const Field& field) -> Status {
      if (field.is(1, kBytes)) piece.text = field.bytes;
      if (field.is(2, kFixed32)) {
        const auto bits = static_cast<std::uint32_t>(field.value);
        std::memcpy(&piece.score, &bits, sizeof piece.score);
      }
      if (field.is(3, kVarint)) {
        if (field.value < 1 || field.value > 6) {
          return corrupt(what + " has an unknown type");
        }
        piece.type = static_cast<Type>(field.value);
      }
      return ok();
    }));
    if (piece.text.empty() || piece.text.size() > kMaxPieceBytes || !std::isfinite(piece.score)) {
      return corrupt(what + " has no text, a text over 512 bytes, or a score that is no number");
    }
    if (model_.pieces.size() == static_cast<std::size_t>(kMaxVocabSize)) {
      return corrupt("more than 1,048,576 pieces");
    }
    model_.pieces.push_back(piece);
    return ok();
  }

  Status trainer(std::string_view message) {
    if (!model_.trainer.empty()) return corrupt("has two trainer sections");
    model_.trainer = message;
    return each_field(message, "the trainer section", [this](const Field& field) -> Status {
      if (field.is(24, kVarint)) model_.whitespace_is_suffix = field.value != 0;
      if (!field.is(3, kVarint)) return ok();
      model_.kind = static_cast<SentencepieceModel::Kind>(field.value);
      if (field.value == 1 || field.value == 2) return ok();
      return error(Code::kUnsupported, name_ +
                                           ": sentencepiece models of type word and char are "
                                           "not supported; unigram and bpe are");
    });
  }

  Status normalizer(std::string_view message) {
    if (!model_.normalizer.empty()) return corrupt("has two normalizer sections");
    model_.normalizer = message;
    return each_field(message, "the normalizer section", [this](const Field& field) -> Status {
      if (field.is(2, kBytes)) model_.charsmap = field.bytes;
      if (field.is(3, kVarint)) model_.add_dummy_prefix = field.value != 0;
      if (field.is(4, kVarint)) model_.remove_extra_whitespaces = field.value != 0;
      return ok();
    });
  }

  // A double-array trie (32-bit units, little-endian, its size in bytes in front)
  // and the zero-terminated texts that its values point to. The library follows
  // the trie without looking at its size. From unit i a step goes to
  // (i ^ offset) ^ label with label < 256: inside when i ^ offset is, since the
  // number of units is a multiple of 256; and a unit with a leaf has its value at
  // i ^ offset. Units that are values have bit 31 set, and no step leads to them.
  Status check_charsmap() {
    const std::string_view map = model_.charsmap;
    if (map.empty()) return ok();
    const auto bytes = std::as_bytes(std::span(map));
    const std::uint32_t trie_bytes = map.size() < 4 ? 0 : load_le<std::uint32_t>(bytes, 0);
    if (trie_bytes < 1024 || trie_bytes % 1024 != 0 || !in_range(4, trie_bytes, map.size())) {
      return corrupt("the normalizer's table has a wrong size");
    }
    const std::string_view texts = map.substr(4 + std::size_t{trie_bytes});
    if (texts.empty() || texts.back() != '\0') {
      return corrupt("the normalizer's texts do not end");
    }
    const std::uint32_t n_units = trie_bytes / 4;
    const auto unit = [&](std::uint32_t i) {
      return load_le<std::uint32_t>(bytes, 4 + std::size_t{i} * 4);
    };
    for (std::uint32_t i = 0; i < n_units; ++i) {
      const std::uint32_t u = unit(i);
      if (i != 0 && u >> 31 != 0) continue;  // a value; the root is taken without a look
      const std::uint32_t next = i ^ (u >> 10) << ((u & (1u << 9)) >> 6);
      const bool has_leaf = (u & (1u << 8)) != 0;
      if (next >= n_units || (has_leaf && (unit(next) & 0x7FFFFFFFu) >= texts.size())) {
        return corrupt("the normalizer's table points outside itself");
      }
    }
    return ok();
  }

  Error corrupt(std::string what) const { return error(Code::kCorrupt, name_ + ": " + what); }

  std::string_view file_;
  const std::string& name_;
  SentencepieceModel model_;
};

}  // namespace

Result<SentencepieceModel> parse_sentencepiece_model(std::string_view bytes,
                                                     const std::string& name) {
  return Parser(bytes, name).parse();
}

std::string rewrite_sentencepiece_model(const SentencepieceModel& model, bool dummy_prefix) {
  using Section = SentencepieceModel::Section;
  constexpr char kPieceTag = 1 << 3 | kBytes, kTypeTag = 3 << 3 | kVarint;
  constexpr char kNormalizerTag = 3 << 3 | kBytes, kDummyPrefixTag = 3 << 3 | kVarint;
  std::string out;
  std::size_t id = 0;
  for (const Section& section : model.sections) {
    if (section.kind == Section::Kind::kSelfTest) continue;
    const bool is_piece = section.kind == Section::Kind::kPiece;
    const Piece* piece = is_piece ? &model.pieces[id++] : nullptr;
    if (piece == nullptr || piece->type != Type::kControl) {
      out += section.bytes;
      continue;
    }
    // Of two type fields the later counts.
    out += kPieceTag;
    std::size_t n = piece->message.size() + 2;
    for (; n >= 0x80; n >>= 7) out += static_cast<char>(0x80 | (n & 0x7F));
    out += static_cast<char>(n);
    out.append(piece->message) += {kTypeTag, static_cast<char>(Type::kControl)};
  }
  // A second normalizer section is merged into the first.
  if (!dummy_prefix) out += {kNormalizerTag, 2, kDummyPrefixTag, 0};
  return out;
}

}  // namespace pc
