// What a prompt writes, its text and the strings of its turns, as tokens.
//
// Text and strings that stand side by side are encoded as the one text that
// they are; the schema's pieces and the arguments, which were encoded before,
// stand between such groups.
//
// Borrows layout, prompt and encoder. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/layout/flat_prompt.h"
#include "pml/layout/layout.h"
#include "pml/plan/placement.h"
#include "pml/syntax/prompt.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// What the chat format writes around the turns of this conversation, and a
// remark where the schema's own turns were encoded with other strings.
// Errors: kPmlSemantic at a turn of the prompt, where there is no format or it
// has no such conversation.
Result<TurnTexts> read_turns(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder,
                             FlatPrompt& flat);

class PromptText {
 public:
  // `may_open`: what comes first may be what opens the text.
  PromptText(const Layout& layout, const FlatPrompt& flat, const TurnTexts& texts,
             const TextEncoder& encoder, bool may_open)
      : layout_(layout), flat_(flat), texts_(texts), encoder_(encoder), may_open_(may_open) {}

  // `before`: white space of the schema's in front of it.
  void add(const PromptNode& text, std::string_view before);
  void open_turn(std::uint32_t turn);                       // of FlatPrompt::turns
  void close_turn(std::uint32_t turn, std::uint32_t item);  // item: its fresh piece, or kNone
  void open_answer();

  // Appends what was added since the last call, as steps.
  Status flush(std::vector<Step>& steps);

 private:
  struct Span {
    TextSpan text;
    Place place;
    std::uint32_t turn = kNone;
    Position floor = 0;
    bool ends_user = false;
  };
  void add_markup(Place place, const std::string& text);
  bool opens(const std::vector<Step>& steps) const;

  const Layout& layout_;
  const FlatPrompt& flat_;
  const TurnTexts& texts_;
  const TextEncoder& encoder_;
  const bool may_open_;
  std::vector<Span> spans_;     // that stand side by side
  std::uint32_t turn_ = kNone;  // that is open
  bool trims_ = false;          // the text that comes next loses its leading white space
  bool open_ = false;           // a turn of these spans is open
  bool closes_ = false;         // a turn is closed that was open before these spans
  std::uint64_t n_fresh_ = 0;
};

}  // namespace pc::pml
