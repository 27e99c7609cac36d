// What opening a model refuses, in which order, and what its first start tells.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
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
  const Error store = refusal([](auto& o) {
    o.cache_dir = "/dev/null/store";
    o.require_store = true;
  });
  REQUIRE(store.code == Code::kIo);
}

// The steps of opening, each as often as it was told of; stopped at the `stop`th call.
Code open_and_listen(EngineOptions options, std::size_t stop, std::vector<OpenStep>* steps) {
  options.progress = [&](OpenStep step, std::uint64_t done, std::uint64_t total) {
    CHECK(done <= total);
    steps->push_back(step);
    return steps->size() != stop;
  };
  const auto engine = Engine::open(options);
  return engine.ok() ? Code::kOk : engine.error().code;
}

TEST_CASE(
    "the first start tells what it does and can be stopped anywhere, the second does nothing") {
  const char* source = std::getenv("PC_SOURCE_DIR");
  REQUIRE(source != nullptr);
  const TempFolder all;
  EngineOptions options;
  options.model_path = std::string(source) + "/tests/golden/gguf/llama_q8_0.gguf";
  options.n_threads = 1;
  options.precision = Precision::kDeterministic;  // which verifies packed weights before their use
  constexpr std::size_t kNever = 0;

  options.cache_dir = all.path() + "/whole";
  std::vector<OpenStep> steps;
  REQUIRE(open_and_listen(options, kNever, &steps) == Code::kOk);
  REQUIRE(std::is_sorted(steps.begin(), steps.end()));
  for (const OpenStep step :
       {OpenStep::kReadWeights, OpenStep::kPackWeights, OpenStep::kCheckPacked})
    REQUIRE(std::count(steps.begin(), steps.end(), step) >= 2);
  std::vector<OpenStep> again;
  REQUIRE(open_and_listen(options, kNever, &again) == Code::kOk);
  REQUIRE(again.empty());

  for (std::size_t stop = 1; stop <= steps.size(); ++stop) {
    CAPTURE(stop);
    options.cache_dir = all.path() + "/" + std::to_string(stop);
    std::vector<OpenStep> told;
    REQUIRE(open_and_listen(options, stop, &told) == Code::kCancelled);
    REQUIRE(told.size() == stop);
    const bool packing = told.back() == OpenStep::kPackWeights;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options.cache_dir))
      REQUIRE_FALSE((packing && entry.is_regular_file() && entry.file_size() > 4096));
    std::vector<OpenStep> rest;
    REQUIRE(open_and_listen(options, kNever, &rest) == Code::kOk);
  }
}

TEST_CASE("weights that are more than the memory are said") {
  CHECK(too_large(4 << 20, 4 << 20).empty());
  CHECK_THAT(too_large((4 << 20) + 1, 4 << 20), Catch::Contains("4 MiB of weights are more than"));
}

}  // namespace
}  // namespace pc::test
