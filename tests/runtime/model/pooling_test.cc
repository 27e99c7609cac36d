// What a model's files say of vectors of whole texts.
#include "runtime/model/pooling.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "tests/support/expect.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// A folder with these files of sentence-transformers; nullptr: without.
struct Folder {
  Folder(const char* modules, const char* pooling) {
    const std::filesystem::path path(folder.path());
    if (modules) std::ofstream(path / "modules.json") << modules;
    if (!pooling) return;
    std::filesystem::create_directory(path / "1_Pooling");
    std::ofstream(path / "1_Pooling" / "config.json") << pooling;
  }
  TempFolder folder;
};

constexpr const char* kModules = R"([
  {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.Pooling"},
  {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])";

PoolingRule rule_of(const char* modules, const char* pooling) {
  const Folder folder(modules, pooling);
  return must(read_pooling(folder.folder.path()));
}

TEST_CASE("a folder's pooling is the one that is switched on") {
  CHECK(rule_of(nullptr, nullptr).pooling == Pooling::kUnsaid);
  CHECK(rule_of(kModules, R"({"pooling_mode_lasttoken": true})").pooling == Pooling::kLast);
  CHECK(rule_of(kModules, R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})")
            .pooling == Pooling::kMean);
  CHECK(rule_of(kModules, R"({"pooling_mode_mean_tokens": true})").unsupported.empty());
}

TEST_CASE("what is not computed behind a decoder is named") {
  CHECK_THAT(rule_of(kModules, R"({"pooling_mode_cls_token": true})").unsupported,
             Catch::Contains("pooling_mode_cls_token"));
  CHECK_THAT(
      rule_of(kModules, R"({"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": true})")
          .unsupported,
      Catch::Contains("several"));
  CHECK_THAT(
      rule_of(R"([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])", nullptr)
          .unsupported,
      Catch::Contains("Dense"));
}

TEST_CASE("files that say nothing sensible of a pooling are errors that name them") {
  const auto error_of = [](const char* modules, const char* pooling) {
    const Folder folder(modules, pooling);
    const auto rule = read_pooling(folder.folder.path());
    REQUIRE(!rule.ok());
    return rule.error().message;
  };
  CHECK_THAT(error_of("{", nullptr), Catch::Contains("modules.json"));
  CHECK_THAT(error_of("{}", nullptr), Catch::Contains("is no list"));
  CHECK_THAT(error_of(kModules, nullptr), Catch::Contains("1_Pooling"));
  CHECK_THAT(error_of(kModules, R"({"pooling_mode_lasttoken": 1})"),
             Catch::Contains("pooling_mode_lasttoken"));
}

TEST_CASE("a GGUF file's pooling is its architecture's key") {
  const auto rule_of_type = [](std::uint32_t type) {
    GgufBytes bytes;
    bytes.value("qwen3.pooling_type", type).value("llama.pooling_type", std::uint32_t{1});
    const std::string text = bytes.file();
    const auto file = parse_gguf(std::as_bytes(std::span(text)), "m.gguf");
    REQUIRE(file.ok());
    return must(read_gguf_pooling(file->metadata, "qwen3"));
  };
  CHECK(rule_of_type(0).pooling == Pooling::kUnsaid);
  CHECK(rule_of_type(1).pooling == Pooling::kMean);
  CHECK(rule_of_type(3).pooling == Pooling::kLast);
  CHECK(rule_of_type(4).pooling == Pooling::kUnsaid);
  CHECK_THAT(rule_of_type(2).unsupported, Catch::Contains("qwen3.pooling_type"));
}

}  // namespace
}  // namespace pc::test
