// What `model verify --probe` reports, against the dense oracle.
#include "runtime/reports/model_probe.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/json/json.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

EngineOptions options_of(const TinyCheckpoint& checkpoint, const TempFolder& cache) {
  EngineOptions options;
  options.model_path = checkpoint.path();
  options.cache_dir = cache.path();
  options.kv_type = KvType::kF32;
  options.precision = Precision::kExact;
  options.n_threads = 2;
  return options;
}

JsonDocument probe(const EngineOptions& options, std::string_view text = kProbeText) {
  return must(JsonDocument::parse(must(probe_model(options, text)), "probe"));
}

double number(JsonView object, const char* key) {
  return must(must(object.member(key)).number());
}

TEST_CASE("perplexity is the oracle's, and the embedding's range that of its rows") {
  const TinyCheckpoint checkpoint(21);
  const TempFolder cache;
  const EngineOptions options = options_of(checkpoint, cache);
  const auto engine = must(Engine::open(options));
  const std::string text = "The tram of Vienna costs six euros, and the tram of Oslo costs two.";
  Tokens tokens = must(engine->tokenizer().encode(text));
  if (engine->text_encoder().bos) tokens.insert(tokens.begin(), *engine->text_encoder().bos);

  std::vector<DenseRow> rows;
  std::vector<std::uint32_t> all;
  double largest = 0;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    all.push_back(i);
    const auto at = static_cast<std::int32_t>(i);
    rows.push_back({tokens[i], 0, at, at, all});
    for (std::uint32_t c = 0; c < checkpoint.desc().d_model; ++c)
      largest = std::max(largest,
                         std::fabs(TinyModel::at(
                             checkpoint.desc().embedding,
                             static_cast<std::size_t>(tokens[i]) * checkpoint.desc().d_model + c)));
  }
  const auto logits = DenseOracle(checkpoint.desc()).forward(rows, all);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto& row = logits[i];
    double exponentials = 0;
    for (const double x : row) exponentials += std::exp(x);
    sum += std::log(exponentials) - row[static_cast<std::size_t>(tokens[i + 1])];
  }
  const double want = std::exp(sum / static_cast<double>(tokens.size() - 1));

  const JsonDocument report = probe(options, text);
  CHECK(must(report.root().boolean_or("ok", false)));
  CHECK(number(report.root(), "tokens") == static_cast<double>(tokens.size()));
  CHECK(number(report.root(), "perplexity") == Approx(want).epsilon(1e-5));
  CHECK(number(report.root(), "prefill_distance") <= 1e-5);
  const JsonView layers = must(report.root().member("layers"));
  REQUIRE(layers.size() == checkpoint.desc().n_layers + 1);
  CHECK(number(layers.at(0), "largest") == Approx(largest));
  CHECK(number(layers.at(2), "largest") > 0);
  CHECK(number(layers.at(2), "not_finite") == 0);
}

TEST_CASE("an overflow is a problem that names its layer, and the report goes on behind it") {
  const TinyCheckpoint checkpoint(22, 1024, 8, [](const pc_model_desc& d) {
    for (const pc_tensor& w : {d.layers[0].ffn.up, d.layers[0].ffn.gate}) {
      auto* data = const_cast<float*>(static_cast<const float*>(w.data));
      std::fill_n(data, std::size_t{w.rows} * w.cols, 1e25f);
    }
  });
  const TempFolder cache;
  const JsonDocument report = probe(options_of(checkpoint, cache));
  CHECK_FALSE(must(report.root().boolean_or("ok", true)));
  const JsonView problems = must(report.root().member("problems"));
  REQUIRE(problems.size() == 1);
  CHECK(must(problems.at(0).string()).find("begin in layer 1") != std::string_view::npos);
  const JsonView layers = must(report.root().member("layers"));
  CHECK(number(layers.at(0), "not_finite") == 0);
  CHECK(number(layers.at(1), "not_finite") > 0);
  CHECK(number(layers.at(2), "not_finite") > 0);
}

// A chat template that writes BOS says nothing of plain text.
TEST_CASE("a probe's text begins as the tokenizer begins a text") {
  const TempFolder cache;
  for (const bool adds : {false, true}) {
    const TinyCheckpoint checkpoint(24);
    std::ofstream(checkpoint.path() + "/tokenizer_config.json")
        << R"({"bos_token": "<s>", "add_bos_token": )" << (adds ? "true" : "false")
        << R"(, "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"})";
    const EngineOptions options = options_of(checkpoint, cache);
    const auto engine = must(Engine::open(options));
    CHECK(engine->text_encoder().bos.has_value() == adds);
    const std::string text = "The tram of Vienna costs six euros.";
    const std::size_t plain = must(engine->tokenizer().encode(text)).size();
    CHECK(number(probe(options, text).root(), "tokens") == static_cast<double>(plain + adds));
  }
}

TEST_CASE("a text of one token is refused") {
  const TinyCheckpoint checkpoint(23);
  const TempFolder cache;
  const auto report = probe_model(options_of(checkpoint, cache), "");
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == Code::kInvalidArgument);
}

}  // namespace
}  // namespace pc::test
