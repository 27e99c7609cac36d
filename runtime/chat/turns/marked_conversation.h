// A conversation whose contents are marks, words that no template knows: where they stand in
// the text that a template makes of it shows what the template writes around the turns.
//
// Borrows what AskedTurns point to, and the marks. Threads: const from any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/turns/text_encoder.h"  // Role
#include "runtime/chat/program/chat_program.h"

namespace pc {

// The turns that a template is asked for.
struct AskedTurns {
  const ChatProgram& program;
  std::span<const pml::Role> turns;
  const ChatOptions& options;  // add_generation_prompt does not count

  std::size_t n() const { return turns.size(); }
  Error refuse(std::size_t turn, std::string_view what) const;  // "the template WHAT turn ..."
};

// A content: left + word + right, or left + word + inside + word + right. Words begin with the
// stem: letters alone, no part of which is its beginning.
struct Marks {
  std::string_view stem, left = "", right = "", inside = "";
};

class MarkedConversation {
 public:
  // At most so many turns have words of their own.
  static constexpr std::size_t kMaxTurns = 65536;

  // `in_parts`: contents are lists of one part. Precondition: at most kMaxTurns turns.
  static Result<MarkedConversation> make(const AskedTurns& conversation, const Marks& marks,
                                         bool in_parts);

  // [n_turns + 1]: the template's text of the first n_turns, before the first mark, between
  // them and behind the last. `answers`: an answer is to follow.
  // Errors: of the template, and marks that are not all there, once and in order.
  Result<std::vector<std::string>> cut(std::size_t n_turns, bool answers) const;

  const AskedTurns& conversation() const { return conversation_; }

 private:
  struct Found {
    std::size_t at = 0, times = 0;
  };

  explicit MarkedConversation(const AskedTurns& conversation, std::string_view stem)
      : conversation_(conversation), stem_(stem) {}
  std::vector<Found> find(std::string_view text, std::size_t n_turns) const;

  AskedTurns conversation_;
  std::string_view stem_;
  std::vector<std::string> marks_;      // [n_turns]
  std::vector<jinja::Value> messages_;  // [n_turns]
};

}  // namespace pc
