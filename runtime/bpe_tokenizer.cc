#include "runtime/bpe_tokenizer.h"

#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/bpe_merges.h"
#include "runtime/byte_level.h"
#include "runtime/pretokenizer.h"
#include "runtime/text_normalizer.h"
#include "runtime/utf8.h"

namespace pc {
namespace {

constexpr std::size_t kMaxMerges = std::size_t{2} << 20;
constexpr TokenId kNone = -1;
constexpr std::string_view kSpaceMark = "▁";

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// The byte of "<0x0A>".
std::optional<char> fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const auto end = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  if (end.ec != std::errc() || end.ptr != piece.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

std::string bytes_of_byte_level(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const auto byte = from_byte_level(utf8_next(piece, &at));
    if (!byte) return std::string(piece);  // not of the alphabet: stands for itself
    bytes.push_back(*byte);
  }
  return bytes;
}

std::string bytes_of_marked(std::string_view piece, bool byte_fallback) {
  if (byte_fallback) {
    if (const auto byte = fallback_byte(piece)) return std::string(1, *byte);
  }
  std::string bytes(piece);
  replace_all(kSpaceMark, " ", &bytes);
  return bytes;
}

class BpeTokenizer final : public Tokenizer {
 public:
  Status load(JsonView root, const TokenizerConfig& config) {
    PC_TRY(const JsonView model, root.member("model"));
    PC_CHECK_OK(read_model_flags(model));
    PC_TRY(normalizer_, TextNormalizer::from_json(root.find("normalizer")));
    PC_TRY(pretokenizer_, Pretokenizer::from_json(root.find("pre_tokenizer")));
    if (const auto decoder = root.find("decoder")) PC_CHECK_OK(check_decoder(*decoder));
    PC_CHECK_OK(read_vocab(model));
    PC_TRY(std::vector<AddedToken> added, read_added(root, config));
    name_text_vocab(added);
    PC_TRY(const JsonView merges, model.member("merges"));
    PC_CHECK_OK(read_merges(merges));
    PC_CHECK_OK(read_unk(model));
    for (const AddedToken& token : added) add_token(token);

    facts_.adds_prefix_space = normalizer_.adds_prefix() || pretokenizer_.adds_prefix();
    prefix_after_added_ = normalizer_.adds_prefix() || pretokenizer_.prefix_after_added();
    facts_.description = std::string(pretokenizer_.is_byte_level() ? "byte-level bpe, " : "bpe, ") +
                         std::to_string(bytes_.size()) + " tokens";
    bool add_bos = false;
    if (const auto rules = root.find("post_processor")) PC_CHECK_OK(read_template(*rules, &add_bos));
    return complete(config, add_bos, hash_of(root, model));
  }

 private:
  Status read_model_flags(JsonView model) {
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

  Status read_vocab(JsonView model) {
    PC_TRY(const JsonView vocab, model.member("vocab"));
    if (vocab.size() == 0) return vocab.error(Code::kCorrupt, "holds no tokens");
    return vocab.for_each_member([this](std::string_view piece, JsonView value) -> Status {
      PC_TRY(const std::int64_t id, value.integer_in(0, kMaxVocabSize - 1));
      const auto i = static_cast<std::size_t>(id);
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

  // Those of tokenizer.json first; tokenizer_config.json may name more.
  Result<std::vector<AddedToken>> read_added(JsonView root, const TokenizerConfig& config) {
    std::vector<AddedToken> added;
    const auto list = root.find("added_tokens");
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      if (!list->is_array()) return list->error(Code::kCorrupt, "is no list");
      PC_TRY(const JsonView id_field, list->at(i).member("id"));
      PC_TRY(const std::int64_t id, id_field.integer());
      PC_TRY(AddedToken token, read_added_token(list->at(i), id));
      added.push_back(std::move(token));
    }
    added.insert(added.end(), config.added.begin(), config.added.end());
    for (AddedToken& token : added) {
      token.special = token.special || config.specials.contains(token.content);
      const auto known = ids_.find(token.content);
      if (known != ids_.end() && known->second != token.id) {
        return root.error(Code::kMismatch,
                          "the added token \"" + token.content + "\" has the id " +
                              std::to_string(token.id) + ", but " + std::to_string(known->second) +
                              " in the vocabulary");
      }
    }
    return added;
  }

  // What text may become: everything but special tokens.
  void name_text_vocab(const std::vector<AddedToken>& added) {
    is_special_.assign(pieces_.size(), false);
    for (const AddedToken& token : added) {
      const auto i = static_cast<std::size_t>(token.id);
      if (token.special && i < pieces_.size()) is_special_[i] = true;
    }
    low_ids_.fill(kNone);
    byte_ids_.fill(kNone);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::string_view piece = pieces_[i] ? std::string_view(*pieces_[i]) : "";
      bytes_.push_back(pretokenizer_.is_byte_level() ? bytes_of_byte_level(piece)
                                                     : bytes_of_marked(piece, byte_fallback_));
      hidden_.push_back(piece.empty());
      if (piece.empty() || is_special_[i]) continue;
      const auto id = static_cast<TokenId>(i);
      if (const auto byte = fallback_byte(piece)) byte_ids_[static_cast<unsigned char>(*byte)] = id;
      if (piece.size() != utf8_length(piece[0])) continue;
      std::size_t at = 0;
      const char32_t character = utf8_next(piece, &at);
      (character < low_ids_.size() ? low_ids_[character] : high_ids_[character]) = id;
    }
  }

  Status read_merges(JsonView list) {
    if (!list.is_array() || list.size() > kMaxMerges) {
      return list.error(Code::kCorrupt, "is no list of at most 2,097,152 merges");
    }
    std::vector<BpeMerges::Merge> merges;
    merges.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      PC_TRY(const auto parts, read_merge(list.at(i)));
      const auto left = ids_.find(parts.first), right = ids_.find(parts.second);
      const auto merged = ids_.find(std::string(parts.first).append(parts.second));
      if (left == ids_.end() || right == ids_.end() || merged == ids_.end()) {
        return list.at(i).error(Code::kCorrupt, "merges tokens that the vocabulary does not have");
      }
      if (is_special_[static_cast<std::size_t>(merged->second)]) continue;
      merges.push_back({left->second, right->second, merged->second, static_cast<std::uint32_t>(i)});
    }
    merges_ = BpeMerges(std::move(merges), pieces_.size());
    return ok();
  }

  // "a b" or ["a", "b"].
  static Result<std::pair<std::string_view, std::string_view>> read_merge(JsonView merge) {
    if (merge.is_array() && merge.size() == 2) {
      PC_TRY(const std::string_view left, merge.at(0).string());
      PC_TRY(const std::string_view right, merge.at(1).string());
      return std::pair(left, right);
    }
    PC_TRY(const std::string_view text, merge.string());
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      return merge.error(Code::kCorrupt, "is not two tokens with a space between");
    }
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }

  Status read_unk(JsonView model) {
    PC_TRY(const std::string unk, model.string_or("unk_token", ""));
    if (unk.empty()) return ok();
    const auto id = ids_.find(unk);
    if (id == ids_.end()) return model.error(Code::kCorrupt, "unk_token is not in the vocabulary");
    facts_.unk = unknown_ = id->second;
    return ok();
  }

  // How tokens become text again follows from the vocabulary's alphabet; a decoder
  // that says something else is refused.
  Status check_decoder(JsonView decoder) const {
    PC_TRY(const JsonView type_field, decoder.member("type"));
    PC_TRY(const std::string_view type, type_field.string());
    if (type == "Sequence") {
      PC_TRY(const JsonView list, decoder.member("decoders"));
      if (!list.is_array()) return list.error(Code::kCorrupt, "is no list");
      for (std::size_t i = 0; i < list.size(); ++i) PC_CHECK_OK(check_decoder(list.at(i)));
      return ok();
    }
    const bool byte_level = pretokenizer_.is_byte_level();
    if (type == "ByteLevel" ? byte_level : type == "Fuse") return ok();
    if (!byte_level) {
      if (type == "Metaspace" || type == "Strip") return ok();
      if (type == "ByteFallback" && byte_fallback_) return ok();
      if (type == "Replace") return check_replace(decoder);
    }
    return decoder.error(Code::kUnsupported,
                         "type \"" + std::string(type) + "\" does not fit the pre_tokenizer; " +
                             (byte_level ? "ByteLevel does"
                                         : "Replace, ByteFallback, Fuse, Strip and Metaspace do"));
  }

  static Status check_replace(JsonView decoder) {
    PC_TRY(const JsonView pattern, decoder.member("pattern"));
    PC_TRY(const std::string from, pattern.string_or("String", ""));
    PC_TRY(const std::string to, decoder.string_or("content", ""));
    if (from == kSpaceMark && to == " ") return ok();
    return decoder.error(Code::kUnsupported, "only \"▁\" may be replaced, by a space");
  }

  // BOS stands first where the template of a single text begins with one token.
  Status read_template(JsonView rules, bool* add_bos) {
    PC_TRY(const JsonView type_field, rules.member("type"));
    PC_TRY(const std::string_view type, type_field.string());
    if (type == "ByteLevel") return ok();
    if (type == "Sequence") {
      PC_TRY(const JsonView list, rules.member("processors"));
      if (!list.is_array()) return list.error(Code::kCorrupt, "is no list");
      for (std::size_t i = 0; i < list.size(); ++i) PC_CHECK_OK(read_template(list.at(i), add_bos));
      return ok();
    }
    if (type != "TemplateProcessing") {
      return rules.error(Code::kUnsupported, "type \"" + std::string(type) +
                                                 "\" is not supported; ByteLevel, "
                                                 "TemplateProcessing or a Sequence of them is");
    }
    PC_TRY(const JsonView single, rules.member("single"));
    const auto special_at = [&](std::size_t i) {
      return single.is_array() && i < single.size() ? single.at(i).find("SpecialToken") : std::nullopt;
    };
    const auto first = special_at(0);
    if (!first) return ok();
    if (special_at(1)) return single.error(Code::kUnsupported, "puts two tokens in front of a text");
    PC_TRY(const JsonView id_field, first->member("id"));
    PC_TRY(const std::string_view spelling, id_field.string());
    const auto id = token_to_id(spelling);
    if (!id) return id_field.error(Code::kCorrupt, "names a token that does not exist");
    facts_.bos = *id;
    *add_bos = true;
    return ok();
  }

  Sha256 hash_of(JsonView root, JsonView model) const {
    Sha256 hash;
    hash.field("bpe").field(byte_fallback_).field(fuse_unk_).field(ignore_merges_);
    hash.field(unknown_ ? static_cast<std::uint64_t>(*unknown_) : UINT64_MAX);
    for (const char* field : {"normalizer", "pre_tokenizer"}) {
      const auto rules = root.find(field);
      hash.field(rules ? rules->dump() : "");
    }
    hash.field(model.find("merges")->dump());
    for (const auto& piece : pieces_) hash.field(piece.has_value()).field(piece.value_or(""));
    return hash;
  }

  Status encode_stretch(std::string_view text, Prefix prefix, Tokens* out) const override {
    const bool with_prefix = prefix == Prefix::kPublished;
    PC_TRY(const Words words, pretokenizer_.split(normalizer_.apply(text, with_prefix), with_prefix));
    BpeMerges::Workspace workspace;
    Tokens symbols;
    std::size_t begin = 0;
    for (const std::uint32_t end : words.ends) {
      const auto word = std::string_view(words.text).substr(begin, end - begin);
      begin = end;
      if (ignore_merges_) {
        const auto whole = ids_.find(word);
        if (whole != ids_.end() && !is_special_[static_cast<std::size_t>(whole->second)]) {
          out->push_back(whole->second);
          continue;
        }
      }
      symbols.clear();
      PC_CHECK_OK(append_symbols(word, &symbols));
      merges_.apply(&symbols, &workspace);
      out->insert(out->end(), symbols.begin(), symbols.end());
    }
    return ok();
  }

  // The characters of a word as tokens; what the vocabulary lacks as its bytes,
  // else as the unknown token.
  Status append_symbols(std::string_view word, Tokens* symbols) const {
    for (std::size_t at = 0, begin = 0; at < word.size(); begin = at) {
      const char32_t character = utf8_next(word, &at);
      const TokenId id = id_of(character);
      if (id != kNone) {
        symbols->push_back(id);
        continue;
      }
      const std::string_view bytes = word.substr(begin, at - begin);
      if (byte_fallback_ && append_bytes_of(bytes, symbols)) continue;
      if (!unknown_) {
        return error(Code::kUnsupported, "the tokenizer's vocabulary cannot express \"" +
                                             std::string(bytes) + "\" and has no unknown token");
      }
      if (!fuse_unk_ || symbols->empty() || symbols->back() != *unknown_) {
        symbols->push_back(*unknown_);
      }
    }
    return ok();
  }

  bool append_bytes_of(std::string_view bytes, Tokens* symbols) const {
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

  TokenId id_of(char32_t character) const {
    if (character < low_ids_.size()) return low_ids_[character];
    const auto id = high_ids_.find(character);
    return id == high_ids_.end() ? kNone : id->second;
  }

  std::optional<TokenId> find_piece(std::string_view piece) const override {
    const auto id = ids_.find(piece);
    return id == ids_.end() ? std::nullopt : std::optional<TokenId>(id->second);
  }

  TextNormalizer normalizer_;
  Pretokenizer pretokenizer_;
  BpeMerges merges_;
  std::vector<std::optional<std::string>> pieces_;  // [id] as spelled, if an entry has the id
  std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>> ids_;
  std::vector<bool> is_special_;     // [id] never text
  std::array<TokenId, 0x400> low_ids_{};                 // characters below it: Latin to Greek,
                                                         // the byte-level alphabet among them
  std::unordered_map<char32_t, TokenId> high_ids_;       // all others
  std::array<TokenId, 256> byte_ids_{};                  // of "<0xNN>"
  std::optional<TokenId> unknown_;
  bool byte_fallback_ = false, fuse_unk_ = false, ignore_merges_ = false;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(const JsonDocument& file,
                                                      const TokenizerConfig& config) {
  auto tokenizer = std::make_unique<BpeTokenizer>();
  PC_CHECK_OK(tokenizer->load(file.root(), config));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Result<std::unique_ptr<Tokenizer>> load_bpe_tokenizer(const std::string& path,
                                                      const TokenizerConfig& config) {
  PC_TRY(const JsonDocument file, JsonDocument::read_file(path));
  return make_bpe_tokenizer(file, config);
}

}  // namespace pc
