// The tokens that a model's files add beside its vocabulary ("<s>",
// "<|im_start|>"), and finding their spellings in a string.
//
// A value; threads: const methods from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pml/text_encoder.h"  // TokenId

namespace pc {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;  // the publisher's word for a control token
  bool lstrip = false;   // swallows the white space in front of it
  bool rstrip = false;   // swallows the white space behind it
};

class AddedTokens {
 public:
  // A later token with the spelling of an earlier one is ignored.
  void add(AddedToken token);

  bool empty() const { return tokens_.empty(); }
  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* find(std::string_view content) const;

  // The first spelling in text at or after `from`, the longest where several
  // start there; nullptr when there is none. *at is where it starts.
  const AddedToken* next(std::string_view text, std::size_t from, std::size_t* at) const;

 private:
  std::vector<AddedToken> tokens_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> index_;  // -> tokens_
  std::vector<std::size_t> lengths_;  // of the contents, longest first, no repeats
  std::array<bool, 256> starts_{};    // does a content start with this byte?
};

}  // namespace pc
