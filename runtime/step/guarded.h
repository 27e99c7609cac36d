// Where errors cross the seam: a call's Status, or what it threw, as the number and the sentence
// that pc_backend_error has. Allocates nothing. Threads: any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

// As much of the sentence as there is room for. out may be null.
inline void tell(pc_backend_error* out, std::string_view sentence) {
  if (!out) return;
  const std::size_t n = std::min(sentence.size(), sizeof out->message - 1);
  std::memcpy(out->message, sentence.data(), n);
  out->message[n] = '\0';
}

// body() gives a Status; the number of its code, 0 where all is well. out may be null.
template <class Body>
std::int32_t guarded(pc_backend_error* out, Body body) noexcept {
  return static_cast<std::int32_t>(catch_all(
      body,
      [out](Code, std::string_view message, std::uint32_t, std::uint32_t) { tell(out, message); }));
}

// Of an item of a step; one that has failed keeps its first error.
inline bool is_well(const pc_step_item& item) {
  return item.status == 0;
}
inline void fail(pc_step_item& item, std::int32_t status, std::string_view sentence) {
  if (!is_well(item)) return;
  item.status = status;
  tell(&item.error, sentence);
}
inline void fail(pc_step_item& item, const Error& error) {
  fail(item, static_cast<std::int32_t>(error.code), error.message);
}
// body() gives a Status; what goes wrong in it is the item's.
template <class Body>
void attempt(pc_step_item& item, Body body) noexcept {
  pc_backend_error e{};
  const std::int32_t status = guarded(&e, body);
  if (status != 0) fail(item, status, e.message);
}
// What an item costs more than it should.
inline void remark(pc_step_item& item, std::string_view sentence) {
  if (is_well(item)) tell(&item.error, sentence);
}

}  // namespace pc
