// Answers as they grow, for clients that want them whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/answer/answer_sink.h"

namespace pc::serve {

struct GatheredAnswer {
  std::string text;
  std::vector<DrawnToken> tokens;
  Finish finish;
};

class GatheredAnswers {
 public:
  explicit GatheredAnswers(std::uint32_t n) : answers_(n) {}

  void add(const Piece& piece) {
    GatheredAnswer& answer = answers_[piece.choice];
    answer.text += piece.text;
    answer.tokens.insert(answer.tokens.end(), piece.tokens.begin(), piece.tokens.end());
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(answers_.size()); }
  GatheredAnswer& operator[](std::uint32_t i) { return answers_[i]; }

 private:
  std::vector<GatheredAnswer> answers_;
};

}  // namespace pc::serve
