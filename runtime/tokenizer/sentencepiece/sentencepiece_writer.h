// Writes a sentencepiece model file from a vocabulary that came in another form,
// so that there is one way to load one. Only the fields that decide about ids
// are written.
//
// Pure; threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/sentencepiece/sentencepiece_model.h"  // Type

namespace pc {

struct SentencepieceParts {
  struct Piece {
    std::string text;
    float score = 0;
    SentencepieceModel::Type type = SentencepieceModel::Type::kNormal;
  };
  std::vector<Piece> pieces;  // [id]
  std::string_view charsmap;  // the normaliser's compiled table; may be empty
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = false;
};

// A model of type BPE, with byte fallback where there are pieces of type kByte.
// It is as sound as its parts: the reader checks it.
std::string write_sentencepiece_model(const SentencepieceParts& parts);

}  // namespace pc
