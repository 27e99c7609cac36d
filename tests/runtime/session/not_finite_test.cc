// Numbers that are not finite: an error that names the layer, never a token.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "modules/kv.h"
#include "promptcache/promptcache.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/backend/cpu_backend.h"
#include "runtime/scheduler/scheduler.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_checkpoint.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

struct Answer {
  std::int32_t status;
  std::string sentence;
};

Answer compute(const pc_model_desc& desc, std::uint32_t n_tokens, bool wants_logits = true) {
  const BackendModel model =
      must(BackendModel::open(cpu_backend(), desc, KvType::kF32, Precision::kFast, 2, nullptr));
  Scheduler scheduler(model);
  BackendTimeline timeline = must(model.timeline());
  std::vector<std::int32_t> tokens(n_tokens);
  for (std::uint32_t i = 0; i < n_tokens; ++i)
    tokens[i] = static_cast<std::int32_t>(i % desc.vocab_size);
  std::vector<float> logits(desc.vocab_size);
  const pc_run run{tokens.data(), n_tokens, 7, 7, 0, nullptr, nullptr, 0, nullptr};
  const Status done = scheduler.compute(
      {.timeline = &timeline, .runs = {&run, 1}, .logits = wants_logits ? logits.data() : nullptr});
  if (done.ok()) return {0, ""};
  return {static_cast<std::int32_t>(done.error().code), done.error().message};
}

// A model of four layers with one number changed in a matrix.
class Planted {
 public:
  Planted() : model_(3, shape()), layers_(model_.desc.layers, model_.desc.layers + 4) {}

  static TinyShape shape() {
    TinyShape s;
    s.n_layers = 4;
    return s;
  }
  pc_layer& layer(std::uint32_t i) { return layers_[i]; }
  pc_model_desc desc() {
    pc_model_desc d = model_.desc;
    d.layers = layers_.data();
    return d;
  }
  const pc_model_desc& sound() const { return model_.desc; }
  static void plant(const pc_tensor& w, std::size_t at, float value) {
    const_cast<float*>(static_cast<const float*>(w.data))[at] = value;
  }

 private:
  TinyModel model_;
  std::vector<pc_layer> layers_;
};

constexpr auto kNotFinite = static_cast<std::int32_t>(Code::kNotFinite);

TEST_CASE("a weight that is not finite is named by the layer it stands in") {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::uint32_t layer : {0u, 2u, 3u}) {
      for (const std::uint32_t n_tokens : {1u, 30u}) {
        INFO(value << " in layer " << layer << ", " << n_tokens << " tokens");
        Planted planted;
        Planted::plant(planted.layer(layer).ffn.down, 5, value);
        for (const bool wants_logits : {false, true}) {  // modules are encoded without
          const Answer got = compute(planted.desc(), n_tokens, wants_logits);
          CHECK(got.status == kNotFinite);
          CHECK(got.sentence.find("in layer " + std::to_string(layer + 1) + " of 4") !=
                std::string::npos);
          CHECK(got.sentence.find("position 7") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("an overflow of finite weights is named, and so are the embedding and the logits") {
  Planted planted;
  const std::size_t n = std::size_t{48} * 32;
  for (std::size_t i = 0; i < n; ++i) {
    Planted::plant(planted.layer(1).ffn.up, i, 1e25f);
    Planted::plant(planted.layer(1).ffn.gate, i, 1e25f);
  }
  const Answer overflow = compute(planted.desc(), 9);
  CHECK(overflow.status == kNotFinite);
  CHECK(overflow.sentence.find("layer 2 of 4") != std::string::npos);

  Planted embedding;
  Planted::plant(embedding.sound().embedding, 3 * 32, std::numeric_limits<float>::quiet_NaN());
  const Answer named = compute(embedding.desc(), 9);
  CHECK(named.status == kNotFinite);
  CHECK(named.sentence.find("the embedding") != std::string::npos);
  CHECK(named.sentence.find("position 10") != std::string::npos);

  Planted head;
  Planted::plant(head.sound().lm_head, 100, std::numeric_limits<float>::infinity());
  const Answer logits = compute(head.desc(), 9);
  CHECK(logits.status == kNotFinite);
  CHECK(logits.sentence.find("backend cpu computed logits") != std::string::npos);
  CHECK(logits.sentence.find("position 15") != std::string::npos);

  pc_model_desc capped = head.desc();  // whose logits are below 30, come what may
  capped.logit_softcap = 30;
  const Answer hidden = compute(capped, 9);
  CHECK(hidden.status == kNotFinite);
  CHECK(hidden.sentence.find("before they are capped") != std::string::npos);

  Planted large;  // finite logits, which the scale makes infinite
  Planted::plant(large.sound().lm_head, 100, 1e20f);
  CHECK(compute(large.desc(), 9).status == 0);
  pc_model_desc scaled = large.desc();
  scaled.logit_scale = 1e38f;
  CHECK(compute(scaled, 9).status == kNotFinite);

  CHECK(compute(Planted().desc(), 9).status == 0);
}

TEST_CASE("through the C API: PC_NOT_FINITE with the sentence, no token and no module") {
  const TinyCheckpoint checkpoint(5, 1024, 8, [](const pc_model_desc& d) {
    for (const pc_tensor& w : {d.layers[1].ffn.up, d.layers[1].ffn.gate}) {
      for (std::uint32_t i = 0; i < w.rows * w.cols; ++i) Planted::plant(w, i, 1e25f);
    }
  });
  const TempFolder cache;
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = checkpoint.path().c_str();
  options.cache_dir = cache.path().c_str();
  pc_error e{};
  pc_engine* engine = nullptr;
  REQUIRE(pc_engine_open(&options, &engine, &e) == PC_OK);
  const std::string schema_text = R"(<schema name="s">one <module name="m">two</module></schema>)";
  const std::string prompt_text = R"(<prompt schema="s"><m/>three</prompt>)";
  pc_schema* schema = nullptr;
  REQUIRE(pc_schema_parse(engine, schema_text.c_str(), PC_NUL_TERMINATED, nullptr, &schema, &e) ==
          PC_OK);
  CHECK(pc_schema_encode(schema, nullptr, nullptr, nullptr, &e) == PC_NOT_FINITE);
  CHECK(std::string(e.message).find("layer 2 of 2") != std::string::npos);
  pc_prompt* prompt = nullptr;
  REQUIRE(pc_prompt_parse(schema, prompt_text.c_str(), PC_NUL_TERMINATED, &prompt, &e) == PC_OK);
  pc_session_options full;
  pc_session_options_init(&full);
  full.no_reuse = 1;
  pc_session* session = nullptr;
  REQUIRE(pc_session_open(prompt, &full, &session, &e) == PC_OK);
  pc_token token{};
  CHECK(pc_session_next(session, &token, &e) == PC_NOT_FINITE);
  CHECK(std::string(e.message).find("layer 2 of 2") != std::string::npos);
  CHECK(std::string(pc_status_name(PC_NOT_FINITE)) == "not-finite");
  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_engine_close(engine);
}

}  // namespace
}  // namespace pc::test
