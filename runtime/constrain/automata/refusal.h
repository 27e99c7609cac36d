// Why something cannot be enforced, and what is too large to be.
//
// Values. Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/status.h"

namespace pc::constrain {

// In words that fit behind "PLACE: "; whoever knows the place makes a refused_at of it.
inline Error refusal(std::string why) {
  return error(Code::kInvalidArgument, std::move(why));
}
// place: of a schema, its name and a JSON Pointer into it:
//   response_format.json_schema.schema/properties/a: "not" cannot be enforced here
inline Error refused_at(const std::string& place, const std::string& why) {
  return error(Code::kUnsupported, place + ": " + why);
}
inline bool has_place(const Error& error) {
  return error.code == Code::kUnsupported;
}

// What is too large is refused before it takes long: each part of an automaton pays for the nodes
// and sets that it makes. Once something could not be paid for nothing is: what is made then is not
// whole, and whoever is to use it asks is_over() or check() before.
class Budget {
 public:
  explicit Budget(std::size_t units) : left_(units) {}
  // Another one, of at most so many of these.
  Budget part(std::size_t most) const {
    Budget part(most < left_ ? most : left_);
    part.is_over_ = is_over_;
    return part;
  }
  std::size_t left() const { return left_; }
  bool is_over() const { return is_over_; }
  Status check() const {
    if (is_over_) return refusal("this is too large to be enforced");
    return ok();
  }
  // What was too large is left out: so many more may be spent, by what stands in its place.
  void go_on(std::size_t units) {
    left_ += units;
    is_over_ = false;
  }
  void spend(std::size_t units) {
    expect(units);
    if (!is_over_) left_ -= units;
  }
  // Are so many too many? Asked before work that ends in that.
  void expect(std::size_t units) { is_over_ = is_over_ || units > left_; }

 private:
  std::size_t left_;
  bool is_over_ = false;
};

}  // namespace pc::constrain
