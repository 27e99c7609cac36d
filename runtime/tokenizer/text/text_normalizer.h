// What a tokenizer does to a text before it splits it, by the rules under
// "normalizer" in tokenizer.json. The home of utf8proc.
//
// Supported: NFC, Prepend, Replace (of a String), and Sequence of these.
// A value, immutable after load; threads: const methods from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/text/text_cuts.h"

namespace pc {

// Unicode's canonical composition. Precondition: valid UTF-8. Linear in the
// text, but for sorting each run of combining marks.
std::string to_nfc(std::string_view text);

// Precondition: `from` is not empty.
void replace_all(std::string_view from, std::string_view to, std::string* text, Cuts cuts = {});

// Cuts in a text become those in its NFC. A character that is composed over a cut
// lies before it.
void move_cuts_to_nfc(std::string_view text, std::string_view nfc, Cuts cuts);

class TextNormalizer {
 public:
  // Absent: a text stays as it is. Errors: kUnsupported, kCorrupt, naming the field.
  static Result<TextNormalizer> from_json(std::optional<JsonView> rules);

  // `with_prefix`: what Prepend puts in front of a text is due, before all cuts.
  // The cuts in the text become those in the result.
  std::string apply(std::string_view text, bool with_prefix, Cuts cuts = {}) const;

  bool adds_prefix() const;

 private:
  struct Step {
    enum class Kind { kNfc, kPrepend, kReplace };
    Kind kind;
    std::string from = {}, to = {};  // kPrepend: to; kReplace: both
  };

  Status add(JsonView rule);
  Status add_sequence(JsonView rule);
  Status add_prepend(JsonView rule);
  Status add_replace(JsonView rule);

  std::vector<Step> steps_;
};

}  // namespace pc
