#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/mapped_file.h"
#include "base/utf8.h"  // one_line
#include "runtime/tokenizer/sentencepiece/sentencepiece_model.h"
#include "runtime/tokenizer/text/text_normalizer.h"  // replace_all

namespace pc {
namespace {

using Type = SentencepieceModel::Type;
using Piece = SentencepieceModel::Piece;

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
constexpr std::size_t kChunkBytes = 1024;
constexpr std::string_view kSpaceMark = "▁";

bool is_markup(const Piece& piece, const TokenizerConfig& config) {
  if (config.specials.contains(piece.text)) {
    return piece.type == Type::kNormal || piece.type == Type::kUserDefined;
  }
  return piece.type == Type::kUserDefined && is_control(false, piece.text);
}

// What a piece stands for in a text.
std::string piece_bytes(const Piece& piece) {
  if (piece.type == Type::kControl || piece.type == Type::kUnknown) return std::string(piece.text);
  if (piece.type == Type::kByte && piece.text.size() == 6) {  // "<0x0A>"
    unsigned byte = 0;
    std::from_chars(piece.text.data() + 3, piece.text.data() + 5, byte, 16);
    return std::string(1, static_cast<char>(byte));
  }
  std::string bytes(piece.text);
  replace_all(kSpaceMark, " ", &bytes);
  return bytes;
}

// Does the dummy prefix do what a space in front of a text does? It is put before the
// normalised text, so nothing in a normaliser may touch such a space.
bool prefix_is_a_space(const SentencepieceModel& model) {
  if (!model.add_dummy_prefix || model.whitespace_is_suffix) return false;
  if (model.remove_extra_whitespaces || !model.charsmap.empty()) return false;
  return std::ranges::none_of(model.pieces, [](const Piece& piece) {
    return piece.type == Type::kUserDefined && piece.text.starts_with(' ');
  });
}

using Bytes = std::array<bool, 256>;

// A BPE gives a text the same tokens in parts that begin with a run of spaces, where no
// piece has a space behind something else: not behind the bytes that are returned
// (Gemma's ">▁</"). None: a text must not be parted.
std::optional<Bytes> bytes_before_spaces(const SentencepieceModel& model) {
  if (model.kind != SentencepieceModel::Kind::kBpe) return std::nullopt;
  if (model.remove_extra_whitespaces || !model.charsmap.empty()) return std::nullopt;
  Bytes before{};
  bool has_space = false;  // else spaces join a run of unknown characters
  for (const Piece& piece : model.pieces) {
    if (piece.text.find(' ') != piece.text.npos) return std::nullopt;
    has_space = has_space || (piece.text == kSpaceMark && piece.type == Type::kNormal);
    for (std::size_t at = 1; (at = piece.text.find(kSpaceMark, at)) != piece.text.npos; ++at)
      before[static_cast<unsigned char>(piece.text[at - 1])] = true;
  }
  // Of the mark itself: what ends with its last byte is not parted.
  before[static_cast<unsigned char>(kSpaceMark.back())] = before[' '] = true;
  return has_space ? std::optional(before) : std::nullopt;
}

class SentencepieceTokenizer final : public Tokenizer {
 public:
  Status load(std::string_view file, const std::string& name, const TokenizerConfig& config) {
    PC_TRY(SentencepieceModel model, parse_sentencepiece_model(file, name));
    for (Piece& piece : model.pieces) {
      if (is_markup(piece, config)) piece.type = Type::kControl;
    }
    spells_prefix_ = prefix_is_a_space(model);
    before_spaces_ = bytes_before_spaces(model);
    const bool two = model.add_dummy_prefix && !spells_prefix_;
    if (two)
      PC_CHECK_OK(load_library(&with_prefix_, rewrite_sentencepiece_model(model, true), name));
    PC_CHECK_OK(load_library(&plain_, rewrite_sentencepiece_model(model, false), name));
    describe(model, config);
    return ok();
  }

 private:
  Status load_library(sentencepiece::SentencePieceProcessor* processor, const std::string& file,
                      const std::string& name) {
    try {
      const auto status = processor->LoadFromSerializedProto(file);
      if (status.ok()) return ok();
      return error(Code::kCorrupt,
                   name + ": not a sound sentencepiece model: " + one_line(status.message()));
    } catch (const std::bad_alloc&) {
      return error(Code::kOutOfMemory, "not enough memory to read " + name);
    } catch (const std::exception& e) {
      return error(Code::kCorrupt, name + ": not a sound sentencepiece model: " + e.what());
    }
  }

  void describe(const SentencepieceModel& model, const TokenizerConfig& config) {
    const bool is_bpe = model.kind == SentencepieceModel::Kind::kBpe;
    facts_.description = std::string("sentencepiece ") + (is_bpe ? "bpe" : "unigram") + ", " +
                         std::to_string(model.pieces.size()) + " pieces";
    facts_.adds_prefix_space = model.add_dummy_prefix;
    prefix_after_added_ = model.add_dummy_prefix && config.legacy.value_or(true);
    keeps_leading_space_ = !model.remove_extra_whitespaces;

    Sha256 hash;
    hash.field("sentencepiece").field(model.trainer).field(model.normalizer);
    for (const Piece& piece : model.pieces) {
      std::uint32_t score;
      std::memcpy(&score, &piece.score, sizeof score);
      hash.field(piece.text).field(score).field(static_cast<std::uint64_t>(piece.type));
      bytes_.push_back(piece_bytes(piece));
      hidden_.push_back(piece.type == Type::kControl || piece.type == Type::kUnknown);
    }
    n_pieces_ = model.pieces.size();
    take_added(model, config);
    take_ids();
    complete(config, /*add_bos_by_default=*/true, std::move(hash));
  }

  void take_added(const SentencepieceModel& model, const TokenizerConfig& config) {
    for (AddedToken token : config.added) {
      token.special = token.special || config.specials.contains(token.content);
      token.control = token.control || is_control(token.special, token.content);
      add_token(token);
    }
    for (std::size_t i = 0; i < model.pieces.size(); ++i) {
      if (!hidden_[i] || bytes_[i] != model.pieces[i].text) continue;
      AddedToken token;
      token.id = static_cast<TokenId>(i);
      token.content = model.pieces[i].text;
      token.special = token.control = true;
      add_token(token);
    }
  }

  void take_ids() {
    const auto id = [](int library_id) {
      return library_id < 0 ? std::optional<TokenId>() : std::optional<TokenId>(library_id);
    };
    facts_.bos = id(plain_.bos_id());
    facts_.eos = id(plain_.eos_id());
    facts_.unk = id(plain_.unk_id());
  }

  Status encode_stretch(std::string_view text, Prefix prefix, Cuts cuts, TextWatch& watch,
                        Tokens* out) const override {
    const bool wanted = prefix != Prefix::kNone && facts_.adds_prefix_space;
    const std::size_t n_before = out->size();
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      end = chunk_end(text, begin);
      sentencepiece::ImmutableSentencePieceText pieces;
      const bool spelled = wanted && begin == 0 && spells_prefix_;
      PC_CHECK_OK(encode_chunk(text.substr(begin, end - begin), wanted && begin == 0, &pieces));
      for (std::size_t i = 0; i < pieces.pieces_size(); ++i) {
        const auto piece = pieces.pieces(static_cast<int>(i));
        const std::size_t at = begin + piece.begin() - (spelled && piece.begin() > 0 ? 1 : 0);
        for (; !cuts.empty() && cuts.front() <= at; cuts = cuts.subspan(1))
          cuts.front() = out->size() - n_before;
        const auto id = static_cast<TokenId>(piece.id());
        // A control token spelled with one character would be found in text.
        out->push_back(plain_.IsControl(id) ? facts_.unk.value_or(id) : id);
      }
      if (!watch.done(end - begin)) return watch.stopped();
    }
    for (std::size_t& cut : cuts) cut = out->size() - n_before;
    return ok();
  }

  Status encode_chunk(std::string_view text, bool prefixed,
                      sentencepiece::ImmutableSentencePieceText* pieces) const {
    try {
      const auto status = !prefixed ? plain_.Encode(text, pieces->mutable_proto())
                          : spells_prefix_
                              ? plain_.Encode(" " + std::string(text), pieces->mutable_proto())
                              : with_prefix_.Encode(text, pieces->mutable_proto());
      if (status.ok()) return ok();
      return error(Code::kInternal, "sentencepiece: " + std::string(status.message()));
    } catch (const std::exception& e) {
      return error(Code::kOutOfMemory, std::string("sentencepiece: ") + e.what());
    }
  }

  // The library's time for a character grows with the text, so a text goes to it in
  // parts, where no piece can cross from one to the next.
  std::size_t chunk_end(std::string_view text, std::size_t begin) const {
    if (!before_spaces_) return text.size();
    for (std::size_t at = begin + kChunkBytes; at < text.size(); ++at) {
      if (text[at] == ' ' && !(*before_spaces_)[static_cast<unsigned char>(text[at - 1])])
        return at;
    }
    return text.size();
  }

  std::optional<TokenId> find_piece(std::string_view piece) const override {
    const int id = plain_.PieceToId(piece);
    if (id < 0 || static_cast<std::size_t>(id) >= n_pieces_) return std::nullopt;
    if (id == facts_.unk && piece != plain_.IdToPiece(id)) return std::nullopt;
    return id;
  }

  // The library's tables for 32,000 pieces take 8 ms to build: with_prefix_ is loaded
  // only where the model adds a prefix that is more than a space in front.
  sentencepiece::SentencePieceProcessor plain_, with_prefix_;
  bool spells_prefix_ = false;
  std::optional<Bytes> before_spaces_;
  std::size_t n_pieces_ = 0;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(std::string_view bytes,
                                                                const std::string& name,
                                                                const TokenizerConfig& config) {
  if (bytes.size() > kMaxFileBytes) {
    return error(Code::kUnsupported, name + ": a tokenizer of more than 64 MiB");
  }
  auto tokenizer = std::make_unique<SentencepieceTokenizer>();
  PC_CHECK_OK(tokenizer->load(bytes, name, config));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Result<std::unique_ptr<Tokenizer>> load_sentencepiece_tokenizer(const std::string& path,
                                                                const TokenizerConfig& config) {
  PC_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return make_sentencepiece_tokenizer({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                      path, config);
}

}  // namespace pc
