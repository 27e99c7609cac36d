// Why something cannot be enforced.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace pc::constrain {

// In words that fit behind "PLACE: "; whoever knows the place makes a SchemaError of it.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What is too large is refused before it takes long: each part of an automaton pays for the nodes
// and sets that it makes.
class Budget {
 public:
  explicit Budget(std::size_t units) : left_(units) {}
  // Another one, of at most so many of these.
  Budget part(std::size_t most) const { return Budget(most < left_ ? most : left_); }
  std::size_t left() const { return left_; }
  // Lets so many more be spent: by what stands in the place of something too large.
  void allow(std::size_t units) { left_ += units; }
  void spend(std::size_t units) {
    expect(units);
    left_ -= units;
  }
  // Would so many be too many? Asked before work that ends in that.
  void expect(std::size_t units) const {
    if (units > left_) throw Refusal("this is too large to be enforced");
  }

 private:
  std::size_t left_;
};

}  // namespace pc::constrain
