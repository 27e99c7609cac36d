#include "runtime/tokenizer/text/text_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace pc {
namespace {

constexpr std::size_t kMaxSteps = 16;
constexpr std::size_t kMaxReplacementBytes = 16;  // bounds how far a text can grow

utf8proc_option_t options(int bits) {
  return static_cast<utf8proc_option_t>(bits);
}

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

// Characters of its canonical decomposition.
std::size_t n_decomposed(char32_t character) {
  if (character < 0xC0) return 1;
  utf8proc_int32_t parts[16];
  int boundary = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts, 16,
                                         options(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary);
  return n > 0 ? static_cast<std::size_t>(n) : 1;
}

std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t parts[16];  // a canonical decomposition has at most 4
    const auto c = static_cast<utf8proc_int32_t>(utf8_next(text, &at));
    int boundary = 0;
    const auto n = utf8proc_decompose_char(
        c, parts, 16, options(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary);
    if (n > 0 && n <= 16) {
      out.insert(out.end(), parts, parts + n);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// Canonical order: each run of marks sorted by class. utf8proc does it by
// exchanging neighbours, which a long run of marks would make quadratic.
void sort_marks(std::vector<utf8proc_int32_t>* text) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  const auto by_class = [](utf8proc_int32_t a, utf8proc_int32_t b) {
    return combining_class(a) < combining_class(b);
  };
  for (auto at = text->begin(); at != text->end();) {
    const auto begin = std::find_if_not(at, text->end(), is_starter);
    at = std::find_if(begin, text->end(), is_starter);
    std::stable_sort(begin, at, by_class);
  }
}

}  // namespace

void replace_all(std::string_view from, std::string_view to, std::string* text, Cuts cuts) {
  PC_EXPECT(!from.empty());
  std::string out;
  std::size_t at = 0;
  MovingCuts moving(cuts);
  for (std::size_t hit; (hit = text->find(from, at)) != std::string::npos; at = hit + from.size()) {
    out.append(*text, at, hit - at);
    moving.move(hit, out.size());
    out.append(to);
    moving.move(hit + from.size(), out.size());
  }
  out.append(*text, at);
  moving.move(text->size(), out.size());
  *text = std::move(out);
}

std::string to_nfc(std::string_view text) {
  PC_EXPECT_CHECKED(is_utf8(text));
  // Below U+0300 (lead bytes up to 0xCB) every text is composed already.
  const auto below_marks = [](char c) { return static_cast<unsigned char>(c) < 0xCC; };
  if (std::all_of(text.begin(), text.end(), below_marks)) return std::string(text);
  std::vector<utf8proc_int32_t> characters = decompose(text);
  sort_marks(&characters);
  const auto n =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               options(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    utf8_append(static_cast<char32_t>(characters[static_cast<std::size_t>(i)]), &out);
  }
  return out;
}

// A text and its NFC have the same canonical decomposition, but for the order of
// marks: a cut has as many of its characters before it in both.
void move_cuts_to_nfc(std::string_view text, std::string_view nfc, Cuts cuts) {
  std::size_t at = 0, to = 0, n_before = 0, n_before_in_nfc = 0;
  for (std::size_t& cut : cuts) {
    while (at < cut) n_before += n_decomposed(utf8_next(text, &at));
    while (n_before_in_nfc < n_before && to < nfc.size())
      n_before_in_nfc += n_decomposed(utf8_next(nfc, &to));
    cut = to;
  }
}

Result<TextNormalizer> TextNormalizer::from_json(std::optional<JsonView> rules) {
  TextNormalizer out;
  if (rules) PC_CHECK_OK(out.add(*rules));
  return out;
}

Status TextNormalizer::add(JsonView rule) {
  if (steps_.size() >= kMaxSteps) return rule.error(Code::kUnsupported, "more than 16 rules");
  PC_TRY(const JsonView type_field, rule.member("type"));
  PC_TRY(const std::string_view type, type_field.string());
  if (type == "Sequence") return add_sequence(rule);
  if (type == "Prepend") return add_prepend(rule);
  if (type == "Replace") return add_replace(rule);
  if (type == "NFC") {
    steps_.push_back({Step::Kind::kNfc});
    return ok();
  }
  return rule.error(Code::kUnsupported, "type \"" + std::string(type) +
                                            "\" is not supported; NFC, Prepend, Replace or a "
                                            "Sequence of them is");
}

Status TextNormalizer::add_sequence(JsonView rule) {
  PC_TRY(const JsonView list, rule.member("normalizers"));
  if (!list.is_array()) return list.error(Code::kCorrupt, "is no list");
  for (std::size_t i = 0; i < list.size(); ++i) PC_CHECK_OK(add(list.at(i)));
  return ok();
}

Status TextNormalizer::add_prepend(JsonView rule) {
  PC_TRY(const JsonView text, rule.member("prepend"));
  PC_TRY(const std::string_view prefix, text.string());
  if (prefix.size() > kMaxReplacementBytes) return text.error(Code::kUnsupported, "over 16 bytes");
  steps_.push_back({Step::Kind::kPrepend, "", std::string(prefix)});
  return ok();
}

Status TextNormalizer::add_replace(JsonView rule) {
  PC_TRY(const JsonView pattern, rule.member("pattern"));
  const auto literal = pattern.find("String");
  if (!literal) {
    return pattern.error(Code::kUnsupported,
                         "only a String is supported as the pattern to replace");
  }
  PC_TRY(const std::string_view from, literal->string());
  PC_TRY(const JsonView content, rule.member("content"));
  PC_TRY(const std::string_view to, content.string());
  if (from.empty() || to.size() > kMaxReplacementBytes) {
    return rule.error(Code::kUnsupported, "an empty pattern, or a replacement over 16 bytes");
  }
  steps_.push_back({Step::Kind::kReplace, std::string(from), std::string(to)});
  return ok();
}

std::string TextNormalizer::apply(std::string_view text, bool with_prefix, Cuts cuts) const {
  std::string out(text);
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Step::Kind::kNfc: {
        std::string nfc = to_nfc(out);
        if (!cuts.empty() && nfc != out) move_cuts_to_nfc(out, nfc, cuts);
        out = std::move(nfc);
        break;
      }
      case Step::Kind::kPrepend:
        if (!with_prefix || out.empty()) break;
        out.insert(0, step.to);
        for (std::size_t& cut : cuts) cut += step.to.size();
        break;
      case Step::Kind::kReplace:
        replace_all(step.from, step.to, &out, cuts);
        break;
    }
  }
  return out;
}

bool TextNormalizer::adds_prefix() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const Step& step) { return step.kind == Step::Kind::kPrepend; });
}

}  // namespace pc
