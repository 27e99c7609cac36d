// What every file of the C API's shim needs: exceptions stop here, errors are
// translated, texts are handed over.
//
// Internal to runtime/api/c_api*.cc. Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "promptcache/promptcache.h"
#include "runtime/api/c_api_fields.h"

namespace pc::capi {

// Gives what is behind it. What reads texts of C would end at a NUL, which a name out of a caller's
// file may have.
inline char* write_without_nul(std::string_view text, char* to) noexcept {
  return std::replace_copy(text.begin(), text.end(), to, '\0', '?');
}

// Cut at a character's start where the text is too long; a NUL is "?". Allocates nothing.
template <std::size_t n_bytes>
void write_text(std::string_view text, char (&out)[n_bytes]) noexcept {
  std::size_t n = std::min(text.size(), n_bytes - 1);
  while (n > 0 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  *write_without_nul(text.substr(0, n), out) = '\0';
}

// Bytes of a sentence that are left out.
struct Cut {
  std::size_t first, end;
};

// What makes way for "..." in a sentence that is longer than its room: the middle of its longest
// word, which is a path as a rule, so that what is wrong and the way out stay. Where no word is so
// long, the middle of the sentence.
inline Cut cut_of(std::string_view text, std::size_t room) noexcept {
  const std::size_t excess = text.size() + 3 - room;
  std::size_t begin = 0, size = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end - at > size) begin = at, size = end - at;
    at = end + 1;
  }
  if (size < excess) begin = 0, size = text.size();
  const auto is_inside = [text](std::size_t at) {  // of a character
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  Cut cut{begin + (size - excess) / 2, begin + (size - excess) / 2 + excess};
  while (cut.first > 0 && is_inside(cut.first)) --cut.first;
  while (is_inside(cut.end)) ++cut.end;
  return cut;
}

// Allocates nothing.
template <std::size_t n_bytes>
void write_sentence(std::string_view text, char (&out)[n_bytes]) noexcept {
  static_assert(n_bytes > 16);
  if (text.size() < n_bytes) return write_text(text, out);
  const Cut cut = cut_of(text, n_bytes - 1);
  const std::string_view parts[] = {text.substr(0, cut.first), "...", text.substr(cut.end)};
  char* to = out;
  for (const std::string_view part : parts) to = write_without_nul(part, to);
  *to = '\0';
}

// Allocates nothing: it serves where memory has run out.
inline void report(Code code, std::string_view message, std::uint32_t line, std::uint32_t column,
                   pc_error* out) noexcept {
  if (!out) return;
  out->status = static_cast<std::int32_t>(code);
  out->line = line;
  out->column = column;
  write_sentence(message, out->message);
}

// body() gives a Status; see catch_all.
template <class Body>
pc_status guarded(pc_error* out, Body body) noexcept {
  return static_cast<pc_status>(
      catch_all(body, [out](Code code, std::string_view message, std::uint32_t line,
                            std::uint32_t column) { report(code, message, line, column, out); }));
}

inline Error null_argument(const char* name) {
  return error(Code::kInvalidArgument, std::string(name) + " must not be NULL");
}

// In the body of guarded(): the caller's pointer must not be NULL.
#define PC_REQUIRE(pointer) \
  if (!(pointer)) return ::pc::capi::null_argument(#pointer)

inline std::string string_or_empty(const char* text) {
  return text ? text : "";
}

// n paths, none of them NULL or empty. `field` is for the message.
inline Status read_strings(const char* const* texts, std::size_t n, const char* field,
                           std::vector<std::string>* out) {
  if (n > 0 && !texts)
    return error(Code::kInvalidArgument,
                 std::string(field) + " is NULL, and says that it has some");
  for (std::size_t i = 0; i < n; ++i) {
    if (!texts[i] || !*texts[i])
      return error(Code::kInvalidArgument, std::string(field) + " has a name that is empty");
    out->emplace_back(texts[i]);
  }
  return ok();
}

inline std::string_view view_of(const char* text, std::size_t bytes) {
  return {text, bytes == PC_NUL_TERMINATED ? std::strlen(text) : bytes};
}

// Of a struct: a length of 0 is one that was not set, and the text is NUL-terminated.
inline std::string_view field_of(const char* text, std::size_t bytes) {
  return view_of(text, bytes == 0 && text ? PC_NUL_TERMINATED : bytes);
}

// Hands a text to the caller, who frees it with pc_free.
inline Status give(const std::string& text, char** out) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) return error(Code::kOutOfMemory, "not enough memory");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return ok();
}

// Reads an option struct of any size: what the caller's lacks, or has a part of, is zero, and what
// this library does not know must be.
template <class T>
Result<T> read_options(const T* given) {
  T options{};
  if (!given) return options;
  if (given->struct_size < sizeof(std::size_t) || given->struct_size > 4096) {
    return error(Code::kInvalidArgument, "struct_size is not set: use the options' _init function");
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(T); i < given->struct_size; ++i)
    if (bytes[i] != 0)
      return error(Code::kUnsupported,
                   "the options have a field that this version of the library does not know");
  std::memcpy(&options, given, whole_fields<T>(given->struct_size));
  return options;
}

// `known`: all bits of `given` that this library knows.
inline Status check_given(std::uint32_t given, std::uint32_t known) {
  if ((given & ~known) == 0) return ok();
  return error(Code::kUnsupported,
               "the options' `given` has a bit that this version of the library does not know");
}

// Fills what the caller's struct_size holds.
template <class T>
void write_stats(T stats, T* out) {
  stats.struct_size = out->struct_size;
  std::memcpy(out, &stats, std::min(out->struct_size, sizeof(T)));
}

}  // namespace pc::capi
