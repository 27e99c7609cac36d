#include "runtime/tokenizer/bpe/bpe_model.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "runtime/tokenizer/text/tokenizer_config.h"  // kMaxVocabSize, kMaxTokenBytes

namespace pc {
namespace {

constexpr std::size_t kMaxMerges = std::size_t{2} << 20;
// Ids may have holes, where added tokens stand; a table over all of them must
// not be far larger than the file that asks for it.
constexpr std::size_t kMaxHoles = 65536;
constexpr TokenId kNone = -1;

using MergeParts = std::pair<std::string_view, std::string_view>;

constexpr const char* kNotTwo = "is not two tokens with a space between";
constexpr const char* kNoSuchTokens = "merges tokens that the vocabulary does not have";

// "a b".
std::optional<MergeParts> split_merge(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return MergeParts(text.substr(0, space), text.substr(space + 1));
}

// "a b" or ["a", "b"].
Result<MergeParts> read_merge(JsonView merge) {
  if (merge.is_array() && merge.size() == 2) {
    PC_TRY(const std::string_view left, merge.at(0).string());
    PC_TRY(const std::string_view right, merge.at(1).string());
    return MergeParts(left, right);
  }
  PC_TRY(const std::string_view text, merge.string());
  const auto parts = split_merge(text);
  if (!parts) return merge.error(Code::kCorrupt, kNotTwo);
  return *parts;
}

Error list_error(const char* list, std::size_t i, std::string_view text, std::string_view what) {
  return error(Code::kCorrupt, std::string(list) + "[" + std::to_string(i) + "], \"" +
                                   one_line(text.substr(0, 64)) + "\": " + std::string(what));
}

}  // namespace

Result<BpeModel> BpeModel::from_json(JsonView model, const std::vector<AddedToken>& added) {
  BpeModel out;
  PC_CHECK_OK(out.read_flags(model));
  PC_TRY(const JsonView vocab, model.member("vocab"));
  PC_CHECK_OK(out.read_vocab(vocab));
  out.name_characters(added);
  PC_TRY(const JsonView merges, model.member("merges"));
  PC_CHECK_OK(out.read_merges(merges));
  PC_TRY(const std::string unk, model.string_or("unk_token", ""));
  if (unk.empty()) return out;
  out.unknown_ = out.find(unk);
  if (!out.unknown_) return model.error(Code::kCorrupt, "unk_token is not in the vocabulary");
  return out;
}

Result<BpeModel> BpeModel::from_lists(std::vector<std::optional<std::string>> pieces,
                                      std::span<const std::string_view> merges, const Flags& flags,
                                      const std::vector<AddedToken>& added) {
  BpeModel out;
  out.ignore_merges_ = flags.ignore_merges;
  out.byte_fallback_ = flags.byte_fallback;
  out.fuse_unk_ = flags.unknown.has_value();
  out.unknown_ = flags.unknown;
  out.pieces_ = std::move(pieces);
  for (std::size_t i = 0; i < out.pieces_.size(); ++i) {
    if (!out.pieces_[i]) continue;
    const auto [other, is_new] = out.ids_.emplace(*out.pieces_[i], static_cast<TokenId>(i));
    if (is_new) continue;
    return list_error("tokens", i, *out.pieces_[i],
                      "is also tokens[" + std::to_string(other->second) + "]");
  }
  out.name_characters(added);
  if (merges.size() > kMaxMerges) return error(Code::kUnsupported, "more than 2,097,152 merges");
  std::vector<BpeMerges::Merge> found;
  found.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto parts = split_merge(merges[i]);
    if (!parts) return list_error("merges", i, merges[i], kNotTwo);
    if (!out.add_merge(*parts, &found, i)) return list_error("merges", i, merges[i], kNoSuchTokens);
  }
  out.merges_ = BpeMerges(std::move(found), out.pieces_.size());
  return out;
}

Status BpeModel::read_flags(JsonView model) {
  PC_TRY(const std::string type, model.string_or("type", "BPE"));
  if (type != "BPE") {
    return model.error(Code::kUnsupported, "type \"" + type + "\" is not supported; BPE is");
  }
  PC_TRY(const double dropout, model.number_or("dropout", 0));
  if (dropout != 0) return model.error(Code::kUnsupported, "dropout other than 0");
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    PC_TRY(const std::string text, model.string_or(field, ""));
    if (!text.empty()) return model.error(Code::kUnsupported, std::string(field) + " is not empty");
  }
  PC_TRY(byte_fallback_, model.boolean_or("byte_fallback", false));
  PC_TRY(fuse_unk_, model.boolean_or("fuse_unk", false));
  PC_TRY(ignore_merges_, model.boolean_or("ignore_merges", false));
  return ok();
}

Status BpeModel::read_vocab(JsonView vocab) {
  if (vocab.size() == 0) return vocab.error(Code::kCorrupt, "holds no tokens");
  const std::size_t end = 2 * vocab.size() + kMaxHoles;
  return vocab.for_each_member([&](std::string_view piece, JsonView value) -> Status {
    PC_TRY(const std::int64_t id, value.integer_in(0, kMaxVocabSize - 1));
    const auto i = static_cast<std::size_t>(id);
    if (i >= end) {
      return value.error(Code::kCorrupt,
                         "its id " + std::to_string(id) + " is far above the number of tokens");
    }
    if (piece.size() > kMaxTokenBytes) {
      return value.error(Code::kCorrupt, "a token of more than 4096 bytes");
    }
    if (i >= pieces_.size()) pieces_.resize(i + 1);
    if (pieces_[i]) {
      return value.error(Code::kCorrupt, "its id " + std::to_string(id) + " is also that of \"" +
                                             *pieces_[i] + "\"");
    }
    pieces_[i] = piece;
    ids_.emplace(piece, static_cast<TokenId>(id));
    return ok();
  });
}

// What text may become: everything but control tokens.
void BpeModel::name_characters(const std::vector<AddedToken>& added) {
  is_control_.assign(pieces_.size(), false);
  whole_ = std::vector<std::atomic<bool>>(pieces_.size());
  for (const AddedToken& token : added) {
    const auto i = static_cast<std::size_t>(token.id);
    if (token.control && i < pieces_.size()) is_control_[i] = true;
  }
  low_ids_.fill(kNone);
  byte_ids_.fill(kNone);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i] || pieces_[i]->empty() || is_control_[i]) continue;
    const std::string_view piece = *pieces_[i];
    const auto id = static_cast<TokenId>(i);
    if (const auto byte = fallback_byte(piece)) byte_ids_[static_cast<unsigned char>(*byte)] = id;
    if (piece.size() != utf8_length(piece[0])) continue;
    std::size_t at = 0;
    const char32_t character = utf8_next(piece, &at);
    (character < low_ids_.size() ? low_ids_[character] : high_ids_[character]) = id;
  }
}

Status BpeModel::read_merges(JsonView list) {
  if (!list.is_array() || list.size() > kMaxMerges) {
    return list.error(Code::kCorrupt, "is no list of at most 2,097,152 merges");
  }
  std::vector<BpeMerges::Merge> merges;
  merges.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    PC_TRY(const auto parts, read_merge(list.at(i)));
    if (!add_merge(parts, &merges, i)) return list.at(i).error(Code::kCorrupt, kNoSuchTokens);
  }
  merges_ = BpeMerges(std::move(merges), pieces_.size());
  return ok();
}

bool BpeModel::add_merge(MergeParts parts, std::vector<BpeMerges::Merge>* merges,
                         std::size_t rank) const {
  const auto left = ids_.find(parts.first), right = ids_.find(parts.second);
  const auto merged = ids_.find(std::string(parts.first).append(parts.second));
  if (left == ids_.end() || right == ids_.end() || merged == ids_.end()) return false;
  if (is_control(merged->second)) return true;  // text never becomes it
  merges->push_back(
      {left->second, right->second, merged->second, static_cast<std::uint32_t>(rank)});
  return true;
}

Status BpeModel::encode_word(std::string_view word, TextWatch& watch, Workspace* workspace,
                             Tokens* out) const {
  if (const auto whole = known_whole(word)) {
    out->push_back(*whole);
    return ok();
  }
  Tokens& symbols = workspace->symbols;
  symbols.clear();
  append_symbols(word, &symbols);
  PC_CHECK_OK(merges_.apply(&symbols, watch, &workspace->merges));
  remember_whole(word, symbols);
  out->insert(out->end(), symbols.begin(), symbols.end());
  return ok();
}

std::optional<TokenId> BpeModel::known_whole(std::string_view word) const {
  const auto id = find(word);
  if (!id || is_control(*id)) return std::nullopt;
  const bool is_whole =
      ignore_merges_ || whole_[static_cast<std::size_t>(*id)].load(std::memory_order_relaxed);
  return is_whole ? id : std::nullopt;
}

// symbols: all that became of the word.
void BpeModel::remember_whole(std::string_view word, const Tokens& symbols) const {
  if (symbols.size() != 1) return;
  const auto id = find(word);
  if (id && *id == symbols.front())
    whole_[static_cast<std::size_t>(*id)].store(true, std::memory_order_relaxed);
}

// The characters of a word as tokens; what the vocabulary lacks as its bytes,
// else as the unknown token, else not at all.
void BpeModel::append_symbols(std::string_view word, Tokens* symbols) const {
  for (std::size_t at = 0, begin = 0; at < word.size(); begin = at) {
    const char32_t character = utf8_next(word, &at);
    const TokenId id = id_of(character);
    if (id != kNone) {
      symbols->push_back(id);
      continue;
    }
    const std::string_view bytes = word.substr(begin, at - begin);
    if (byte_fallback_ && append_bytes_of(bytes, symbols)) continue;
    if (!unknown_) continue;
    if (!fuse_unk_ || symbols->empty() || symbols->back() != *unknown_) {
      symbols->push_back(*unknown_);
    }
  }
}

bool BpeModel::spells(std::string_view character) const {
  std::size_t end = 0;
  if (unknown_ || id_of(utf8_next(character, &end)) != kNone) return true;
  return byte_fallback_ && std::ranges::all_of(character, [this](char byte) {
           return byte_ids_[static_cast<unsigned char>(byte)] != kNone;
         });
}

// The bytes of rest that the piece stands for, those of characters that were left out before and
// within it among them; 0 where it stands for something else.
std::size_t BpeModel::extent_with_gaps(std::string_view piece, std::string_view rest) const {
  std::size_t end = 0;
  while (end < rest.size() && !piece.empty()) {
    const std::string_view character = rest.substr(end, utf8_length(rest[end]));
    if (piece.starts_with(character))
      piece.remove_prefix(character.size());
    else if (spells(character))
      return 0;
    end += character.size();
  }
  return piece.empty() ? end : 0;
}

bool BpeModel::append_bytes_of(std::string_view bytes, Tokens* symbols) const {
  const std::size_t n = symbols->size();
  for (const char byte : bytes) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNone) {
      symbols->resize(n);
      return false;
    }
    symbols->push_back(id);
  }
  return true;
}

// A byte of a character that the vocabulary lacks, or the unknown token for one or,
// fused, for several; else the entry as spelled.
std::size_t BpeModel::extent(TokenId id, std::string_view rest) const {
  if (rest.empty()) return 0;
  const std::string& piece = *pieces_[static_cast<std::size_t>(id)];
  if (rest.starts_with(piece)) return piece.size();
  if (!unknown_ && !byte_fallback_) return std::max<std::size_t>(1, extent_with_gaps(piece, rest));
  if (id != unknown_) return 1;
  std::size_t end = utf8_length(rest[0]);
  while (fuse_unk_ && end < rest.size()) {
    std::size_t next = end;
    if (id_of(utf8_next(rest, &next)) != kNone) break;
    end = next;
  }
  return std::min(end, rest.size());
}

TokenId BpeModel::id_of(char32_t character) const {
  if (character < low_ids_.size()) return low_ids_[character];
  const auto id = high_ids_.find(character);
  return id == high_ids_.end() ? kNone : id->second;
}

std::optional<TokenId> BpeModel::find(std::string_view piece) const {
  const auto id = ids_.find(piece);
  return id == ids_.end() ? std::nullopt : std::optional<TokenId>(id->second);
}

void BpeModel::hash_into(Sha256* hash) const {
  hash->field(byte_fallback_).field(fuse_unk_).field(ignore_merges_);
  hash->field(unknown_ ? static_cast<std::uint64_t>(*unknown_) : UINT64_MAX);
  for (const auto& piece : pieces_) hash->field(piece.has_value()).field(piece.value_or(""));
  for (const BpeMerges::Merge& merge : merges_.all()) {
    hash->field(static_cast<std::uint64_t>(merge.left))
        .field(static_cast<std::uint64_t>(merge.right));
    hash->field(static_cast<std::uint64_t>(merge.merged)).field(merge.rank);
  }
}

std::optional<char> BpeModel::fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const auto end = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  if (end.ec != std::errc() || end.ptr != piece.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace pc
