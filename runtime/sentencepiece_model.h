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
    kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6
  };
  struct Piece {
    std::string_view text;
    float score = 0;
    Type type = Type::kNormal;
    std::size_t type_at = 0;  // where in the file the type stands, one byte; 0: it does not
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;                 // [id]
  std::string_view trainer, normalizer;      // the two sections, as they stand
  std::string_view charsmap;                 // the normaliser's compiled table; may be empty
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  std::vector<std::size_t> self_tests_at;    // the tags of the self-test sections, one byte each
};

// `name` stands in messages. Errors: kCorrupt, kUnsupported.
Result<SentencepieceModel> parse_sentencepiece_model(std::string_view bytes,
                                                     const std::string& name);

}  // namespace pc
