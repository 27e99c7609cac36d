#include "runtime/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/bpe_tokenizer.h"
#include "runtime/gguf.h"
#include "runtime/gguf_tokenizer.h"
#include "runtime/sentencepiece_tokenizer.h"
#include "runtime/tokenizer_config.h"
#include "runtime/utf8.h"

namespace pc {
namespace {

// Raised when the same files would become other ids than before, so that stored
// modules of the older code are misses.
constexpr std::uint64_t kTokenizerCodeVersion = 1;

constexpr std::string_view kWhiteSpace = " \t\n\r\v\f";

// Longest token of white space that text is searched for; published models have
// up to 31 spaces. Bounds what a hostile file can make of each byte of a text.
constexpr std::size_t kMaxSpaceBytes = 128;

Status check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return error(Code::kInvalidArgument, "the text has " + std::to_string(text.size()) +
                                             " bytes; one run may have at most " +
                                             std::to_string(kMaxTextBytes));
  }
  const std::size_t valid = utf8_valid_prefix(text);
  if (valid != text.size()) {
    return error(Code::kInvalidArgument,
                 "the text is not valid UTF-8 at byte " + std::to_string(valid));
  }
  return ok();
}

}  // namespace

Tokenizer::~Tokenizer() = default;

Result<Tokens> Tokenizer::encode(std::string_view text) const {
  PC_CHECK_OK(check_text(text));
  Tokens out;
  PC_CHECK_OK(encode_around(text_added_, text, Prefix::kPublished, &out));
  return out;
}

Result<Tokens> Tokenizer::encode_run(std::string_view text) const {
  PC_CHECK_OK(check_text(text));
  const bool has_own = keeps_leading_space_ && text.starts_with(' ');
  Tokens out;
  PC_CHECK_OK(encode_around(text_added_, text, has_own ? Prefix::kNone : Prefix::kPublished, &out));
  return out;
}

Result<Tokens> Tokenizer::encode_markup(std::string_view markup) const {
  return encode_template(markup, Prefix::kNone);
}

// Behind BOS the publisher's rule for what follows an added token counts.
Result<Tokens> Tokenizer::encode_opening_markup(std::string_view markup) const {
  const bool due = !facts_.add_bos || prefix_after_added_;
  return encode_template(markup, due ? Prefix::kPublished : Prefix::kNone);
}

Result<Tokens> Tokenizer::encode_template(std::string_view markup, Prefix prefix) const {
  PC_CHECK_OK(check_text(markup));
  if (facts_.adds_prefix_space && markup.ends_with(' ')) markup.remove_suffix(1);
  Tokens out;
  PC_CHECK_OK(encode_around(added_, markup, prefix, &out));
  return out;
}

// Added tokens become their ids, the stretches between them are encoded.
Status Tokenizer::encode_around(const AddedTokens& added, std::string_view text, Prefix prefix,
                                Tokens* out) const {
  while (!text.empty()) {
    std::size_t at = text.size();
    const AddedToken* token = added.next(text, 0, &at);
    std::string_view stretch = text.substr(0, at);
    text.remove_prefix(at);
    if (token != nullptr && token->lstrip) {
      stretch = stretch.substr(0, stretch.find_last_not_of(kWhiteSpace) + 1);
    }
    if (!stretch.empty()) PC_CHECK_OK(encode_stretch(stretch, prefix, out));
    if (token == nullptr) break;
    out->push_back(token->id);
    text.remove_prefix(token->content.size());
    if (token->rstrip)
      text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    prefix = prefix_after_added_ ? Prefix::kPublished : Prefix::kNone;
  }
  return ok();
}

void Tokenizer::append_bytes(TokenId id, std::string* out, Controls controls) const {
  const auto i = static_cast<std::size_t>(id);
  if (id < 0 || i >= bytes_.size() || (hidden_[i] && controls == Controls::kHide)) return;
  out->append(bytes_[i]);
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view piece) const {
  if (const AddedToken* token = added_.find(piece)) return token->id;
  return find_piece(piece);
}

void Tokenizer::add_token(const AddedToken& token) {
  const auto i = static_cast<std::size_t>(token.id);
  if (i >= bytes_.size()) {
    bytes_.resize(i + 1);
    hidden_.resize(i + 1, true);  // ids that nothing names have nothing to show
  }
  const bool is_text = !token.special && token.content.size() <= kMaxSpaceBytes &&
                       token.content.find_first_not_of(kWhiteSpace) == std::string::npos;
  bytes_[i] = token.content;
  hidden_[i] = token.special;
  added_.add(token);
  if (is_text) text_added_.add(token);
}

void Tokenizer::complete(const TokenizerConfig& config, bool add_bos_by_default, Sha256 hash) {
  const auto resolve = [this](const std::optional<std::string>& spelling,
                              std::optional<TokenId>* id) {
    if (spelling) *id = token_to_id(*spelling);
  };
  resolve(config.bos, &facts_.bos);
  resolve(config.eos, &facts_.eos);
  resolve(config.unk, &facts_.unk);
  facts_.add_bos = facts_.bos.has_value() && config.add_bos.value_or(add_bos_by_default);
  facts_.turn_ends = config.turn_ends;
  facts_.chat_template = config.chat_template;
  facts_.vocab_size = static_cast<std::uint32_t>(bytes_.size());
  choose_placeholder();

  hash.field(kTokenizerCodeVersion);
  for (const AddedToken& token : added_.all()) {
    hash.field(static_cast<std::uint64_t>(token.id)).field(token.content);
    hash.field(std::uint64_t{token.special} | std::uint64_t{token.lstrip} << 1 |
               std::uint64_t{token.rstrip} << 2);
  }
  hash.field(facts_.bos ? static_cast<std::uint64_t>(*facts_.bos) : UINT64_MAX);
  hash.field(std::uint64_t{facts_.add_bos});
  hash.field(static_cast<std::uint64_t>(facts_.placeholder));
  facts_.digest = hash.finish();
}

// unk, unless the model uses one token for several jobs (GPT-2 ends texts with
// it): text after a slot must not look as if it began a new document. Then a
// space, which every text may hold; a vocabulary without one has no such texts.
void Tokenizer::choose_placeholder() {
  if (facts_.unk && facts_.unk != facts_.bos && facts_.unk != facts_.eos) {
    facts_.placeholder = *facts_.unk;
    return;
  }
  const auto space = encode_run(" ");
  facts_.placeholder = space.ok() && !space->empty() ? space->front() : 0;
}

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& path) {
  if (is_gguf(path)) {
    PC_TRY(const GgufModel model, open_gguf(path));
    return make_gguf_tokenizer(model.metadata);
  }
  PC_TRY(const TokenizerConfig config, read_tokenizer_config(path));
  std::error_code ignored;
  const std::string model = path + "/tokenizer.model";
  if (std::filesystem::exists(model, ignored)) return load_sentencepiece_tokenizer(model, config);
  const std::string json = path + "/tokenizer.json";
  if (std::filesystem::exists(json, ignored)) return load_bpe_tokenizer(json, config);
  return error(Code::kNotFound, path +
                                    ": no GGUF file, and no folder with tokenizer.model or "
                                    "tokenizer.json");
}

}  // namespace pc
