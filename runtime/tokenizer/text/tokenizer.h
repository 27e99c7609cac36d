// Text to tokens and back: the interface that every kind of tokenizer meets.
//
// A Tokenizer is an owner, immutable after load but for what it remembers of texts; const methods
// from any thread.
//
// A text is encoded whole, as the model's publisher would encode it, or as spans:
// parts that stand side by side, some written by users, some strings of a chat
// template. Spans are tokenised as the one text that they are, so that the tokens
// of a conversation are those of the whole rendered string, and then dealt back.
//
// What the publisher's files call a control token ("<|im_start|>", "</s>") is
// recognised in markup alone: in text its spelling stays plain text. Added tokens
// that the files call no control tokens are vocabulary, in text too (the runs of
// spaces of some models, the "<think>" of others); is_control() draws the line.
// Nothing here adds BOS or EOS; facts() tells who wants them.
//
// The dummy prefix: sentencepiece models of the Llama kind put a space in front
// of a text, so that "Hello" at its start is the token "▁Hello"; some do so behind
// every control token, some at the start alone. A text that goes on gets none.
//
// Invariants: every id that encode* returns is in [0, vocab_size()). Encoding is a
// function of digest() and what encode* is given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"  // Digest
#include "base/status.h"
#include "pml/turns/text_encoder.h"  // TokenId, Tokens
#include "runtime/tokenizer/text/added_tokens.h"
#include "runtime/tokenizer/text/fim_tokens.h"
#include "runtime/tokenizer/text/joint_text.h"  // kMaxTextBytes
#include "runtime/tokenizer/text/remembered_stretches.h"
#include "runtime/tokenizer/text/text_cuts.h"
#include "runtime/tokenizer/text/text_watch.h"

namespace pc {

struct TokenizerConfig;

// What a tokenizer tells about itself.
struct TokenizerFacts {
  std::string description;  // "sentencepiece bpe, 32000 pieces"
  // Highest id + 1. The model's own may be larger (padding), never smaller.
  std::uint32_t vocab_size = 0;
  std::optional<TokenId> bos, eos, unk;
  std::vector<TokenId> turn_ends;  // tokens beside eos that end an answer, as far as the file says
  bool add_bos = false;            // BOS stands at the start of every prompt; implies bos
  Tokens text_end;                 // what the publisher puts behind a whole text that is embedded
  TokenId placeholder = 0;  // unk, or the first token of a space where there is none of its own
  // A text gets a dummy prefix; so decoding a whole text, an answer that is one included,
  // begins with one space too many.
  bool adds_prefix_space = false;
  FimTokens fim;
  std::string chat_template;  // Jinja text found beside the tokenizer; "" if none
  Digest digest{};            // over all that decides which ids a text becomes
};

class Tokenizer {
 public:
  virtual ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // A whole text: one span of text that opens. Errors: kInvalidArgument for
  // invalid UTF-8 (the byte is named) or more than kMaxTextBytes;
  // kCancelled where the progress, which is called for long texts, asked to stop.
  Result<Tokens> encode(std::string_view text, const Progress& progress = {}) const;

  // The tokens of each span, [spans.size()]. A token that crosses a border belongs
  // to the span in which it begins (a character that a normaliser composes over a
  // border: to the first), white space that a control token swallows to none.
  // `opens`: nothing but BOS stands before the spans; else they continue a text.
  // `chat_writes_bos`: the chat format writes that BOS itself, so that markup at the start
  // stands behind a control token. Cost and memory are linear in the text. Errors as
  // above; the byte that they name is counted over all spans together.
  Result<std::vector<Tokens>> encode_spans(std::span<const pml::TextSpan> spans, bool opens,
                                           bool chat_writes_bos = false,
                                           const Progress& progress = {}) const;

  // Appends the bytes that a token stands for; half characters are possible
  // (see Utf8Stream), and a space in front of a text is the caller's to
  // drop (see adds_prefix_space). Control tokens append nothing, or their
  // spelling when asked. An id out of range appends nothing.
  enum class Controls { kHide, kSpell };
  void append_bytes(TokenId id, std::string* out, Controls controls = Controls::kHide) const;
  // What append_bytes appends with kHide; a view of the tokenizer's own.
  std::string_view bytes(TokenId id) const;
  // How a control token is spelled; of other tokens nothing. A view of the tokenizer's own.
  std::string_view spelling(TokenId id) const;
  // A control token, or an id out of range.
  bool is_hidden(TokenId id) const;

  // A character of the text that no token spells, not even in part or as the unknown token: it is
  // left out, as the publisher's tokenizer does. The first; none in most vocabularies.
  virtual std::optional<std::string_view> unspelled(std::string_view) const { return std::nullopt; }

  // An added token that is recognised in text as in markup, so that text never has its bytes
  // otherwise.
  bool is_added_text(TokenId id) const;

  // Where the first spelling of a control token begins in text[from, ...).
  std::optional<std::size_t> find_control(std::string_view text, std::size_t from) const;

  // The id of a vocabulary entry or an added token, spelled as the model's files
  // spell it ("▁the", "Ġthe", "</s>").
  std::optional<TokenId> token_to_id(std::string_view piece) const;

  const TokenizerFacts& facts() const { return facts_; }
  std::uint32_t vocab_size() const { return facts_.vocab_size; }
  std::optional<TokenId> bos() const { return facts_.bos; }
  std::optional<TokenId> eos() const { return facts_.eos; }
  std::optional<TokenId> unk() const { return facts_.unk; }
  bool add_bos() const { return facts_.add_bos; }
  TokenId placeholder() const { return facts_.placeholder; }
  const Digest& digest() const { return facts_.digest; }

 protected:
  enum class Prefix { kNone, kPublished };  // is a dummy prefix due?

  Tokenizer() = default;

  // What each kind of tokenizer calls while it loads. It first sets the vocabulary's own
  // entries (bytes_, hidden_), then adds the added tokens, and then calls complete() with a
  // hash of everything else that decides about ids.
  void add_token(const AddedToken& token);
  void complete(const TokenizerConfig& config, bool add_bos_by_default, Sha256 hash);

  TokenizerFacts facts_;
  bool prefix_after_added_ = false;  // the publisher puts a dummy prefix behind added tokens
  bool keeps_leading_space_ = true;  // false: white space at a text's ends is removed
  std::vector<std::string> bytes_;   // [vocab_size] what each token stands for
  std::vector<bool> hidden_;         // [vocab_size] control tokens

 private:
  // One stretch of valid UTF-8 without added tokens, appended to *out. `cuts` lie
  // inside the text; each becomes the number of appended tokens that begin before it.
  virtual Status encode_stretch(std::string_view text, Prefix prefix, Cuts cuts, TextWatch& watch,
                                Tokens* out) const = 0;
  virtual std::optional<TokenId> find_piece(std::string_view piece) const = 0;

  Result<std::vector<Tokens>> encode_joint(std::span<const pml::TextSpan> spans, Prefix prefix,
                                           const Progress& progress) const;
  const AddedToken* next_added(const JointText& joint, std::size_t from, std::size_t* at) const;
  Status encode_part(std::string_view stretch, std::size_t begin, Prefix prefix, TextWatch& watch,
                     JointText* joint) const;
  Prefix adjusted(Prefix prefix, std::string_view stretch) const;
  void choose_placeholder();

  bool own_space_is_prefix_ = false;  // a text's own first space stands for the dummy prefix
  AddedTokens added_;                 // recognised in markup
  AddedTokens text_added_;            // those that are no control tokens: in text too
  mutable RememberedStretches remembered_;
};

}  // namespace pc
