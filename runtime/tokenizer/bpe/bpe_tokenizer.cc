#include "runtime/tokenizer/bpe/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "runtime/tokenizer/bpe/bpe_model.h"
#include "runtime/tokenizer/bpe/byte_level.h"
#include "runtime/tokenizer/bpe/pretokenizer.h"
#include "runtime/tokenizer/text/text_normalizer.h"

namespace pc {
namespace {

constexpr std::string_view kSpaceMark = "▁";

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
    if (const auto byte = BpeModel::fallback_byte(piece)) return std::string(1, *byte);
  }
  std::string bytes(piece);
  replace_all(kSpaceMark, " ", &bytes);
  return bytes;
}

class BpeTokenizer final : public Tokenizer {
 public:
  Status load(JsonView root, const TokenizerConfig& config) {
    BpeParts parts{root.find("normalizer"), root.find("pre_tokenizer"), {}, {}};
    PC_TRY(parts.added, read_added(root, config));
    PC_TRY(const JsonView model, root.member("model"));
    PC_TRY(parts.model, BpeModel::from_json(model, parts.added));
    PC_CHECK_OK(check_added(root, parts));
    PC_TRY(Sha256 hash, take(std::move(parts)));
    if (const auto decoder = root.find("decoder")) PC_CHECK_OK(check_decoder(*decoder));
    bool add_bos = false;
    if (const auto rules = root.find("post_processor"))
      PC_CHECK_OK(read_template(*rules, &add_bos));
    complete(config, add_bos, std::move(hash));
    return ok();
  }

  Status load(BpeParts parts, const TokenizerConfig& config) {
    PC_TRY(Sha256 hash, take(std::move(parts)));
    complete(config, /*add_bos_by_default=*/false, std::move(hash));
    return ok();
  }

 private:
  // Returns a hash of all that decides about ids.
  Result<Sha256> take(BpeParts parts) {
    PC_TRY(normalizer_, TextNormalizer::from_json(parts.normalizer));
    PC_TRY(pretokenizer_, Pretokenizer::from_json(parts.pre_tokenizer));
    model_ = std::move(parts.model);
    find_lacks();
    for (const auto& piece : model_.pieces()) {
      bytes_.push_back(piece ? bytes_of(*piece) : "");
      hidden_.push_back(!piece.has_value());
    }
    for (const AddedToken& token : parts.added) add_token(token);
    facts_.unk = model_.unknown();

    facts_.adds_prefix_space = normalizer_.adds_prefix() || pretokenizer_.adds_prefix();
    prefix_after_added_ = normalizer_.adds_prefix() || pretokenizer_.prefix_after_added();
    facts_.description = std::string(pretokenizer_.is_byte_level() ? "byte-level bpe, " : "bpe, ") +
                         std::to_string(bytes_.size()) + " tokens";
    Sha256 hash;
    hash.field("bpe");
    for (const auto& rules : {parts.normalizer, parts.pre_tokenizer}) {
      hash.field(rules ? rules->dump() : "");
    }
    model_.hash_into(&hash);
    return hash;
  }

  // Those of tokenizer.json first; tokenizer_config.json may name more.
  static Result<std::vector<AddedToken>> read_added(JsonView root, const TokenizerConfig& config) {
    std::vector<AddedToken> added;
    const auto list = root.find("added_tokens");
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      if (!list->is_array()) return list->error(Code::kCorrupt, "is no list");
      PC_TRY(const JsonView id_field, list->at(i).member("id"));
      PC_TRY(const std::int64_t id, id_field.integer());
      PC_TRY(AddedToken token, read_added_token(list->at(i), id));
      if (id < config.n_rows) added.push_back(std::move(token));
    }
    added.insert(added.end(), config.added.begin(), config.added.end());
    for (AddedToken& token : added) {
      token.special = token.special || config.specials.contains(token.content);
      token.control = is_control(token.special, token.content);
    }
    return added;
  }

  static Status check_added(JsonView root, const BpeParts& parts) {
    for (const AddedToken& token : parts.added) {
      const auto known = parts.model.find(token.content);
      if (!known || *known == token.id) continue;
      return root.error(Code::kMismatch, "the added token \"" + token.content + "\" has the id " +
                                             std::to_string(token.id) + ", but " +
                                             std::to_string(*known) + " in the vocabulary");
    }
    return ok();
  }

  std::string bytes_of(std::string_view piece) const {
    return pretokenizer_.is_byte_level() ? bytes_of_byte_level(piece)
                                         : bytes_of_marked(piece, model_.byte_fallback());
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
      if (type == "ByteFallback" && model_.byte_fallback()) return ok();
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

  // BOS stands first where the template of a single text begins with one token; what it ends with
  // stands behind texts that are embedded.
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
      return single.is_array() && i < single.size() ? single.at(i).find("SpecialToken")
                                                    : std::nullopt;
    };
    const auto first = special_at(0);
    if (first && special_at(1))
      return single.error(Code::kUnsupported, "puts two tokens in front of a text");
    if (first) {
      PC_TRY(facts_.bos, read_special(*first));
      *add_bos = true;
    }
    facts_.text_end.clear();
    for (std::size_t i = 1; i < single.size(); ++i) {
      if (const auto behind = special_at(i)) {
        PC_TRY(const TokenId id, read_special(*behind));
        facts_.text_end.push_back(id);
      }
    }
    return ok();
  }

  // {"id": "</s>", "type_id": 0}
  Result<TokenId> read_special(JsonView token) const {
    PC_TRY(const JsonView id_field, token.member("id"));
    PC_TRY(const std::string_view spelling, id_field.string());
    const auto id = token_to_id(spelling);
    if (!id) return id_field.error(Code::kCorrupt, "names a token that does not exist");
    return *id;
  }

  std::optional<std::string_view> unspelled(std::string_view text) const override {
    const auto lacks = [this](char byte) { return lacks_[static_cast<unsigned char>(byte)]; };
    for (std::size_t at = 0;;) {
      const auto found =
          std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), lacks);
      if (found == text.end()) return std::nullopt;
      std::size_t begin = static_cast<std::size_t>(found - text.begin());
      while (begin > at && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
      at = std::min(text.size(), begin + utf8_length(text[begin]));
      const std::string_view character = text.substr(begin, at - begin);
      if (pretokenizer_.is_byte_level() || !model_.spells(character)) return character;
    }
  }

  // Which bytes no token spells; where characters are no bytes in the vocabulary, all of them.
  void find_lacks() {
    if (model_.unknown()) return;
    for (std::size_t byte = 0; byte < lacks_.size(); ++byte) {
      std::string mapped;
      const char c = static_cast<char>(byte);
      if (pretokenizer_.is_byte_level()) to_byte_level({&c, 1}, &mapped);
      lacks_[byte] = mapped.empty() || !model_.spells(mapped);
    }
  }

  Status encode_stretch(std::string_view text, Prefix prefix, Cuts cuts, TextWatch& watch,
                        Tokens* out) const override {
    const bool with_prefix = prefix == Prefix::kPublished;
    std::string normalised = normalizer_.apply(text, with_prefix, cuts);
    if (!watch.steps(text.size())) return watch.stopped();
    PC_TRY(const Words words, pretokenizer_.split(std::move(normalised), with_prefix, cuts));
    if (!watch.steps(text.size())) return watch.stopped();
    BpeModel::Workspace workspace;
    const std::size_t n_before = out->size();
    std::size_t begin = 0;
    for (const std::uint32_t end : words.ends) {
      const auto word = std::string_view(words.text).substr(begin, end - begin);
      const std::size_t first = out->size();
      PC_CHECK_OK(model_.encode_word(word, watch, &workspace, out));
      if (!watch.done(word.size())) return watch.stopped();
      cuts = count_before_cuts(word, begin, std::span(*out).subspan(first), first - n_before, cuts);
      begin = end;
    }
    for (std::size_t& cut : cuts) cut = out->size() - n_before;
    return ok();
  }

  // The cuts before the end of a word become numbers of tokens. The word starts at
  // `begin` and is `tokens`, behind n_before others. Returns the cuts that are left.
  Cuts count_before_cuts(std::string_view word, std::size_t begin, std::span<const TokenId> tokens,
                         std::size_t n_before, Cuts cuts) const {
    std::size_t n = 0, at = 0;  // tokens before a cut, and where the next begins
    for (; !cuts.empty() && cuts.front() < begin + word.size(); cuts = cuts.subspan(1)) {
      for (; n < tokens.size() && begin + at < cuts.front(); ++n)
        at += model_.extent(tokens[n], word.substr(std::min(at, word.size())));
      cuts.front() = n_before + n;
    }
    return cuts;
  }

  std::optional<TokenId> find_piece(std::string_view piece) const override {
    return model_.find(piece);
  }

  TextNormalizer normalizer_;
  Pretokenizer pretokenizer_;
  BpeModel model_;
  std::array<bool, 256> lacks_{};  // [byte] no token spells it
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(BpeParts parts,
                                                      const TokenizerConfig& config) {
  auto tokenizer = std::make_unique<BpeTokenizer>();
  PC_CHECK_OK(tokenizer->load(std::move(parts), config));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

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
