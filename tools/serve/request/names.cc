#include "tools/serve/request/names.h"

#include <random>

namespace pc::serve {
namespace {

std::string random_word(std::string_view letters, int length) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string word;
  for (int i = 0; i < length; ++i) word += letters[random() % letters.size()];
  return word;
}

}  // namespace

std::string new_call_name() {
  return random_word("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 9);
}

std::string new_name(std::string_view prefix) {
  return std::string(prefix) + random_word("0123456789abcdef", 24);
}

}  // namespace pc::serve
