// What opening a model refuses, in which order, and what its first start tells.

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "runtime/engine.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

// Seen by a weight that is not finite: who reads the weights finds that first.
TEST_CASE("what cannot be meant is refused before any weight is read") {
  const TinyCheckpoint checkpoint(22, 512, 6);
  const TempFolder cache;
  const std::string weights = checkpoint.path() + "/model.safetensors";
  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  file.write("\x00\x00\xc0\x7f", 4);
  file.close();
  EngineOptions fine;
  fine.model_path = checkpoint.path();
  fine.cache_dir = cache.path();
  REQUIRE(Engine::open(fine).error().code == Code::kCorrupt);

  const auto refusal = [&](auto change) {
    EngineOptions options = fine;
    change(options);
    return Engine::open(options).error();
  };
  const Error context = refusal([](auto& o) { o.context_tokens = 513; });
  REQUIRE(context.code == Code::kInvalidArgument);
  REQUIRE(context.message.find("beyond the model's own of 512") != std::string::npos);
  REQUIRE(refusal([](auto& o) { o.kv_type = KvType::kQ8; }).code == Code::kUnsupported);
  REQUIRE(refusal([](auto& o) { o.chat_template = "nonsense"; }).code == Code::kInvalidArgument);
  REQUIRE(refusal([](auto& o) { o.backend = "cdua"; }).code == Code::kInvalidArgument);
  REQUIRE(refusal([](auto& o) { o.cache_dir = "/dev/null/store"; }).code == Code::kIo);
}

}  // namespace
}  // namespace pc::test
