// Where in a PML document something stands, and errors that say so.
//
// Values. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"  // Error

namespace pc::pml {

struct Place {
  std::uint32_t line = 0;    // 1-based; 0 = nowhere
  std::uint32_t column = 0;  // in bytes, 1-based

  friend bool operator==(const Place&, const Place&) = default;
};

inline Error error_at(Code code, Place place, std::string message) {
  return {code, std::move(message), place.line, place.column};
}

// A rule of the language is broken at this place.
inline Error broken_rule(Place place, std::string message) {
  return error_at(Code::kPmlSemantic, place, std::move(message));
}

// The same error, given a place if it has none yet.
inline Error at(Place place, Error error) {
  if (error.line == 0) error.line = place.line, error.column = place.column;
  return error;
}

inline std::string to_string(Place place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

}  // namespace pc::pml
