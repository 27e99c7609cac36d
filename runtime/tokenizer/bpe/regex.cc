#include "runtime/tokenizer/bpe/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace pc {
namespace {

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

constexpr std::uint32_t kHeapLimitKib = 64 * 1024;

// Backtracking steps of one match. The published patterns step back at most once
// over each character of a run of white space, and try a few alternatives there.
std::uint32_t match_limit(std::size_t text_bytes) {
  return static_cast<std::uint32_t>(100'000 + 16 * std::min(text_bytes, std::size_t{1} << 27));
}

Error failure(int code, const std::string& what) {
  if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)
    return error(Code::kOutOfMemory, "not enough memory: " + what);
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return error(Code::kUnsupported, what + ": " + reinterpret_cast<const char*>(text));
}

// \s as Unicode's White_Space: PCRE2's own meaning adds U+180E, which has not
// been white space since Unicode 6.3, and which Mongolian texts use.
std::string with_unicode_space(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char escaped = pattern[i] == '\\' && i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (escaped == 's' || escaped == 'S') {
      out += escaped == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
    } else {
      if (escaped != '\0') out += '\\';
      out += pattern[i];
    }
  }
  return out;
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Regex::Compiled {
  std::unique_ptr<pcre2_code, Free> code;
};

Regex::Regex(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Result<Regex> Regex::compile(std::string_view pattern, Syntax syntax) {
  const bool literal = syntax == Syntax::kLiteral;
  const std::uint32_t options =
      PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
  const std::string source = literal ? std::string(pattern) : with_unicode_space(pattern);
  int code = 0;
  PCRE2_SIZE at = 0;
  std::unique_ptr<pcre2_code, Free> compiled(
      pcre2_compile(units(source), source.size(), options, &code, &at, nullptr));
  if (!compiled) return failure(code, "the pattern cannot be compiled");
  pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);  // without it: slower, the same result
  return Regex(std::make_unique<const Compiled>(Compiled{std::move(compiled)}));
}

Status Regex::find_all(std::string_view text, std::vector<Span>* out) const {
  PC_EXPECT_CHECKED(is_utf8(text));
  const pcre2_code* code = compiled_->code.get();
  std::unique_ptr<pcre2_match_data, Free> match(pcre2_match_data_create(1, nullptr));
  std::unique_ptr<pcre2_match_context, Free> limits(pcre2_match_context_create(nullptr));
  if (!match || !limits) return error(Code::kOutOfMemory, "not enough memory to split a text");
  pcre2_set_heap_limit(limits.get(), kHeapLimitKib);
  pcre2_set_match_limit(limits.get(), match_limit(text.size()));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.get());

  for (std::size_t at = 0; at < text.size();) {
    // The caller has checked the UTF-8; checking it per match would be quadratic.
    std::uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int n = pcre2_match(code, units(text), text.size(), at, options, match.get(), limits.get());
    if (n == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;
      n = pcre2_match(code, units(text), text.size(), at, options, match.get(), limits.get());
    }
    if (n == PCRE2_ERROR_NOMATCH) break;
    if (n < 0) return failure(n, "splitting a text into words");
    if (ends[1] <= ends[0] || ends[1] <= at) {  // \K in a look-ahead may turn the ends round
      return error(Code::kUnsupported, "the pattern gives a match that ends before it starts");
    }
    out->push_back({ends[0], ends[1]});
    at = ends[1];
  }
  return ok();
}

}  // namespace pc
