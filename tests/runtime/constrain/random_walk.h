// Texts that a mask lets through, drawn at random: what a model that knows nothing would say.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constrain/grammar/constraint.h"
#include "tests/support/random.h"

namespace pc::constrain::test {

struct Walk {
  std::string text;
  bool is_finished = false;
  std::string defect;  // "": a token could be drawn at each step, and all that could were taken
};

class RandomWalk {
 public:
  RandomWalk(const Vocabulary& vocabulary, std::uint64_t seed)
      : vocabulary_(vocabulary), random_(seed) {}

  // Draws at random for some tokens, and then what ends texts and lists.
  Walk run(Constraint constraint, std::size_t n_tokens) {
    Walk walk;
    const std::size_t hurried = random_.below(static_cast<std::uint32_t>(n_tokens)),
                      most = hurried + 600;
    for (std::size_t i = 0; i < most; ++i) {
      const std::vector<std::uint32_t> allowed = allowed_by(constraint);
      if (allowed.empty()) return {walk.text, false, "no token may come"};
      if (!agrees(constraint, allowed)) return {walk.text, false, "mask and accept differ"};
      const std::uint32_t token =
          i < hurried ? allowed[random_.below(n(allowed))] : closing(allowed);
      if (!constraint.accept(static_cast<std::int32_t>(token)))
        return {walk.text, false, "a token of the mask is not accepted: " + std::to_string(token)};
      walk.is_finished = vocabulary_.ends_turn(token);
      if (walk.is_finished) return walk;
      walk.text += vocabulary_.bytes(token);
    }
    return walk;
  }

 private:
  static std::uint32_t n(const std::vector<std::uint32_t>& list) {
    return static_cast<std::uint32_t>(list.size());
  }

  std::vector<std::uint32_t> allowed_by(const Constraint& constraint) const {
    TokenBits bits(vocabulary_.n_words(), ~std::uint32_t{0});
    constraint.mask(bits);
    std::vector<std::uint32_t> allowed;
    for (std::uint32_t i = 0; i < vocabulary_.size(); ++i)
      if (bits[i / 32] >> i % 32 & 1) allowed.push_back(i);
    return allowed;
  }

  // Of some tokens, whatever the mask says.
  bool agrees(const Constraint& constraint, const std::vector<std::uint32_t>& allowed) {
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t token = random_.below(static_cast<std::uint32_t>(vocabulary_.size()));
      const bool is_allowed = std::ranges::binary_search(allowed, token);
      Constraint tried = constraint;
      if (tried.accept(static_cast<std::int32_t>(token)) != is_allowed) return false;
    }
    return true;
  }

  // One that may lead to the end: what closes most often, in a text or outside.
  std::uint32_t closing(const std::vector<std::uint32_t>& allowed) {
    std::vector<std::uint32_t> closers;
    for (const std::uint32_t token : allowed) {
      if (vocabulary_.ends_turn(token)) return token;
      const std::string_view text = vocabulary_.bytes(token);
      if (text == "\"" || text == "}" || text == "]" || text == "0") closers.push_back(token);
    }
    const auto& some = closers.empty() || random_.chance(0.1) ? allowed : closers;
    return some[random_.below(n(some))];
  }

  const Vocabulary& vocabulary_;
  pc::test::Random random_;
};

}  // namespace pc::constrain::test
