#include "runtime/tokenizer/bpe/pretokenizer.h"

#include <utility>

#include "base/utf8.h"
#include "runtime/tokenizer/bpe/byte_level.h"

namespace pc {
namespace {

// GPT-2's own pattern, which ByteLevel means when it splits by itself: a
// contraction, a word, a number or a run of signs, each with the space in front
// of it; then white space, of which the last character goes to the next word.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kPunctuation = R"([\p{P}$+<=>^`|~])";  // ASCII's, and Unicode's P

// DeepSeek's pattern for white space at a text's end, and the same in linear
// time: tried once for each run of white space instead of at each of its places.
constexpr std::string_view kTrailingSpace = R"(\s+$)", kTrailingSpaceOnce = R"((?<!\s)\s++$)";

constexpr std::size_t kMaxPatternBytes = 4096;
constexpr std::size_t kMaxSteps = 16;

Error unsupported(JsonView rule, std::string_view field, std::string_view value,
                  std::string_view supported) {
  return rule.error(Code::kUnsupported, std::string(field) + " \"" + std::string(value) +
                                            "\" is not supported; " + std::string(supported) +
                                            " is");
}

// Calls visit(begin, end) for each word.
template <class Visit>
void each_word(const Words& words, Visit visit) {
  std::size_t begin = 0;
  for (const std::uint32_t end : words.ends) {
    visit(begin, end);
    begin = end;
  }
}

// Appends text[begin, end) as a word, if it is not empty.
void push_word(const std::string& text, std::size_t begin, std::size_t end, Words* out) {
  if (begin == end) return;
  out->text.append(text, begin, end - begin);
  out->ends.push_back(static_cast<std::uint32_t>(out->text.size()));
}

// What becomes of the text between matches: words of its own, nothing, or the
// beginning of the match's word.
enum class Between { kWord, kNothing, kPrevious };

Status split_words(const Regex& regex, Between between, Cuts cuts, Words* words) {
  Words out;
  MovingCuts moving(cuts);
  std::vector<Regex::Span> matches;
  std::size_t begin = 0;
  for (const std::uint32_t end : words->ends) {
    matches.clear();
    PC_CHECK_OK(regex.find_all(std::string_view(words->text).substr(begin, end - begin), &matches));
    std::size_t at = begin;
    for (const Regex::Span match : matches) {
      if (between == Between::kWord) push_word(words->text, at, begin + match.begin, &out);
      if (between == Between::kNothing) moving.move(begin + match.begin, out.text.size());
      const std::size_t first = between == Between::kPrevious ? at : begin + match.begin;
      push_word(words->text, first, begin + match.end, &out);
      at = begin + match.end;
      moving.move(at, out.text.size());
    }
    if (between != Between::kNothing) push_word(words->text, at, end, &out);
    moving.move(end, out.text.size());
    begin = end;
  }
  *words = std::move(out);
  return ok();
}

void map_to_bytes(Cuts cuts, Words* words) {
  Words out;
  out.text.reserve(words->text.size() * 2);
  each_word(*words, [&](std::size_t begin, std::size_t end) {
    for (; !cuts.empty() && cuts.front() <= end; cuts = cuts.subspan(1)) {
      to_byte_level(std::string_view(words->text).substr(begin, cuts.front() - begin), &out.text);
      begin = cuts.front();
      cuts.front() = out.text.size();
    }
    to_byte_level(std::string_view(words->text).substr(begin, end - begin), &out.text);
    out.ends.push_back(static_cast<std::uint32_t>(out.text.size()));
  });
  *words = std::move(out);
}

// Spaces become marks; where words are split, each mark begins one.
void mark_spaces(const std::string& mark, bool split, Cuts cuts, Words* words) {
  Words out;
  MovingCuts moving(cuts);
  each_word(*words, [&](std::size_t begin, std::size_t end) {
    std::size_t word_begin = out.text.size();
    const auto end_word = [&] {
      if (out.text.size() == word_begin) return;
      out.ends.push_back(static_cast<std::uint32_t>(out.text.size()));
      word_begin = out.text.size();
    };
    for (std::size_t i = begin; i < end;) {
      const bool is_mark = words->text.compare(i, mark.size(), mark) == 0;
      if (is_mark || words->text[i] == ' ') {
        if (split) end_word();
        moving.move(i, out.text.size());
        out.text += mark;
        i += is_mark ? mark.size() : 1;
        moving.move(i, out.text.size());
      } else {
        out.text += words->text[i++];
      }
    }
    end_word();
    moving.move(end, out.text.size());
  });
  *words = std::move(out);
}

}  // namespace

Result<Pretokenizer> Pretokenizer::from_json(std::optional<JsonView> rules) {
  Pretokenizer out;
  if (rules) PC_CHECK_OK(out.add(*rules));
  return out;
}

Status Pretokenizer::add(JsonView rule) {
  if (steps_.size() >= kMaxSteps) return rule.error(Code::kUnsupported, "more than 16 rules");
  PC_TRY(const JsonView type_field, rule.member("type"));
  PC_TRY(const std::string_view type, type_field.string());
  if (type == "Sequence") return add_sequence(rule);
  if (type == "ByteLevel") return add_byte_level(rule);
  if (type == "Split") return add_split(rule);
  if (type == "Digits") return add_digits(rule);
  if (type == "Punctuation") return add_punctuation(rule);
  if (type == "Metaspace") return add_metaspace(rule);
  return unsupported(rule, "type", type,
                     "ByteLevel, Split, Digits, Punctuation, Metaspace or a Sequence of them");
}

Status Pretokenizer::add_sequence(JsonView rule) {
  PC_TRY(const JsonView list, rule.member("pretokenizers"));
  if (!list.is_array()) return list.error(Code::kCorrupt, "is no list");
  for (std::size_t i = 0; i < list.size(); ++i) PC_CHECK_OK(add(list.at(i)));
  return ok();
}

Status Pretokenizer::add_byte_level(JsonView rule) {
  PC_TRY(const bool add_space, rule.boolean_or("add_prefix_space", true));
  PC_TRY(const bool use_regex, rule.boolean_or("use_regex", true));
  if (byte_level_) return rule.error(Code::kUnsupported, "a second ByteLevel");
  if (add_space && !steps_.empty()) {
    return rule.error(Code::kUnsupported, "add_prefix_space behind another rule");
  }
  if (use_regex) {
    PC_CHECK_OK(add_regex(rule, Step::Kind::kIsolate, kGpt2Pattern, Regex::Syntax::kPattern));
    if (add_space) steps_.back().prefix.assign(1, ' ');
  }
  steps_.push_back({Step::Kind::kByteLevel});
  if (add_space && !use_regex) steps_.back().prefix.assign(1, ' ');
  byte_level_ = true;
  adds_prefix_ = prefix_after_added_ = add_space;
  return ok();
}

Status Pretokenizer::add_split(JsonView rule) {
  PC_TRY(const JsonView pattern, rule.member("pattern"));
  PC_TRY(const JsonView behavior_field, rule.member("behavior"));
  PC_TRY(const std::string_view behavior, behavior_field.string());
  PC_TRY(const bool invert, rule.boolean_or("invert", false));
  Step::Kind kind = Step::Kind::kIsolate;
  if (behavior == "Removed" && invert) {
    kind = Step::Kind::kKeepMatches;
  } else if (behavior == "MergedWithPrevious" && !invert) {
    kind = Step::Kind::kMergePrevious;
  } else if (behavior != "Isolated") {
    return unsupported(rule, "behavior", behavior,
                       "Isolated, MergedWithPrevious, or Removed with invert,");
  }
  if (const auto regex = pattern.find("Regex")) {
    PC_TRY(const std::string_view text, regex->string());
    return add_regex(*regex, kind, text, Regex::Syntax::kPattern);
  }
  PC_TRY(const JsonView literal, pattern.member("String"));
  PC_TRY(const std::string_view text, literal.string());
  return add_regex(literal, kind, text, Regex::Syntax::kLiteral);
}

Status Pretokenizer::add_digits(JsonView rule) {
  PC_TRY(const bool individual, rule.boolean_or("individual_digits", false));
  return add_regex(rule, Step::Kind::kIsolate, individual ? R"(\p{N})" : R"(\p{N}+)",
                   Regex::Syntax::kPattern);
}

Status Pretokenizer::add_punctuation(JsonView rule) {
  PC_TRY(const std::string behavior, rule.string_or("behavior", "Isolated"));
  if (behavior != "Isolated" && behavior != "Contiguous") {
    return unsupported(rule, "behavior", behavior, "Isolated or Contiguous");
  }
  const std::string pattern = std::string(kPunctuation) + (behavior == "Contiguous" ? "+" : "");
  return add_regex(rule, Step::Kind::kIsolate, pattern, Regex::Syntax::kPattern);
}

Status Pretokenizer::add_metaspace(JsonView rule) {
  PC_TRY(const std::string mark, rule.string_or("replacement", "▁"));
  PC_TRY(const bool old_prefix, rule.boolean_or("add_prefix_space", true));
  PC_TRY(const std::string scheme,
         rule.string_or("prepend_scheme", old_prefix ? "always" : "never"));
  PC_TRY(const bool split, rule.boolean_or("split", true));
  if (mark.empty() || mark.size() > 4)
    return rule.error(Code::kCorrupt, "replacement is no character");
  if (!steps_.empty()) return rule.error(Code::kUnsupported, "Metaspace behind another rule");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return unsupported(rule, "prepend_scheme", scheme, "always, first or never");
  }
  adds_prefix_ = scheme != "never";
  prefix_after_added_ = scheme == "always";
  steps_.push_back({split ? Step::Kind::kMetaspaceSplit : Step::Kind::kMetaspace});
  steps_.back().mark = mark;
  if (adds_prefix_) steps_.back().prefix = mark;
  return ok();
}

Status Pretokenizer::add_regex(JsonView rule, Step::Kind kind, std::string_view pattern,
                               Regex::Syntax syntax) {
  if (pattern.empty() || pattern.size() > kMaxPatternBytes) {
    return rule.error(Code::kUnsupported, "a pattern that is empty or over 4096 bytes");
  }
  auto regex = Regex::compile(pattern == kTrailingSpace ? kTrailingSpaceOnce : pattern, syntax);
  if (!regex.ok()) return rule.error(regex.error().code, regex.error().message);
  steps_.push_back({kind});
  steps_.back().regex = std::move(regex).value();
  return ok();
}

Result<Words> Pretokenizer::split(std::string text, bool with_prefix, Cuts cuts) const {
  PC_EXPECT_CHECKED(is_utf8(text));
  Words words;
  words.text = std::move(text);
  if (words.text.empty()) return words;
  if (with_prefix && !steps_.empty()) {
    const Step& first = steps_.front();
    const bool has_own = words.text.starts_with(first.prefix) ||
                         (!first.mark.empty() && words.text.starts_with(' '));
    if (!has_own) {
      words.text.insert(0, first.prefix);
      for (std::size_t& cut : cuts) cut += first.prefix.size();
    }
  }
  words.ends.push_back(static_cast<std::uint32_t>(words.text.size()));
  for (const Step& step : steps_) PC_CHECK_OK(apply(step, cuts, &words));
  return words;
}

Status Pretokenizer::apply(const Step& step, Cuts cuts, Words* words) {
  switch (step.kind) {
    case Step::Kind::kIsolate:
      return split_words(*step.regex, Between::kWord, cuts, words);
    case Step::Kind::kKeepMatches:
      return split_words(*step.regex, Between::kNothing, cuts, words);
    case Step::Kind::kMergePrevious:
      return split_words(*step.regex, Between::kPrevious, cuts, words);
    case Step::Kind::kByteLevel:
      map_to_bytes(cuts, words);
      break;
    case Step::Kind::kMetaspace:
      mark_spaces(step.mark, false, cuts, words);
      break;
    case Step::Kind::kMetaspaceSplit:
      mark_spaces(step.mark, true, cuts, words);
      break;
  }
  return ok();
}

}  // namespace pc
