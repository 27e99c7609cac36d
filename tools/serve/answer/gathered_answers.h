// The whole answers that a sequence of events comes to: one fold for all protocols.
//
// Value. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/answer/event.h"

namespace pc::serve {

struct MadeCall {
  std::string id, name;
  std::string arguments;  // a JSON object, or where the answer is cut off within it its beginning

  Json input() const;  // the arguments as an object, as far as they go
};

// A stretch of an answer, in its order.
struct Block {
  enum class Kind { kThought, kText, kCall } kind = Kind::kText;
  std::string text = {};  // kThought, kText; never empty
  MadeCall call = {};     // kCall
};

struct GatheredAnswer {
  std::vector<Block> blocks;
  std::vector<DrawnToken> tokens;
  Finish finish;

  // All of its text or thoughts, whatever stands between.
  std::string text(Block::Kind kind = Block::Kind::kText) const;
  std::vector<MadeCall> calls() const;
};

struct GatheredAnswers {
  explicit GatheredAnswers(std::uint32_t n_choices) : choices(n_choices) {}

  void add(const Event& event);

  std::vector<GatheredAnswer> choices;
  Usage usage;  // the latest that was told
};

}  // namespace pc::serve
