// Splits a text into the words that BPE merges within, by the rules under
// "pre_tokenizer" in tokenizer.json.
//
// Supported: ByteLevel, Split (behavior Isolated, MergedWithPrevious, or Removed with invert),
// Digits, Punctuation (Contiguous, Isolated), Metaspace, and Sequence of these.
// Move-only owner, immutable after load; threads: const methods from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/regex.h"
#include "runtime/tokenizer/text/text_cuts.h"

namespace pc {

// A text and where its words end: ends are increasing, the last is text.size();
// no word is empty.
struct Words {
  std::string text;
  std::vector<std::uint32_t> ends;
};

class Pretokenizer {
 public:
  // Absent: every text is one word. Errors: kUnsupported, kCorrupt, naming the field.
  static Result<Pretokenizer> from_json(std::optional<JsonView> rules);

  // Splits a text; `with_prefix`: its start may get the dummy prefix, before all
  // cuts. The cuts in the text become those in the words' text.
  // Precondition: valid UTF-8. Errors: kUnsupported from a pattern over its limits.
  Result<Words> split(std::string text, bool with_prefix, Cuts cuts = {}) const;

  bool is_byte_level() const { return byte_level_; }  // words are in that alphabet
  bool adds_prefix() const { return adds_prefix_; }
  bool prefix_after_added() const { return prefix_after_added_; }

 private:
  struct Step {
    enum class Kind {
      kIsolate,
      kKeepMatches,
      kMergePrevious,
      kByteLevel,
      kMetaspace,
      kMetaspaceSplit
    };
    Kind kind;
    std::optional<Regex> regex = {};  // of the first three
    std::string prefix = {};          // put in front of a text that does not start with it
    std::string mark = {};            // of kMetaspace*: stands for a space
  };

  Status add(JsonView rule);
  Status add_sequence(JsonView rule);
  Status add_byte_level(JsonView rule);
  Status add_split(JsonView rule);
  Status add_digits(JsonView rule);
  Status add_punctuation(JsonView rule);
  Status add_metaspace(JsonView rule);
  Status add_regex(JsonView rule, Step::Kind kind, std::string_view pattern, Regex::Syntax syntax);
  static Status apply(const Step& step, Cuts cuts, Words* words);

  std::vector<Step> steps_;
  bool byte_level_ = false;
  bool adds_prefix_ = false;
  bool prefix_after_added_ = false;
};

}  // namespace pc
