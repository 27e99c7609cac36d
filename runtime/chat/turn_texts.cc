#include "runtime/chat/turn_texts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat/jinja_value.h"

namespace pc {
namespace {

using jinja::Value;
using Strings = std::vector<std::string>;

// Turns of one conversation. The template is run for each of its beginnings, so the
// work grows with the square: these take seconds, and 65,536 would take hours.
constexpr std::size_t kMaxTurns = 1024;

std::string_view name_of(pml::Role role) {
  constexpr std::string_view kNames[] = {"system", "user", "assistant"};
  return kNames[static_cast<std::size_t>(role)];
}

// A content: left + mark + inside + mark + right. Where there is white space around, its
// sides differ in length, so that what a template kept of them is never in doubt.
struct Shape {
  std::string_view left, right, inside;
};
constexpr Shape kPlain = {"", "", ""};
// What a template that escapes, folds or replaces would not leave as it is.
constexpr Shape kOdd = {"", "", "\n\n\n  \t\r\n\"'\\\\n{}%&<>|\u00e9\u6f22\U0001F600 "};
constexpr Shape kSpaces = {" \n ", " \n\n  ", ""};      // outermost: spaces
constexpr Shape kLineEnds = {"\n \n", "\n  \n\n", ""};  // outermost: line ends

// A word that no template knows, for turn i: of letters alone, none part of another.
std::string mark(std::string_view stem, std::size_t i, const Shape& shape) {
  std::string letters;
  for (int digit = 0; digit < 4; ++digit, i /= 16) letters += static_cast<char>('a' + i % 16);
  const std::string word = std::string(stem) + letters + "x";
  return shape.inside.empty() ? word : word + std::string(shape.inside) + word;
}

// A rendering cut at its marks: the text before the first, between, behind the last.
class Probe {
 public:
  Probe(const ChatProgram& program, std::span<const pml::Role> turns, const ChatOptions& options,
        bool in_parts)
      : program_(program), turns_(turns), options_(options), in_parts_(in_parts) {}

  Result<Strings> cut(std::size_t n_turns, std::string_view stem, const Shape& shape,
                      bool answers) const;
  std::size_t n() const { return turns_.size(); }
  pml::Role role(std::size_t turn) const { return turns_[turn]; }
  const std::string& bos() const { return program_.tokens().bos; }
  Error refuse(std::size_t turn, std::string_view what) const;

 private:
  Result<Value> messages(std::size_t n_turns, std::string_view stem, const Shape& shape) const;
  Result<Value> content(std::string text) const;

  const ChatProgram& program_;
  std::span<const pml::Role> turns_;
  const ChatOptions& options_;
  bool in_parts_;
};

Error Probe::refuse(std::size_t turn, std::string_view what) const {
  return error(Code::kUnsupported, "the model's chat template " + std::string(what) + " turn " +
                                       std::to_string(turn + 1) + " (" +
                                       std::string(name_of(turns_[turn])) + ")");
}

Result<Value> object(std::vector<std::pair<Value, Value>> entries) {
  return jinja::make_dict(nullptr, std::move(entries));
}

Result<Value> Probe::content(std::string text) const {
  PC_TRY(Value plain, jinja::make_string(nullptr, std::move(text)));
  if (!in_parts_) return plain;
  PC_TRY(Value part, object({{jinja::word("type"), jinja::word("text")},
                             {jinja::word("text"), std::move(plain)}}));
  return jinja::make_list(nullptr, {std::move(part)});
}

Result<Value> Probe::messages(std::size_t n_turns, std::string_view stem,
                              const Shape& shape) const {
  std::vector<Value> all;
  for (std::size_t i = 0; i < n_turns; ++i) {
    PC_TRY(Value text,
           content(std::string(shape.left) + mark(stem, i, shape) + std::string(shape.right)));
    PC_TRY(Value message, object({{jinja::word("role"), jinja::word(name_of(turns_[i]))},
                                  {jinja::word("content"), std::move(text)}}));
    all.push_back(std::move(message));
  }
  return jinja::make_list(nullptr, std::move(all));
}

Result<Strings> Probe::cut(std::size_t n_turns, std::string_view stem, const Shape& shape,
                           bool answers) const {
  PC_TRY(const Value conversation, messages(n_turns, stem, shape));
  ChatOptions options = options_;
  options.add_generation_prompt = answers;
  PC_TRY(const std::string text, program_.render(conversation, jinja::none(), options));
  Strings parts;
  std::size_t end = 0;
  for (std::size_t i = 0; i < n_turns; ++i) {
    const std::string word = mark(stem, i, shape);
    const std::size_t at = text.find(word);
    if (at == text.npos) return refuse(i, "leaves out or changes the text of");
    if (text.find(word, at + 1) != text.npos) return refuse(i, "repeats the text of");
    if (at < end) return refuse(i, "puts in front of the turn before it the text of");
    parts.push_back(text.substr(end, at - end));
    end = at + word.size();
  }
  parts.push_back(text.substr(end));
  return parts;
}

// The beginning that two texts behind a turn share, up to the end of a line or of a
// tag: what closes the turn whatever follows it.
std::string shared_closing(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  std::string_view shared = a.substr(0, static_cast<std::size_t>(end - a.begin()));
  if (shared.size() < a.size()) shared = shared.substr(0, shared.find_last_of(">]\n") + 1);
  return std::string(shared);
}

// What stands between turn i - 1 and turn i, as the closing of the one and the
// opening of the other.
Status split(const Probe& probe, std::string_view stem, const Shape& shape, std::size_t i,
             const std::string& between, pml::TurnTexts* texts) {
  const auto alone = probe.cut(i, stem, shape, false);
  const std::string closing = alone.ok() ? shared_closing(alone->back(), between) : "";
  const bool fits = !closing.empty() || (alone.ok() && alone->back().empty());
  texts->turns[i - 1].close = fits ? closing : between;
  texts->turns[i].open = fits ? between.substr(closing.size()) : "";
  return ok();
}

Result<pml::TurnTexts> strings_of(const Probe& probe, std::string_view stem, const Shape& shape) {
  PC_TRY(const Strings whole, probe.cut(probe.n(), stem, shape, false));
  PC_TRY(const Strings asked, probe.cut(probe.n(), stem, shape, true));
  pml::TurnTexts texts;
  texts.turns.resize(probe.n());
  for (std::size_t i = 0; i < probe.n(); ++i) {
    if (whole[i] != asked[i])
      return probe.refuse(i, "writes otherwise, where an answer is to follow, what opens");
    if (i == 0)
      texts.turns[0].open = whole[0];
    else
      PC_CHECK_OK(split(probe, stem, shape, i, whole[i], &texts));
  }
  const std::string &closing = whole.back(), &opening = asked.back();
  const bool fits = opening.starts_with(closing);
  const bool is_answered = probe.role(probe.n() - 1) == pml::Role::kAssistant;
  texts.turns.back().close = fits || is_answered ? closing : shared_closing(closing, opening);
  texts.answer = !fits && is_answered ? "" : opening.substr(texts.turns.back().close.size());
  std::string& first = texts.turns[0].open;
  texts.bos = !probe.bos().empty() && first.starts_with(probe.bos());
  if (texts.bos) first.erase(0, probe.bos().size());
  return texts;
}

struct Trims {
  std::vector<bool> left, right;  // [n_turns]
  friend bool operator==(const Trims&, const Trims&) = default;
};

// Which ends of contents the template stripped of this white space.
Result<Trims> trims_of(const Probe& probe, std::string_view stem, const Shape& shape) {
  PC_TRY(const Strings plain, probe.cut(probe.n(), stem, kPlain, true));
  PC_TRY(const Strings wide, probe.cut(probe.n(), stem, shape, true));
  Trims trims{std::vector<bool>(probe.n()), std::vector<bool>(probe.n())};
  for (std::size_t i = 0; i <= probe.n(); ++i) {
    bool found = false;
    for (const bool keeps_right : {true, false}) {
      for (const bool keeps_left : {true, false}) {
        if ((i == 0 && keeps_right) || (i == probe.n() && keeps_left)) continue;
        const std::string expected = std::string(keeps_right ? shape.right : "") + plain[i] +
                                     std::string(keeps_left ? shape.left : "");
        if (found || wide[i] != expected) continue;
        found = true;
        if (i > 0) trims.right[i - 1] = !keeps_right;
        if (i < probe.n()) trims.left[i] = !keeps_left;
      }
    }
    if (!found)
      return probe.refuse(i == probe.n() ? i - 1 : i,
                          "changes white space at the ends of texts near");
  }
  return trims;
}

Result<pml::TurnTexts> texts_of(const Probe& probe) {
  constexpr std::string_view kStem = "quorvexil", kOtherStem = "zumbrakoltifenhadj";
  PC_TRY(pml::TurnTexts texts, strings_of(probe, kStem, kPlain));
  PC_TRY(const pml::TurnTexts others, strings_of(probe, kOtherStem, kOdd));
  if (texts != others)
    return error(Code::kUnsupported,
                 "the model's chat template writes around a turn what depends on the turn's text");
  PC_TRY(const Trims trims, trims_of(probe, kStem, kSpaces));
  PC_TRY(const Trims by_lines, trims_of(probe, kStem, kLineEnds));
  if (trims != by_lines)
    return error(Code::kUnsupported,
                 "the model's chat template strips some white space from texts, and keeps other");
  for (std::size_t i = 0; i < probe.n(); ++i) {
    texts.turns[i].trims_left = trims.left[i];
    texts.turns[i].trims_right = trims.right[i];
  }
  return texts;
}

}  // namespace

Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options) {
  if (turns.empty()) return pml::TurnTexts();
  if (turns.size() > kMaxTurns)
    return error(Code::kUnsupported,
                 "a conversation of " + std::to_string(turns.size()) +
                     " turns is too long for the model's own chat template, which is run for at "
                     "most " +
                     std::to_string(kMaxTurns) + "; name a format (--chat-template)");
  auto texts = texts_of(Probe(program, turns, options, false));
  if (texts.ok()) return texts;
  // Some templates take contents as lists of parts alone.
  auto from_parts = texts_of(Probe(program, turns, options, true));
  return from_parts.ok() ? std::move(from_parts) : std::move(texts);
}

}  // namespace pc
