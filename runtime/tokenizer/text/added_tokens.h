// The tokens that a model's files add beside its vocabulary ("<s>",
// "<|im_start|>"), and finding their spellings in a string.
//
// A value, filled and then sealed; threads: const methods from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pml/turns/text_encoder.h"  // TokenId

namespace pc {

// Longest token that text is searched for; published ones have up to 31 bytes.
// Bounds what a hostile file can make of each byte of a text.
inline constexpr std::size_t kMaxTextTokenBytes = 128;

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;  // the publisher's word for a control token; hidden in answers
  bool lstrip = false;   // swallows the white space in front of it
  bool rstrip = false;   // swallows the white space behind it
  bool control = false;  // recognised in markup alone; the others in text too
};

// Is a token with this flag and spelling a control token? Flags alone would not
// do: publishers have left turns' markers, <|im_start|> and the like, without one.
bool is_control(bool special, std::string_view content);

class AddedTokens {
 public:
  // A later token with the spelling of an earlier one is ignored.
  void add(AddedToken token);
  // To be called when all are added, before next().
  void seal();

  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* find(std::string_view content) const;

  // The first spelling that starts in text[from, to), the longest where several
  // start there; nullptr when there is none. *at is where it starts. A control
  // token is passed over unless it ends at or before control_end.
  const AddedToken* next(std::string_view text, std::size_t from, std::size_t to,
                         std::size_t control_end, std::size_t* at) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t at,
                               std::size_t control_end) const;

  std::vector<AddedToken> tokens_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> index_;  // -> tokens_
  std::vector<std::uint32_t> sorted_;  // -> tokens_, by content
  std::array<bool, 256> starts_{};     // does a content start with this byte?
};

}  // namespace pc
