#include "runtime/chat/turn_texts.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat/jinja_value.h"

namespace pc {
namespace {

using jinja::Value;
using Strings = std::vector<std::string>;

std::string_view name_of(pml::Role role) {
  constexpr std::string_view kNames[] = {"system", "user", "assistant"};
  return kNames[static_cast<std::size_t>(role)];
}

// White space around a mark. Sides differ in length, so that what a template kept
// of them is never in doubt.
struct Margin {
  std::string_view left, right;
};
constexpr Margin kNoMargin = {"", ""};
constexpr Margin kSpaces = {" \n ", " \n\n  "};      // outermost: spaces
constexpr Margin kLineEnds = {"\n \n", "\n  \n\n"};  // outermost: line ends

// A word that no template knows, for turn i: of letters alone, none part of another.
std::string mark(std::string_view stem, std::size_t i) {
  std::string letters;
  for (int digit = 0; digit < 4; ++digit, i /= 16) letters += static_cast<char>('a' + i % 16);
  return std::string(stem) + letters + "x";
}

// A rendering cut at its marks: the text before the first, between, behind the last.
class Probe {
 public:
  Probe(const ChatProgram& program, std::span<const pml::Role> turns, const ChatOptions& options,
        bool in_parts)
      : program_(program), turns_(turns), options_(options), in_parts_(in_parts) {}

  Result<Strings> cut(std::size_t n_turns, std::string_view stem, const Margin& margin,
                      bool answers) const;
  std::size_t n() const { return turns_.size(); }
  pml::Role role(std::size_t turn) const { return turns_[turn]; }
  const std::string& bos() const { return program_.tokens().bos; }
  Error refuse(std::size_t turn, std::string_view what) const;

 private:
  Result<Value> messages(std::size_t n_turns, std::string_view stem, const Margin& margin) const;
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
                              const Margin& margin) const {
  std::vector<Value> all;
  for (std::size_t i = 0; i < n_turns; ++i) {
    PC_TRY(Value text,
           content(std::string(margin.left) + mark(stem, i) + std::string(margin.right)));
    PC_TRY(Value message, object({{jinja::word("role"), jinja::word(name_of(turns_[i]))},
                                  {jinja::word("content"), std::move(text)}}));
    all.push_back(std::move(message));
  }
  return jinja::make_list(nullptr, std::move(all));
}

Result<Strings> Probe::cut(std::size_t n_turns, std::string_view stem, const Margin& margin,
                           bool answers) const {
  PC_TRY(const Value conversation, messages(n_turns, stem, margin));
  ChatOptions options = options_;
  options.add_generation_prompt = answers;
  PC_TRY(const std::string text, program_.render(conversation, jinja::none(), options));
  Strings parts;
  std::size_t end = 0;
  for (std::size_t i = 0; i < n_turns; ++i) {
    const std::string word = mark(stem, i);
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

// What stands between turn i - 1 and turn i, as the closing of the one and the
// opening of the other.
Status split(const Probe& probe, std::string_view stem, std::size_t i, const std::string& between,
             pml::TurnTexts* texts) {
  const auto alone = probe.cut(i, stem, kNoMargin, false);
  const std::string closing = alone.ok() ? alone->back() : between;
  const bool fits = between.starts_with(closing);
  texts->turns[i - 1].close = fits ? closing : between;
  texts->turns[i].open = fits ? between.substr(closing.size()) : "";
  return ok();
}

Result<pml::TurnTexts> strings_of(const Probe& probe, std::string_view stem) {
  PC_TRY(const Strings whole, probe.cut(probe.n(), stem, kNoMargin, false));
  PC_TRY(const Strings asked, probe.cut(probe.n(), stem, kNoMargin, true));
  pml::TurnTexts texts;
  texts.turns.resize(probe.n());
  for (std::size_t i = 0; i < probe.n(); ++i) {
    if (whole[i] != asked[i])
      return probe.refuse(i, "writes otherwise, where an answer is to follow, what opens");
    if (i == 0)
      texts.turns[0].open = whole[0];
    else
      PC_CHECK_OK(split(probe, stem, i, whole[i], &texts));
  }
  const std::string &closing = whole.back(), &opening = asked.back();
  const bool fits = opening.starts_with(closing);
  const bool is_answered = probe.role(probe.n() - 1) == pml::Role::kAssistant;
  texts.turns.back().close = fits || is_answered ? closing : "";
  texts.answer = fits ? opening.substr(closing.size()) : is_answered ? "" : opening;
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
Result<Trims> trims_of(const Probe& probe, std::string_view stem, const Margin& margin) {
  PC_TRY(const Strings plain, probe.cut(probe.n(), stem, kNoMargin, true));
  PC_TRY(const Strings wide, probe.cut(probe.n(), stem, margin, true));
  Trims trims{std::vector<bool>(probe.n()), std::vector<bool>(probe.n())};
  for (std::size_t i = 0; i <= probe.n(); ++i) {
    bool found = false;
    for (const bool keeps_right : {true, false}) {
      for (const bool keeps_left : {true, false}) {
        if ((i == 0 && keeps_right) || (i == probe.n() && keeps_left)) continue;
        const std::string expected = std::string(keeps_right ? margin.right : "") + plain[i] +
                                     std::string(keeps_left ? margin.left : "");
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
  PC_TRY(pml::TurnTexts texts, strings_of(probe, kStem));
  PC_TRY(const pml::TurnTexts others, strings_of(probe, kOtherStem));
  if (texts != others)
    return error(Code::kUnsupported,
                 "the model's chat template writes around a turn what depends on the turn's text");
  PC_TRY(const Trims trims, trims_of(probe, kStem, kSpaces));
  PC_TRY(const Trims by_lines, trims_of(probe, kStem, kLineEnds));
  for (std::size_t i = 0; i < probe.n(); ++i) {
    if (trims.left[i] != by_lines.left[i] || trims.right[i] != by_lines.right[i])
      return probe.refuse(i, "strips line ends, but not spaces, from the text of");
    texts.turns[i].trims_left = trims.left[i];
    texts.turns[i].trims_right = trims.right[i];
  }
  return texts;
}

}  // namespace

Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options) {
  if (turns.empty()) return pml::TurnTexts();
  auto texts = texts_of(Probe(program, turns, options, false));
  if (texts.ok()) return texts;
  // Some templates take contents as lists of parts alone.
  auto from_parts = texts_of(Probe(program, turns, options, true));
  return from_parts.ok() ? std::move(from_parts) : std::move(texts);
}

}  // namespace pc
