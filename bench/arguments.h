// What a bench is given on its command line: a model's file or folder, and values behind names.
//
// For programs: what cannot be meant prints the usage and exits. Borrows the variables that it
// fills until parse() returns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pc::bench {

class Arguments {
 public:
  // As in "batch_bench MODEL [--requests 16]".
  explicit Arguments(std::string usage) : usage_(std::move(usage)) {}

  // `--name N`: never less than `least`.
  Arguments& number(std::string name, std::uint32_t* value, std::uint32_t least = 0);
  // `--name TEXT`.
  Arguments& text(std::string name, std::string* value);

  // Fills what is named; returns the one argument without a name.
  std::string parse(int argc, char** argv) const;

 private:
  struct Option {
    std::string name;
    std::uint32_t* number;  // or
    std::string* text;
    std::uint32_t least;
  };
  void take(const std::string& name, const std::string& value) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string usage_;
  std::vector<Option> options_;
};

}  // namespace pc::bench
