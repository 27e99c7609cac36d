// How a model's template writes what the model thinks before it answers.
//
// Value.
#pragma once

#include <optional>
#include <string>

namespace pc::serve {

struct ThoughtShape {
  std::string open, close;  // "<think>", "</think>", without white space around them
  std::string key;          // the field of an answer in which the template looks for one

  friend bool operator==(const ThoughtShape&, const ThoughtShape&) = default;
};

}  // namespace pc::serve
