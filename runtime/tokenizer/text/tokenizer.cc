#include "runtime/tokenizer/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "runtime/tokenizer/text/tokenizer_config.h"

namespace pc {
namespace {

// Raised when the same files would become other ids than before, so that stored
// modules of the older code are misses.
constexpr std::uint64_t kTokenizerCodeVersion = 2;

}  // namespace

Tokenizer::~Tokenizer() = default;

Result<Tokens> Tokenizer::encode(std::string_view text, const Progress& progress) const {
  const pml::TextSpan whole{text};
  PC_TRY(std::vector<Tokens> tokens,
         encode_spans({&whole, 1}, /*opens=*/true, /*chat_writes_bos=*/false, progress));
  return std::move(tokens[0]);
}

// Where the format of a chat writes BOS, markup behind BOS stands behind an added token;
// before a text, or a chat without it, BOS is put with nothing to do with it.
Result<std::vector<Tokens>> Tokenizer::encode_spans(std::span<const pml::TextSpan> spans,
                                                    bool opens, bool chat_writes_bos,
                                                    const Progress& progress) const {
  const auto first =
      std::ranges::find_if(spans, [](const auto& span) { return !span.text.empty(); });
  const bool behind_bos = chat_writes_bos && first != spans.end() && first->markup;
  const bool due = opens && (!behind_bos || prefix_after_added_);
  return encode_joint(spans, due ? Prefix::kPublished : Prefix::kNone, progress);
}

// Added tokens become their ids, the stretches between them are encoded. White
// space that a token swallows is still searched for added tokens, as the
// publishers' tokenizers do.
Result<std::vector<Tokens>> Tokenizer::encode_joint(std::span<const pml::TextSpan> spans,
                                                    Prefix prefix, const Progress& progress) const {
  PC_TRY(JointText joint, JointText::join(spans));
  const std::string_view text = joint.text();
  TextWatch watch(progress, text.size());
  std::size_t begin = 0;      // of the stretch
  std::size_t space_end = 0;  // of the white space that was swallowed last
  for (std::size_t at = 0; at < text.size();) {
    std::size_t found = text.size();
    const AddedToken* token = next_added(joint, at, &found);
    std::string_view stretch = text.substr(begin, std::max(begin, found) - begin);
    if (token != nullptr && token->lstrip) stretch = trim_end(stretch);
    PC_CHECK_OK(encode_part(stretch, begin, prefix, watch, &joint));
    if (token == nullptr) break;
    joint.add(token->id, found);
    begin = at = found + token->content.size();
    if (token->rstrip) {
      if (at >= space_end) space_end = text.size() - trim_begin(text.substr(at)).size();
      begin = space_end;
    }
    prefix = prefix_after_added_ ? Prefix::kPublished : Prefix::kNone;
  }
  return std::move(joint).take_tokens();
}

// The first added token from `from` on. A control token lies in markup with all of
// its bytes; another may begin in one span and end in the next.
const AddedToken* Tokenizer::next_added(const JointText& joint, std::size_t from,
                                        std::size_t* at) const {
  const auto& regions = joint.regions();
  auto region = std::ranges::upper_bound(regions, from, {}, &JointText::Region::end);
  for (; region != regions.end(); ++region) {
    const AddedTokens& added = region->markup ? added_ : text_added_;
    const AddedToken* token =
        added.next(joint.text(), std::max(from, region->begin), region->end, region->end, at);
    if (token != nullptr) return token;
  }
  return nullptr;
}

// A stretch that stands at `begin`.
Status Tokenizer::encode_part(std::string_view stretch, std::size_t begin, Prefix prefix,
                              TextWatch& watch, JointText* joint) const {
  if (stretch.empty()) return ok();
  std::vector<std::size_t> cuts = joint->borders_inside(begin, begin + stretch.size());
  const Prefix due = adjusted(prefix, stretch);
  const bool has_prefix = due == Prefix::kPublished;
  Tokens tokens;
  if (remembered_.find(stretch, has_prefix, cuts, &tokens)) {
    if (!watch.done(stretch.size())) return watch.stopped();
  } else {
    std::vector<std::size_t> borders = cuts;
    PC_CHECK_OK(encode_stretch(stretch, due, cuts, watch, &tokens));
    remembered_.add(stretch, has_prefix, std::move(borders), cuts, tokens);
  }
  joint->add(tokens, begin, cuts);
  return ok();
}

// A space of the stretch's own may be the prefix; where a model drops white space
// at the start of a text, it is not dropped from a text that goes on.
Tokenizer::Prefix Tokenizer::adjusted(Prefix prefix, std::string_view stretch) const {
  if (!facts_.adds_prefix_space) return Prefix::kNone;
  const bool own = stretch.starts_with(' ');
  if (own && !keeps_leading_space_) return Prefix::kPublished;
  return own_space_is_prefix_ && (own || stretch.starts_with("▁")) ? Prefix::kNone : prefix;
}

void Tokenizer::append_bytes(TokenId id, std::string* out, Controls controls) const {
  const auto i = static_cast<std::size_t>(id);
  if (id < 0 || i >= bytes_.size() || (hidden_[i] && controls == Controls::kHide)) return;
  out->append(bytes_[i]);
}

std::string_view Tokenizer::bytes(TokenId id) const {
  return is_hidden(id) ? std::string_view("") : bytes_[static_cast<std::size_t>(id)];
}

std::string_view Tokenizer::spelling(TokenId id) const {
  const auto i = static_cast<std::size_t>(id);
  return id < 0 || i >= bytes_.size() || !hidden_[i] ? std::string_view("") : bytes_[i];
}

bool Tokenizer::is_hidden(TokenId id) const {
  const auto i = static_cast<std::size_t>(id);
  return id < 0 || i >= bytes_.size() || hidden_[i];
}

bool Tokenizer::is_added_text(TokenId id) const {
  if (is_hidden(id)) return false;
  const AddedToken* const added = text_added_.find(bytes_[static_cast<std::size_t>(id)]);
  return added != nullptr && added->id == id;
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view piece) const {
  if (const AddedToken* token = added_.find(piece)) return token->id;
  return find_piece(piece);
}

std::optional<std::size_t> Tokenizer::find_control(std::string_view text, std::size_t from) const {
  for (std::size_t at = 0; from < text.size(); from = at + 1) {
    const AddedToken* const token = added_.next(text, from, text.size(), text.size(), &at);
    if (token == nullptr) return std::nullopt;
    if (token->control) return at;
  }
  return std::nullopt;
}

void Tokenizer::add_token(const AddedToken& token) {
  const auto i = static_cast<std::size_t>(token.id);
  if (i >= bytes_.size()) {
    bytes_.resize(i + 1);
    hidden_.resize(i + 1, true);  // ids that nothing names have nothing to show
  }
  bytes_[i] = token.content;
  hidden_[i] = token.special;
  added_.add(token);
  if (!token.control) text_added_.add(token);
}

void Tokenizer::complete(const TokenizerConfig& config, bool add_bos_by_default, Sha256 hash) {
  const auto resolve = [this](const std::optional<std::string>& spelling,
                              std::optional<TokenId>* id) {
    if (spelling) *id = token_to_id(*spelling);
  };
  resolve(config.bos, &facts_.bos);
  resolve(config.eos, &facts_.eos);
  resolve(config.unk, &facts_.unk);
  if (facts_.text_end.empty() && facts_.eos && config.add_eos.value_or(false))
    facts_.text_end = {*facts_.eos};
  facts_.add_bos = facts_.bos.has_value() && config.add_bos.value_or(add_bos_by_default);
  facts_.turn_ends = config.turn_ends;
  facts_.chat_template = config.chat_template;
  facts_.fim = find_fim_tokens(config.fim,
                               [this](std::string_view spelling) { return token_to_id(spelling); });
  facts_.vocab_size = static_cast<std::uint32_t>(bytes_.size());
  if (config.llama_class) {
    if (!config.add_prefix_space.value_or(true)) facts_.adds_prefix_space = false;
    prefix_after_added_ = facts_.adds_prefix_space && config.legacy.value_or(false);
    own_space_is_prefix_ = true;
  }
  added_.seal();
  text_added_.seal();
  choose_placeholder();

  hash.field(kTokenizerCodeVersion);
  for (const AddedToken& token : added_.all()) {
    hash.field(static_cast<std::uint64_t>(token.id)).field(token.content);
    hash.field(std::uint64_t{token.special} | std::uint64_t{token.lstrip} << 1 |
               std::uint64_t{token.rstrip} << 2 | std::uint64_t{token.control} << 3);
  }
  hash.field(facts_.adds_prefix_space).field(prefix_after_added_).field(own_space_is_prefix_);
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
  const pml::TextSpan space{" "};
  const auto tokens = encode_spans({&space, 1}, /*opens=*/false);
  facts_.placeholder = tokens.ok() && !tokens->front().empty() ? tokens->front().front() : 0;
}

}  // namespace pc
