// Reports on a model's files: what they are, what is wrong with them, and what
// an engine then does.
#include "runtime/reports/model_verify.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/json/json.h"
#include "runtime/reports/model_report.h"
#include "runtime/schema/loaded_schema.h"
#include "tests/support/fixture.h"
#include "tests/support/tiny_checkpoint.h"

using namespace pc;
using namespace pc::test;

namespace fs = std::filesystem;

namespace {

// A tiny model that may be damaged, and a cache for it.
struct Files {
  TinyCheckpoint checkpoint{5};
  TempFolder cache;
  EngineOptions options;

  Files() {
    options.model_path = checkpoint.path();
    options.cache_dir = cache.path();
    options.chat_template = "llama2";
    options.n_threads = 1;
  }
  std::string path(const std::string& name) const { return checkpoint.path() + "/" + name; }
  std::string weights() const { return path("model.safetensors"); }

  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read_file(path(name));
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // The last element of the file, in place.
  void set_last_weight(float value) const {
    std::fstream file(weights(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-static_cast<std::streamoff>(sizeof value), std::ios::end);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }

  static std::string read_file(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

JsonDocument parse(const Result<std::string>& report) {
  if (!report.ok()) FAIL(report.error().message);
  return JsonDocument::parse(*report, "report").value();
}

std::vector<std::string> problems(const Files& files) {
  const JsonDocument report = parse(verify_model(files.options));
  std::vector<std::string> out;
  const JsonView list = *report.root().member("problems");
  for (std::size_t i = 0; i < list.size(); ++i)
    out.emplace_back(*list.at(i).member("message")->string());
  CHECK(*report.root().member("ok")->boolean() == out.empty());
  return out;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text(const JsonDocument& report, const char* key) {
  return std::string(*report.root().member(key)->string());
}

std::int64_t number(const JsonDocument& report, const char* key) {
  return *report.root().member(key)->integer();
}

}  // namespace

TEST_CASE("a sound model has no problems, and the digests that an engine uses") {
  const Files files;
  CHECK(problems(files).empty());
  const JsonDocument verified = parse(verify_model(files.options));
  const auto engine = Engine::open(files.options);
  REQUIRE(engine.ok());
  CHECK(text(verified, "weights_digest") == to_hex((*engine)->model().weights_digest));
  CHECK(text(verified, "tokenizer_digest") == to_hex((*engine)->tokenizer().digest()));
  CHECK(number(verified, "bytes") == static_cast<std::int64_t>(fs::file_size(files.weights())));
}

TEST_CASE("verify lists every problem, not the first alone") {
  const Files files;
  files.set_last_weight(NAN);
  fs::remove(files.path("tokenizer.model"));
  const auto found = problems(files);
  REQUIRE(found.size() == 2);
  CHECK(mentions(found[0], "tokenizer"));
  CHECK(mentions(found[1], "tensor \"model."));
  CHECK(mentions(found[1], "NaN"));
  CHECK(mentions(found[1], files.weights()));
}

TEST_CASE("verify and info say why a model is refused") {
  const Files files;
  std::string reason;
  SECTION("an architecture that is not computed, its weights checked all the same") {
    files.replace("config.json", "LlamaForCausalLM", "MambaForCausalLM");
    files.set_last_weight(INFINITY);
    const auto found = problems(files);
    REQUIRE(found.size() == 2);
    CHECK(mentions(found[0], "Mamba"));
    CHECK(mentions(found[1], "infinite"));
    reason = found[0];
    const JsonDocument info = parse(describe_model(files.options));
    CHECK(text(info, "architecture") == "MambaForCausalLM");
    CHECK(info.root().member("family").ok() == false);
    CHECK(number(info, "layers") == files.checkpoint.desc().n_layers);
    CHECK(number(info, "weight_bytes") > 0);
  }
  SECTION("a truncated file") {
    fs::resize_file(files.weights(), fs::file_size(files.weights()) - 1);
    const auto found = problems(files);
    REQUIRE(found.size() == 1);
    CHECK(mentions(found[0], files.weights()));
    reason = found[0];
  }
  SECTION("a tensor of another shape") {
    files.replace("config.json", "\"vocab_size\": 700", "\"vocab_size\": 701");
    reason = problems(files).at(0);
    CHECK(mentions(reason, "tensor"));
  }
  SECTION("a configuration that is no JSON") {
    std::ofstream(files.path("config.json")) << "{";
    reason = problems(files).at(0);
    CHECK(mentions(reason, "config.json"));
  }
  SECTION("a file that is no model") {
    Files other;
    other.options.model_path = files.path("config.json");
    reason = problems(other).at(0);
    CHECK(mentions(reason, "GGUF"));
    CHECK(text(parse(describe_model(other.options)), "refused") == reason);
    return;
  }
  CHECK(text(parse(describe_model(files.options)), "refused") == reason);
  const auto engine = Engine::open(files.options);
  REQUIRE_FALSE(engine.ok());
  CHECK(engine.error().message == reason);
}

TEST_CASE("info says that heads do not fit a type of states, as the engine does") {
  const TinyCheckpoint sixes(5, 1024, 6);
  Files files;
  files.options.model_path = sixes.path();
  CHECK_FALSE(parse(describe_model(files.options)).root().member("refused").ok());
  files.options.kv_type = KvType::kQ8;
  const auto engine = Engine::open(files.options);
  REQUIRE_FALSE(engine.ok());
  CHECK(engine.error().code == Code::kUnsupported);
  CHECK(mentions(engine.error().message, "multiple of 4"));
  CHECK(text(parse(describe_model(files.options)), "refused") == engine.error().message);
}

TEST_CASE("where there is no model to look at, that is the error") {
  EngineOptions options;
  const TempFolder empty;
  for (const std::string& path : {empty.path(), empty.path() + "/absent"}) {
    options.model_path = path;
    for (const auto& report : {describe_model(options), verify_model(options)}) {
      REQUIRE_FALSE(report.ok());
      CHECK(report.error().code == Code::kNotFound);
      CHECK(mentions(report.error().message, path));
    }
  }
}

TEST_CASE("info reads no weight, and knows the digest once it is remembered") {
  Files files;
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // until the files count as settled
  CHECK_FALSE(parse(describe_model(files.options)).root().member("weights_digest").ok());
  CHECK(fs::is_empty(files.cache.path()));
  const auto engine = Engine::open(files.options);
  REQUIRE(engine.ok());
  const JsonDocument info = parse(describe_model(files.options));
  CHECK(text(info, "weights_digest") == to_hex((*engine)->model().weights_digest));
  CHECK(text(info, "positions") == "rotary");
  CHECK(*info.root().member("relocates")->boolean());
  const pc_model_desc& d = files.checkpoint.desc();
  CHECK(number(info, "kv_bytes_per_token") ==
        2 * 2 * d.n_layers * d.layers[0].n_kv_heads * d.layers[0].head_dim);

  std::int64_t parameters = 0, bytes = 0;
  const JsonView groups = *info.root().member("weights");
  CHECK(groups.size() == 5);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    parameters += *groups.at(i).member("parameters")->integer();
    bytes += *groups.at(i).member("bytes")->integer();
    CHECK(*groups.at(i).member("types")->at(0).string() == "f32");
  }
  CHECK(parameters == number(info, "parameters"));
  CHECK(bytes == number(info, "weight_bytes"));

  files.options.cache_mode = CacheMode::kReadOnly;  // and is used without being written
  CHECK(Engine::open(files.options).ok());
}

TEST_CASE("a model with weights that are not finite does not open") {
  const Files files;
  files.set_last_weight(-INFINITY);
  const auto engine = Engine::open(files.options);
  REQUIRE_FALSE(engine.ok());
  CHECK(engine.error().code == Code::kCorrupt);
  CHECK(mentions(engine.error().message, "NaN or infinite"));
}

TEST_CASE("states of weights that changed under the engine are not stored") {
  const Files files;
  const auto engine = Engine::open(files.options);
  REQUIRE(engine.ok());
  CHECK((*engine)->model().files_unchanged());
  auto schema = LoadedSchema::parse(
      *engine, "<schema name=\"s\"><module name=\"a\">Text.</module></schema>", "");
  REQUIRE(schema.ok());
  const auto all = [](std::uint32_t, const std::string&, const AcquiredModule&) { return true; };
  std::this_thread::sleep_for(std::chrono::milliseconds(25));  // a tick of the file's clock
  files.set_last_weight(0.5f);
  CHECK_FALSE((*engine)->model().files_unchanged());
  REQUIRE((*schema)->encode((*schema)->modules(), all).ok());
  CHECK(mentions((*schema)->publish_remark(), "changed since they were opened"));
  CHECK((*engine)->store()->list()->empty());
}
