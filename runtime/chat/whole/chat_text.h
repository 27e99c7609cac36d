// A whole conversation as a chat format writes it, cut where control tokens may be spelled and
// where modules begin and end.
//
// A value. Threads: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pc {

// Bytes of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

struct ChatSpan {
  static constexpr std::uint32_t kNoModule = UINT32_MAX;

  std::string text;
  bool markup = true;                // control tokens are recognised; else their spelling is text
  std::uint32_t module = kNoModule;  // that it is a part of, numbered in order
};

// Invariant: spans of one module stand side by side; a text that spans make has no empty one.
struct ChatText {
  std::vector<ChatSpan> spans;
  std::size_t n_head = 0;     // of them, the first that all modules stand behind
  std::size_t n_opening = 0;  // of those, what the format writes before anything that was said
  std::vector<std::string> remarks;  // what could not be a module, and why

  std::string text() const {
    std::string text;
    for (const ChatSpan& span : spans) text += span.text;
    return text;
  }
};

// Cuts a text. `plain`: where control tokens are text, in any order; `modules`: in order, none in
// another; `opening`: as the spans' of it, in bytes, no more than `head`. What lies behind the
// text's end does not count.
ChatText cut_chat(const std::string& text, const std::vector<TextRange>& plain,
                  const std::vector<TextRange>& modules, std::size_t head, std::size_t opening);

}  // namespace pc
