#include "runtime/tokenizer/files/gguf_tokenizer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "runtime/tokenizer/bpe/bpe_model.h"
#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "runtime/tokenizer/bpe/gguf_pretokenizers.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_writer.h"
#include "runtime/tokenizer/text/text_normalizer.h"  // replace_all
#include "runtime/tokenizer/text/tokenizer_config.h"

namespace pc {
namespace {

using Type = SentencepieceModel::Type;  // GGUF has the same numbers
using Strings = std::span<const std::string_view>;

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kTypes = "tokenizer.ggml.token_type";
constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr const char* kMerges = "tokenizer.ggml.merges";
constexpr const char* kPre = "tokenizer.ggml.pre";
constexpr const char* kCharsmap = "tokenizer.ggml.precompiled_charsmap";
constexpr const char* kTemplate = "tokenizer.chat_template";

constexpr std::size_t kMaxVocabularyBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxNameBytes = 256;   // of general.name that are looked at
constexpr std::size_t kMaxMarkupBytes = 64;  // of a token that a template spells

struct Vocabulary {
  Strings tokens;           // [id]
  std::vector<Type> types;  // [id]
};

std::string quoted(std::size_t id, std::string_view token) {
  return "token " + std::to_string(id) + ", \"" + std::string(token.substr(0, 64)) + "\", ";
}

Result<Strings> read_tokens(const GgufMetadata& metadata) {
  PC_TRY(const Strings tokens, metadata.strings(kTokens));
  if (tokens.empty() || tokens.size() > static_cast<std::size_t>(kMaxVocabSize)) {
    return metadata.error(
        Code::kUnsupported, kTokens,
        "has " + std::to_string(tokens.size()) + " tokens; 1 to 1,048,576 are supported");
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    bytes += tokens[i].size();
    if (!tokens[i].empty() && tokens[i].size() <= kMaxTokenBytes && bytes <= kMaxVocabularyBytes &&
        is_utf8(tokens[i]))
      continue;
    return metadata.error(Code::kCorrupt, kTokens,
                          quoted(i, is_utf8(tokens[i]) ? tokens[i] : "?") +
                              "is empty, not UTF-8 or over 4096 bytes, or all tokens together "
                              "are over 32 MiB");
  }
  return tokens;
}

// The array must have an entry for each token: checked before it is read, since
// a hostile one may be large.
Status check_length(const GgufMetadata& metadata, const char* key, std::size_t n_tokens) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return metadata.error(Code::kCorrupt, key, "is missing");
  if (value->is_array && value->n == n_tokens) return ok();
  return metadata.error(
      Code::kCorrupt, key,
      "is no list of one number for each of the " + std::to_string(n_tokens) + " tokens");
}

Result<Vocabulary> read_vocabulary(const GgufMetadata& metadata) {
  Vocabulary out;
  PC_TRY(out.tokens, read_tokens(metadata));
  PC_CHECK_OK(check_length(metadata, kTypes, out.tokens.size()));
  PC_TRY(const std::vector<std::int64_t> types, metadata.integers(kTypes));
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 1 || types[i] > 6) {
      return metadata.error(Code::kCorrupt, kTypes,
                            quoted(i, out.tokens[i]) + "has the type " + std::to_string(types[i]) +
                                ", wanted 1 to 6");
    }
    out.types.push_back(static_cast<Type>(types[i]));
  }
  return out;
}

// The id under "tokenizer.ggml.NAME_token_id"; nothing where there is no such key.
Result<std::optional<TokenId>> read_id(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                                       const char* name) {
  const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
  if (!metadata.has(key)) return std::optional<TokenId>();
  PC_TRY(const std::uint64_t id, metadata.integer(key));
  if (id < vocabulary.tokens.size()) return std::optional<TokenId>(static_cast<TokenId>(id));
  return metadata.error(Code::kCorrupt, key,
                        "is " + std::to_string(id) + ", but there are " +
                            std::to_string(vocabulary.tokens.size()) + " tokens");
}

// A token with a job of its own is a control token, whatever its type; but not
// one character, without which texts could not be written: some files name any
// id where the model has no such token.
Status read_named(const GgufMetadata& metadata, const char* name, Vocabulary* vocabulary,
                  std::optional<std::string>* spelling) {
  PC_TRY(const auto id, read_id(metadata, *vocabulary, name));
  if (!id) return ok();
  const auto i = static_cast<std::size_t>(*id);
  const std::string_view token = vocabulary->tokens[i];
  Type& type = vocabulary->types[i];
  const bool is_letter = type == Type::kNormal && token.size() == utf8_length(token[0]);
  if (type != Type::kUnknown && !is_letter) type = Type::kControl;
  *spelling = token;
  return ok();
}

// The ends of a turn that today's families use, for files without a key that says so.
bool ends_turn(std::string_view token) {
  constexpr std::string_view kEnds[] = {"<|eot_id|>", "<|eom_id|>",    "<|im_end|>",
                                        "<|end|>",    "<end_of_turn>", "<|endoftext|>"};
  return std::find(std::begin(kEnds), std::end(kEnds), token) != std::end(kEnds);
}

// Converters have left ends of turns with the type of a word: they are control
// tokens, so that no text can end a turn.
Status read_turn_ends(const GgufMetadata& metadata, Vocabulary* vocabulary,
                      TokenizerConfig* config) {
  std::optional<std::string> eot, eom;
  PC_CHECK_OK(read_named(metadata, "eot", vocabulary, &eot));
  PC_CHECK_OK(read_named(metadata, "eom", vocabulary, &eom));
  for (std::size_t i = 0; i < vocabulary->tokens.size(); ++i) {
    const std::string_view token = vocabulary->tokens[i];
    Type& type = vocabulary->types[i];
    if (token != eot && token != eom && !ends_turn(token)) continue;
    if (type == Type::kNormal || type == Type::kUserDefined) type = Type::kControl;
    if (type != Type::kControl || token == config->eos) continue;
    config->turn_ends.push_back(static_cast<TokenId>(i));
  }
  return ok();
}

// Keys of today's converters, and what they were called before.
Status read_fim(const GgufMetadata& metadata, const Vocabulary& vocabulary, FimTokens* fim) {
  struct Key {
    std::optional<TokenId> FimTokens::*token;
    const char *name, *older;
  };
  constexpr Key kKeys[] = {
      {&FimTokens::prefix, "fim_pre", "prefix"}, {&FimTokens::suffix, "fim_suf", "suffix"},
      {&FimTokens::middle, "fim_mid", "middle"}, {&FimTokens::pad, "fim_pad", nullptr},
      {&FimTokens::repo, "fim_rep", nullptr},    {&FimTokens::file, "fim_sep", nullptr}};
  for (const Key& key : kKeys) {
    PC_TRY(fim->*key.token, read_id(metadata, vocabulary, key.name));
    if (fim->*key.token || !key.older) continue;
    PC_TRY(fim->*key.token, read_id(metadata, vocabulary, key.older));
  }
  return ok();
}

Result<std::string> read_template(const GgufMetadata& metadata) {
  PC_TRY(const std::string_view text, metadata.string_or(kTemplate, ""));
  if (is_utf8(text)) return std::string(text);
  return metadata.error(Code::kCorrupt, kTemplate, "is not UTF-8");
}

// Everything but the vocabulary's own tokens.
Result<TokenizerConfig> read_config(const GgufMetadata& metadata, bool add_bos,
                                    Vocabulary* vocabulary) {
  TokenizerConfig config;
  PC_CHECK_OK(read_named(metadata, "bos", vocabulary, &config.bos));
  PC_CHECK_OK(read_named(metadata, "eos", vocabulary, &config.eos));
  PC_CHECK_OK(read_named(metadata, "unknown", vocabulary, &config.unk));
  PC_CHECK_OK(read_turn_ends(metadata, vocabulary, &config));
  PC_TRY(config.add_bos, metadata.boolean_or("tokenizer.ggml.add_bos_token", add_bos));
  PC_TRY(config.add_eos, metadata.boolean_or("tokenizer.ggml.add_eos_token", false));
  PC_TRY(config.chat_template, read_template(metadata));
  PC_CHECK_OK(read_fim(metadata, *vocabulary, &config.fim));
  return config;
}

// ---- "llama"

// The library wants exactly one unknown token.
Status settle_unknown(const GgufMetadata& metadata, Vocabulary* vocabulary) {
  const auto is_unknown = [](Type type) { return type == Type::kUnknown; };
  PC_TRY(const auto named, read_id(metadata, *vocabulary, "unknown"));
  auto& types = vocabulary->types;
  const auto first = std::find_if(types.begin(), types.end(), is_unknown);
  const auto id = named                  ? static_cast<std::size_t>(*named)
                  : first != types.end() ? static_cast<std::size_t>(first - types.begin())
                                         : 0;
  std::replace_if(types.begin(), types.end(), is_unknown, Type::kControl);
  types[id] = Type::kUnknown;
  return ok();
}

// The library takes all 256 bytes or none. Without them a character that is no
// piece is the unknown token.
Status settle_bytes(const GgufMetadata& metadata, Vocabulary* vocabulary) {
  auto& types = vocabulary->types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string_view token = vocabulary->tokens[i];
    if (types[i] != Type::kByte || BpeModel::fallback_byte(token)) continue;
    return metadata.error(Code::kCorrupt, kTypes,
                          "calls token " + std::to_string(i) + ", \"" + std::string(token) +
                              "\", a byte; wanted a name such as <0x0A>");
  }
  if (std::count(types.begin(), types.end(), Type::kByte) != 256) {
    std::replace(types.begin(), types.end(), Type::kByte, Type::kUnused);
  }
  return ok();
}

// What a template spells in <...> and [...]. Bounded, because vocabulary and
// template may both be large.
std::unordered_set<std::string_view> markup_of(std::string_view chat_template) {
  std::unordered_set<std::string_view> found;
  for (std::size_t i = 0; i < chat_template.size(); ++i) {
    if (chat_template[i] != '<' && chat_template[i] != '[') continue;
    const std::string_view from = chat_template.substr(i, kMaxMarkupBytes);
    const std::size_t end = from.find(from[0] == '<' ? '>' : ']');
    if (end != from.npos) found.insert(from.substr(0, end + 1));
  }
  return found;
}

// Words of the vocabulary are found in text, so what the chat template spells
// must be none: a user's text could open a turn or call a tool. `config` has the
// template, of at most the reader's 1 MiB.
void settle_markup(Vocabulary* vocabulary, TokenizerConfig* config) {
  const auto spelled = markup_of(config->chat_template);
  for (std::size_t i = 0; i < vocabulary->tokens.size(); ++i) {
    const std::string_view token = vocabulary->tokens[i];
    Type& type = vocabulary->types[i];
    const bool opens_turn = token == "<start_of_turn>";  // some converters' type for it: normal
    if (type != Type::kUserDefined && !(opens_turn && type == Type::kNormal)) continue;
    if (!opens_turn && !spelled.contains(token)) continue;
    type = Type::kControl;
    AddedToken added;
    added.id = static_cast<TokenId>(i);
    added.content = token;
    added.special = is_control(false, token);
    added.control = true;
    config->added.push_back(std::move(added));
  }
}

// Scores order the merges. Converters that had no tokenizer.model write the same
// for all words: then no text has its published tokens.
Status check_scores(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                    const std::vector<float>& scores) {
  std::optional<float> first;
  std::size_t n_words = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string_view word = vocabulary.tokens[i];  // of one character: no merge makes it
    if (vocabulary.types[i] != Type::kNormal || word.size() <= utf8_length(word.front())) continue;
    if (first && scores[i] != *first) return ok();
    first = scores[i];
    ++n_words;
  }
  if (n_words < 2) return ok();
  return metadata.error(Code::kUnsupported, kScores,
                        "is the same for all words, so that the order of merges is lost; convert "
                        "the model again, with its tokenizer.model");
}

Result<SentencepieceParts> read_pieces(const GgufMetadata& metadata, const Vocabulary& vocabulary) {
  SentencepieceParts parts;
  PC_CHECK_OK(check_length(metadata, kScores, vocabulary.tokens.size()));
  PC_TRY(const std::vector<float> scores, metadata.floats(kScores));
  PC_CHECK_OK(check_scores(metadata, vocabulary, scores));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::string text(vocabulary.tokens[i]);
    // The format spells these as text, tokenizer.model as the vocabulary does.
    if (vocabulary.types[i] == Type::kUserDefined) replace_all(" ", "▁", &text);
    parts.pieces.push_back({std::move(text), scores[i], vocabulary.types[i]});
  }
  return parts;
}

Result<std::string_view> read_charsmap(const GgufMetadata& metadata) {
  const GgufValue* value = metadata.find(kCharsmap);
  if (value == nullptr) return std::string_view();
  if (!value->is_array || (value->type != GgufType::kU8 && value->type != GgufType::kI8) ||
      value->bytes.size() > kMaxVocabularyBytes) {
    return metadata.error(Code::kCorrupt, kCharsmap, "is no list of at most 32 MiB of bytes");
  }
  return std::string_view(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
}

// Phi-3 by its family, or by the model's name: it is published as a "llama" too.
Result<bool> is_phi3(const GgufMetadata& metadata) {
  PC_TRY(const std::string_view family, metadata.string_or("general.architecture", ""));
  PC_TRY(const std::string_view name, metadata.string_or("general.name", ""));
  std::string letters;  // "Phi-3 Mini" and "phi3-mini" are the same name
  for (const char c : name.substr(0, kMaxNameBytes)) {
    if (c != ' ' && c != '-' && c != '_')
      letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return family == "phi3" || letters.find("phi3") != letters.npos;
}

// Phi-3's control tokens swallow the white space behind them, which GGUF cannot
// say: the model's name does. Converters call some of them user-defined.
void add_phi3_tokens(Vocabulary* vocabulary, TokenizerConfig* config) {
  for (std::size_t i = 0; i < vocabulary->tokens.size(); ++i) {
    const std::string_view token = vocabulary->tokens[i];
    Type& type = vocabulary->types[i];
    if (type == Type::kUserDefined) type = Type::kControl;
    if (type != Type::kControl || token == "<s>" || token == "<|endoftext|>") continue;
    AddedToken added;
    added.id = static_cast<TokenId>(i);
    added.content = token;
    added.special = added.control = added.rstrip = true;
    config->added.push_back(std::move(added));
  }
}

Result<std::unique_ptr<Tokenizer>> make_sentencepiece(const GgufMetadata& metadata,
                                                      Vocabulary vocabulary) {
  PC_CHECK_OK(settle_unknown(metadata, &vocabulary));
  PC_CHECK_OK(settle_bytes(metadata, &vocabulary));
  PC_TRY(TokenizerConfig config, read_config(metadata, /*add_bos=*/true, &vocabulary));
  PC_TRY(const bool phi3, is_phi3(metadata));
  if (phi3) {
    add_phi3_tokens(&vocabulary, &config);
  } else {
    settle_markup(&vocabulary, &config);
  }
  PC_TRY(SentencepieceParts parts, read_pieces(metadata, vocabulary));
  PC_TRY(parts.charsmap, read_charsmap(metadata));
  PC_TRY(parts.add_dummy_prefix, metadata.boolean_or("tokenizer.ggml.add_space_prefix", true));
  PC_TRY(parts.remove_extra_whitespaces,
         metadata.boolean_or("tokenizer.ggml.remove_extra_whitespaces", false));
  return make_sentencepiece_tokenizer(write_sentencepiece_model(parts),
                                      metadata.file() + ": tokenizer.ggml", config);
}

// ---- "gpt2"

Result<const GgufPretokenizer*> choose_pretokenizer(const GgufMetadata& metadata) {
  PC_TRY(const std::string_view name, metadata.string_or(kPre, ""));
  if (const GgufPretokenizer* found = find_gguf_pretokenizer(name)) return found;
  const std::string what =
      name.empty() ? "is missing" : "\"" + std::string(name.substr(0, 64)) + "\" is not known";
  return metadata.error(
      Code::kUnsupported, kPre,
      what + ", so how the publisher splits text cannot be told; name one of " +
          gguf_pretokenizer_names() +
          " with gguf-new-metadata --pre-tokenizer, or use the publisher's tokenizer.json");
}

std::vector<AddedToken> added_tokens(const Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const Type type = vocabulary.types[i];
    if (type != Type::kControl && type != Type::kUnknown && type != Type::kUserDefined) continue;
    AddedToken token;
    token.id = static_cast<TokenId>(i);
    token.content = vocabulary.tokens[i];
    token.special = type != Type::kUserDefined;
    token.control = is_control(token.special, token.content);
    added.push_back(std::move(token));
  }
  return added;
}

// rules: what tokenizer.json would say of how text is changed and cut.
Result<std::unique_ptr<Tokenizer>> make_bpe(const GgufMetadata& metadata,
                                            const Vocabulary& vocabulary, JsonView rules,
                                            const BpeModel::Flags& flags,
                                            const TokenizerConfig& config) {
  PC_TRY(const Strings merges, metadata.strings(kMerges));
  BpeParts parts;
  parts.normalizer = rules.find("normalizer");
  parts.pre_tokenizer = rules.find("pre_tokenizer");
  parts.added = added_tokens(vocabulary);
  std::vector<std::optional<std::string>> pieces(vocabulary.tokens.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (vocabulary.types[i] != Type::kUnused) pieces[i] = vocabulary.tokens[i];
  }
  auto model = BpeModel::from_lists(std::move(pieces), merges, flags, parts.added);
  if (!model.ok()) {
    return error(model.error().code, metadata.file() + ": tokenizer.ggml." + model.error().message);
  }
  parts.model = std::move(model).value();
  return make_bpe_tokenizer(std::move(parts), config);
}

Result<std::unique_ptr<Tokenizer>> make_byte_level(const GgufMetadata& metadata,
                                                   Vocabulary vocabulary) {
  PC_TRY(const GgufPretokenizer* pre, choose_pretokenizer(metadata));
  PC_TRY(const JsonDocument rules, JsonDocument::parse(pre->rules, std::string(pre->name)));
  PC_TRY(const TokenizerConfig config, read_config(metadata, pre->add_bos, &vocabulary));
  return make_bpe(metadata, vocabulary, rules.root(), {.ignore_merges = pre->ignore_merges},
                  config);
}

// ---- "gemma4"

// Merges over characters, spaces written as their mark, and bytes that are tokens of their own.
Result<std::unique_ptr<Tokenizer>> make_marked(const GgufMetadata& metadata,
                                               Vocabulary vocabulary) {
  PC_TRY(const JsonDocument rules,
         JsonDocument::parse(R"({"normalizer": {"type": "Replace", "pattern": {"String": " "},)"
                             R"( "content": "▁"}})",
                             "gemma4"));
  PC_TRY(const TokenizerConfig config, read_config(metadata, true, &vocabulary));
  PC_CHECK_OK(settle_bytes(metadata, &vocabulary));
  BpeModel::Flags flags;
  for (std::size_t i = 0; i < vocabulary.types.size(); ++i) {
    if (vocabulary.types[i] == Type::kByte) flags.byte_fallback = true;
    if (vocabulary.types[i] == Type::kUnknown) flags.unknown = static_cast<TokenId>(i);
  }
  return make_bpe(metadata, vocabulary, rules.root(), flags, config);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const GgufMetadata& metadata) {
  PC_TRY(const std::string_view model, metadata.string("tokenizer.ggml.model"));
  if (model != "llama" && model != "gpt2" && model != "gemma4") {
    return metadata.error(Code::kUnsupported, "tokenizer.ggml.model",
                          "\"" + std::string(model.substr(0, 64)) +
                              "\" is not supported; llama (sentencepiece), gpt2 (byte-level "
                              "BPE) and gemma4 (BPE over characters) are");
  }
  PC_TRY(Vocabulary vocabulary, read_vocabulary(metadata));
  return model == "llama"    ? make_sentencepiece(metadata, std::move(vocabulary))
         : model == "gemma4" ? make_marked(metadata, std::move(vocabulary))
                             : make_byte_level(metadata, std::move(vocabulary));
}

}  // namespace pc
