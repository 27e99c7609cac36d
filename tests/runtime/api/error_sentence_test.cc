// Sentences of errors in pc_error: whole with any path, and never without their ends.

#include <promptcache/promptcache.h>

#include <catch2/catch.hpp>
#include <string>

#include "base/utf8.h"
#include "runtime/api/c_api_support.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

std::string written(const std::string& sentence) {
  pc_error error;
  capi::report(Code::kIo, sentence, 0, 0, &error);
  return error.message;
}

// Of folders with names that a file system takes.
std::string long_path(const std::string& root, std::size_t bytes) {
  std::string path = root;
  while (path.size() + 202 < bytes) path += "/" + std::string(200, 'f');
  return path + "/" + std::string(bytes - path.size() - 1, 'm');
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  REQUIRE(text.find(from, at + 1) == text.npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& model_path) {
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = model_path.c_str();
  options.cache_mode = PC_CACHE_OFF;
  pc_engine* engine = nullptr;
  pc_error error;
  CHECK(pc_engine_open(&options, &engine, &error) == PC_NOT_FOUND);
  return error.message;
}

TEST_CASE("a sentence with a path of 4,000 bytes is whole") {
  const TempFolder folder;
  const std::string root = folder.path(), short_path = root + "/none/model";
  const std::string path = long_path(root + "/none", 4000);
  REQUIRE(path.size() == 4000);
  CHECK(error_of(path) == replaced(error_of(short_path), short_path, path));
}

TEST_CASE("a NUL in a sentence does not end it") {
  using namespace std::string_literals;
  CHECK(written("the key \"a\0b\" is there twice\0"s) == "the key \"a?b\" is there twice?");
  const std::string sentence = written("no \0 "s + std::string(6000, '\0') + " at \0 all"s);
  CHECK(sentence.size() == sizeof(pc_error::message) - 1);
  CHECK(sentence.starts_with("no ? ??"));
  CHECK(sentence.ends_with("?? at ? all"));
}

TEST_CASE("of a sentence that is too long the middle of its longest word is left out") {
  const std::string begin = "cannot open ", end = ": no such file; pass --model with another";
  const std::string path = long_path("/models", 6000);
  const std::string sentence = written(begin + path + end);
  CHECK(sentence.size() == sizeof(pc_error::message) - 1);
  CHECK(sentence.starts_with(begin + "/models/ffff"));
  CHECK(sentence.ends_with("mmmm" + end));
  CHECK(sentence.find("...") != sentence.npos);
  const std::string fits(sizeof(pc_error::message) - 1, 'x');
  CHECK(written(fits) == fits);
}

TEST_CASE("of many words the middle is left out, and no character is cut") {
  std::string words = "first ", wide = "a /";
  while (words.size() < 9000) words += "some words ";
  const std::string sentence = written(words + "last");
  CHECK(sentence.starts_with("first some"));
  CHECK(sentence.ends_with("words last"));
  while (wide.size() < 6000) wide += "\u65e5";
  for (const char* more : {"", "b", "bc"}) {
    const std::string cut = written(wide + more + " z");
    CHECK(is_utf8(cut));
    CHECK(cut.starts_with("a /\u65e5"));
    CHECK(cut.ends_with(" z"));
    CHECK(cut.size() > sizeof(pc_error::message) - 6);
  }
}

}  // namespace
}  // namespace pc::test
