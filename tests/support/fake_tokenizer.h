// A tokenizer for tests of the language: one token a word (with the white
// space before it), any words at all. Text and markup never share a token, so
// a test sees when one was taken for the other.
#pragma once

#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pml/turns/chat_template.h"
#include "pml/turns/text_encoder.h"

namespace pc::test {

class FakeTokenizer {
 public:
  static constexpr TokenId kPlaceholder = 0;
  static constexpr TokenId kBos = 1;

  // "\s*\S+" again and again, and what white space is left at the end.
  static std::vector<std::string> words(std::string_view text) {
    const auto space = [&](std::size_t i) {
      return std::isspace(static_cast<unsigned char>(text[i])) != 0;
    };
    std::vector<std::string> out;
    for (std::size_t begin = 0, i = 0; begin < text.size(); begin = i) {
      while (i < text.size() && space(i)) ++i;
      while (i < text.size() && !space(i)) ++i;
      out.emplace_back(text.substr(begin, i - begin));
    }
    return out;
  }

  Tokens text(std::string_view text) const {
    Tokens tokens;
    for (const std::string& word : words(text)) tokens.push_back(id('t', word));
    return tokens;
  }

  // A string of the chat format is one token.
  Tokens markup(std::string_view text) const { return {id('m', std::string(text))}; }
  // Another token, which decodes the same, where it opens the text.
  Tokens opening_markup(std::string_view text) const {
    const TokenId token = id('o', std::string(text));
    state_->openings.insert(token);
    return {token};
  }

  bool is_opening(TokenId token) const { return state_->openings.count(token) != 0; }
  // The same tokens with plain markup where opening markup stands.
  Tokens without_opening(Tokens tokens) const {
    for (TokenId& token : tokens)
      if (is_opening(token)) token = id('m', decode({token}));
    return tokens;
  }

  std::string decode(const Tokens& tokens) const {
    std::string out;
    for (const TokenId token : tokens) {
      if (token == kPlaceholder)
        out += "_";
      else if (token == kBos)
        out += "<s>";
      else
        out += state_->words[static_cast<std::size_t>(token) - 2];
    }
    return out;
  }

  // Shares this tokenizer's dictionary. Words do not grow over the borders of
  // spans, so that a test sees them.
  pml::TextEncoder encoder(std::optional<pml::ChatTemplate> chat = {},
                           bool with_bos = false) const {
    pml::TextEncoder encoder;
    encoder.encode = [self = *this](std::span<const pml::TextSpan> spans,
                                    bool opens) -> Result<std::vector<Tokens>> {
      std::vector<Tokens> tokens;
      for (const pml::TextSpan& span : spans) {
        if (span.text.empty())
          tokens.emplace_back();
        else if (!span.markup)
          tokens.push_back(self.text(span.text));
        else
          tokens.push_back(opens && &span == &spans[0] ? self.opening_markup(span.text)
                                                       : self.markup(span.text));
      }
      return tokens;
    };
    if (with_bos) encoder.bos = kBos;
    encoder.placeholder = kPlaceholder;
    if (chat) encoder.chat = pml::chat_format(*std::move(chat));
    return encoder;
  }

 private:
  struct State {
    std::map<std::pair<char, std::string>, TokenId> ids;
    std::vector<std::string> words;
    std::set<TokenId> openings;
  };

  TokenId id(char kind, const std::string& word) const {
    const auto [it, added] =
        state_->ids.emplace(std::pair(kind, word), static_cast<TokenId>(state_->words.size()) + 2);
    if (added) state_->words.push_back(word);
    return it->second;
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A chat format whose strings show what they are.
inline pml::ChatTemplate bracket_chat() {
  return {"brackets",
          {"[sys:", ":sys]"},
          {"[user:", ":user]"},
          {"[asst:", ":asst]"},
          "[user-after-sys:",
          "[user-after-asst:",
          "[answer:"};
}

// One token a byte, no dictionary: for hostile input.
inline pml::TextEncoder byte_encoder() {
  pml::TextEncoder encoder;
  encoder.encode = [](std::span<const pml::TextSpan> spans,
                      bool opens) -> Result<std::vector<Tokens>> {
    std::vector<Tokens> all;
    for (const pml::TextSpan& span : spans) {
      const TokenId base = !span.markup ? 256 : opens && all.empty() ? 768 : 512;
      Tokens& tokens = all.emplace_back();
      for (const char c : span.text) tokens.push_back(base + static_cast<unsigned char>(c));
    }
    return all;
  };
  encoder.bos = FakeTokenizer::kBos;
  encoder.chat = pml::chat_format(bracket_chat());
  return encoder;
}

}  // namespace pc::test
