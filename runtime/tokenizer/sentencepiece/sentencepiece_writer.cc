#include "runtime/tokenizer/sentencepiece/sentencepiece_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pc {
namespace {

// The field numbers are those of sentencepiece_model.proto.
enum Field : std::uint32_t {
  kPieces = 1,
  kTrainer = 2,
  kNormalizer = 3,
  kPieceText = 1,
  kPieceScore = 2,
  kPieceType = 3,
  kTrainerModelType = 3,
  kTrainerByteFallback = 35,
  kNormalizerCharsmap = 2,
  kNormalizerDummyPrefix = 3,
  kNormalizerRemoveSpaces = 4,
};
constexpr std::uint32_t kVarint = 0, kBytes = 2, kFixed32 = 5;  // wire types

void append_number(std::uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(0x80 | (value & 0x7F)));
  out->push_back(static_cast<char>(value));
}

void append_field(Field field, std::uint64_t value, std::string* out) {
  append_number(field << 3 | kVarint, out);
  append_number(value, out);
}

void append_field(Field field, std::string_view bytes, std::string* out) {
  append_number(field << 3 | kBytes, out);
  append_number(bytes.size(), out);
  out->append(bytes);
}

void append_field(Field field, float value, std::string* out) {
  append_number(field << 3 | kFixed32, out);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out->append(bytes, sizeof value);
}

}  // namespace

std::string write_sentencepiece_model(const SentencepieceParts& parts) {
  using Type = SentencepieceModel::Type;
  std::string out, message;
  for (const SentencepieceParts::Piece& piece : parts.pieces) {
    message.clear();
    append_field(kPieceText, std::string_view(piece.text), &message);
    append_field(kPieceScore, piece.score, &message);
    append_field(kPieceType, static_cast<std::uint64_t>(piece.type), &message);
    append_field(kPieces, std::string_view(message), &out);
  }
  const bool has_bytes = std::any_of(parts.pieces.begin(), parts.pieces.end(),
                                     [](const auto& piece) { return piece.type == Type::kByte; });
  message.clear();
  append_field(kTrainerModelType, static_cast<std::uint64_t>(SentencepieceModel::Kind::kBpe),
               &message);
  append_field(kTrainerByteFallback, std::uint64_t{has_bytes}, &message);
  append_field(kTrainer, std::string_view(message), &out);

  message.clear();
  if (!parts.charsmap.empty()) append_field(kNormalizerCharsmap, parts.charsmap, &message);
  append_field(kNormalizerDummyPrefix, std::uint64_t{parts.add_dummy_prefix}, &message);
  append_field(kNormalizerRemoveSpaces, std::uint64_t{parts.remove_extra_whitespaces}, &message);
  append_field(kNormalizer, std::string_view(message), &out);
  return out;
}

}  // namespace pc
