// Reads a sentencepiece model file (a protocol buffer) far enough to know that
// the library may load it: the library trusts tables that it reads from the
// file, and ends the process where its own checks fail.
//
// The views point into the bytes that were parsed. A value; thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pc {

struct SentencepieceModel {
  enum class Kind : std::uint64_t { kUnigram = 1, kBpe = 2 };
  // The numbers of the file.
  enum class Type : std::uint64_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  struct Piece {
    std::string_view text;
    float score = 0;
    Type type = Type::kNormal;
    std::string_view message;  // the whole entry
  };
  // A top-level field as it stands, in the order of the file.
  struct Section {
    enum class Kind { kPiece, kSelfTest, kOther };
    Kind kind;
    std::string_view bytes;
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;             // [id]
  std::string_view trainer, normalizer;  // the two sections, as they stand
  std::string_view charsmap;             // the normaliser's compiled table; may be empty
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool whitespace_is_suffix = false;
  std::vector<Section> sections;
};

// `name` stands in messages. Errors: kCorrupt, kUnsupported.
Result<SentencepieceModel> parse_sentencepiece_model(std::string_view bytes,
                                                     const std::string& name);

// The file again with two changes: pieces whose type is now kControl are written
// so, and without the self-tests, which were written for the file as it was.
// `dummy_prefix` false also turns the dummy prefix off.
std::string rewrite_sentencepiece_model(const SentencepieceModel& model, bool dummy_prefix);

}  // namespace pc
