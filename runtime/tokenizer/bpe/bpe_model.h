// A byte-pair encoding: its vocabulary and merges, as tokenizer.json ("model" of
// type BPE) or a GGUF file has them, and the tokens of one word.
//
// An owner, immutable after load but for what it remembers of its own entries; threads: const
// methods from any thread, with a workspace for each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/bpe_merges.h"
#include "runtime/tokenizer/text/added_tokens.h"

namespace pc {

class BpeModel {
 public:
  // The control tokens of `added` are never the result of encoding a word.
  // Errors: kUnsupported, kCorrupt, naming the field.
  static Result<BpeModel> from_json(JsonView model, const std::vector<AddedToken>& added);

  // The same from lists: [id] entries, nothing where no entry has the id, and
  // merges, "a b", the first the earliest. Errors: kCorrupt, naming the entry as
  // "tokens[7]" or "merges[7]".
  struct Flags {
    bool ignore_merges = false;           // a word that is an entry is that entry
    bool byte_fallback = false;           // what no entry spells is written by entries "<0x0A>"
    std::optional<TokenId> unknown = {};  // what stands for the rest, once for neighbours
  };
  static Result<BpeModel> from_lists(std::vector<std::optional<std::string>> pieces,
                                     std::span<const std::string_view> merges, const Flags& flags,
                                     const std::vector<AddedToken>& added);

  // Appends the tokens of a word of valid UTF-8. A character that the vocabulary cannot express is
  // left out. Errors: the watch's.
  struct Workspace {
    BpeMerges::Workspace merges;
    Tokens symbols;
  };
  Status encode_word(std::string_view word, TextWatch& watch, Workspace* workspace,
                     Tokens* out) const;

  // Does the vocabulary express this character?
  bool spells(std::string_view character) const;

  // How many bytes of a word one of its tokens stands for, where `rest` is the word
  // from the token's first byte on, or from characters before it that were left out. More than
  // 0, unless rest is empty.
  std::size_t extent(TokenId id, std::string_view rest) const;

  // [id] entries as spelled; nothing where no entry has the id.
  const std::vector<std::optional<std::string>>& pieces() const { return pieces_; }
  std::optional<TokenId> find(std::string_view piece) const;
  std::optional<TokenId> unknown() const { return unknown_; }
  bool byte_fallback() const { return byte_fallback_; }

  // Everything that decides about ids.
  void hash_into(Sha256* hash) const;

  // The byte of an entry "<0x0A>".
  static std::optional<char> fallback_byte(std::string_view piece);

 private:
  Status read_flags(JsonView model);
  Status read_vocab(JsonView vocab);
  void name_characters(const std::vector<AddedToken>& added);
  Status read_merges(JsonView list);
  using MergeParts = std::pair<std::string_view, std::string_view>;
  // False where the vocabulary does not have the three tokens.
  bool add_merge(MergeParts parts, std::vector<BpeMerges::Merge>* merges, std::size_t rank) const;
  void append_symbols(std::string_view word, Tokens* symbols) const;
  bool append_bytes_of(std::string_view bytes, Tokens* symbols) const;
  std::size_t extent_with_gaps(std::string_view piece, std::string_view rest) const;
  TokenId id_of(char32_t character) const;
  bool is_control(TokenId id) const { return is_control_[static_cast<std::size_t>(id)]; }
  std::optional<TokenId> known_whole(std::string_view word) const;
  void remember_whole(std::string_view word, const Tokens& symbols) const;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::vector<std::optional<std::string>> pieces_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
  std::vector<bool> is_control_;  // [id] never text
  // [id] Is it known that the merges make this token of its own text? Most words of a text are
  // such, and need no merging then.
  mutable std::vector<std::atomic<bool>> whole_;
  BpeMerges merges_;
  std::array<TokenId, 0x400> low_ids_{};            // of characters up to Greek, among them the
                                                    // whole byte-level alphabet; -1: none
  std::unordered_map<char32_t, TokenId> high_ids_;  // of all others
  std::array<TokenId, 256> byte_ids_{};             // of "<0xNN>"; -1: none
  std::optional<TokenId> unknown_;
  bool byte_fallback_ = false, fuse_unk_ = false, ignore_merges_ = false;
};

}  // namespace pc
