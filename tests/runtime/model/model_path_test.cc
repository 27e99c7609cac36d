#include "runtime/model/model_path.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

std::string message_of(const std::string& path, Code code) {
  const Status status = check_model_path(path);
  REQUIRE(!status.ok());
  CHECK(status.error().code == code);
  return status.error().message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("what is there is left to whoever reads it") {
  const TempFolder folder;
  CHECK(check_model_path(folder.path()).ok());
  folder.write("model.gguf", "GGUF");
  CHECK(check_model_path(folder.path() + "/model.gguf").ok());
}

TEST_CASE("names and addresses of models elsewhere are told from slips") {
  const std::string way_out = "fetch the model first";
  CHECK(has(message_of("https://example.org/model.gguf", Code::kNotFound), way_out));
  CHECK(has(message_of("hf://org/model", Code::kNotFound), way_out));
  CHECK(has(message_of("Org/Model-1.5B-Instruct", Code::kNotFound), way_out));
  for (const char* slip : {"model.gguf", "/no/model", "./no/model", "../model", "no/model.gguf",
                           "a/b/c", "model/", ""}) {
    INFO(slip);
    CHECK(message_of(slip, Code::kNotFound) == std::string(slip) + ": no such file or folder");
  }
}

TEST_CASE("what cannot be looked at is not called absent") {
  const TempFolder folder;
  const std::string loop = folder.path() + "/loop";
  std::filesystem::create_symlink(loop, loop);
  CHECK(has(message_of(loop, Code::kIo), "cannot be looked at"));
}

TEST_CASE("an empty file is called empty") {
  const TempFolder folder;
  folder.write("model.gguf", "");
  CHECK(has(message_of(folder.path() + "/model.gguf", Code::kCorrupt), "model.gguf is empty"));
}
