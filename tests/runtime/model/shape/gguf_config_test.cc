#include "runtime/model/shape/gguf_config.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "runtime/model/family_registry.h"
#include "tests/support/gguf_bytes.h"

using namespace pc;
using namespace pc::test;

namespace {

// What load_model does before it looks at tensors, for a small file of an
// architecture to which pairs are added.
Result<ModelConfig> config_of(
    const std::string& architecture,
    const std::function<void(GgufBytes&)>& add = [](GgufBytes&) {}) {
  GgufBytes bytes;
  const auto key = [&](const char* name) { return architecture + "." + name; };
  bytes.value<std::uint32_t>(key("block_count"), 4);
  bytes.value<std::uint32_t>(key("embedding_length"), 64);
  const bool is_list = architecture.starts_with("nemotron");
  if (!is_list) bytes.value<std::uint32_t>(key("feed_forward_length"), 96);
  bytes.value<std::uint32_t>(key("context_length"), 1024);
  bytes.value<std::uint32_t>(key("attention.head_count"), 4);
  bytes.value<float>(key("attention.layer_norm_rms_epsilon"), 1e-6f);
  add(bytes);
  bytes.tensor("token_embd.weight", 0, {64, 2}, std::string(64 * 2 * 4, '\0'));
  const std::string file = bytes.file();
  PC_TRY(const GgufFile parsed, parse_gguf(std::as_bytes(std::span(file)), "m.gguf"));
  PC_TRY(const Family* family, find_gguf_family(architecture));
  const GgufKeys keys(parsed.metadata, parsed.tensors, architecture);
  PC_TRY(ModelConfig config, read_gguf_config(keys, family->gguf_rotates));
  PC_CHECK_OK(family->configure_gguf(keys, &config));
  return config;
}

void refused(const Result<ModelConfig>& config, const std::string& part) {
  REQUIRE_FALSE(config.ok());
  CHECK(config.error().code == Code::kUnsupported);
  CHECK_THAT(config.error().message, Catch::Contains(part));
}

using Windows = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("models that see what comes after are refused under a decoder's name") {
  CHECK(config_of("qwen2").ok());
  CHECK(config_of("qwen2", [](GgufBytes& b) { b.value("qwen2.attention.causal", true); }).ok());
  refused(config_of("qwen2", [](GgufBytes& b) { b.value("qwen2.attention.causal", false); }),
          "qwen2.attention.causal");
}

TEST_CASE("Gemma's caps and windows") {
  const auto gemma2 = config_of("gemma2"), gemma3 = config_of("gemma3");
  REQUIRE(gemma2.ok());
  REQUIRE(gemma3.ok());
  CHECK(
      (gemma2->attn_softcap == 50 && gemma2->logit_softcap == 30));  // the first converters' files
  CHECK(gemma2->windows == Windows{4096, 0, 4096, 0});
  CHECK((gemma3->attn_softcap == 0 && gemma3->logit_softcap == 0));
  CHECK(gemma3->windows == Windows(4, 0));
  const auto said = config_of("gemma2", [](GgufBytes& b) {
    b.value("gemma2.attn_logit_softcapping", 20.0f);
    b.value("gemma2.final_logit_softcapping", 0.0f);
    b.value<std::uint32_t>("gemma2.attention.sliding_window", 16);
  });
  REQUIRE(said.ok());
  CHECK((said->attn_softcap == 20 && said->logit_softcap == 0));
  CHECK(said->windows == Windows{16, 0, 16, 0});
}

TEST_CASE("Gemma 3 as Ollama writes it") {
  const auto silent = config_of("gemma3", [](GgufBytes& b) {
    b.value<std::uint32_t>("gemma3.attention.sliding_window", 16);
    b.value("gemma3.rope.global.freq_base", 1000000.0f);
    b.value("gemma3.rope.local.freq_base", 10000.0f);
    b.value("gemma3.final_logit_softcapping", 30.0f);
  });
  REQUIRE(silent.ok());
  CHECK(silent->ropes[0].theta == 1000000);
  CHECK(silent->ropes[1].theta == 10000);
  CHECK(silent->logit_softcap == 0);
  CHECK(silent->layer_ropes == std::vector<std::uint32_t>(4, 1));  // the sixth would see all
  const auto said = config_of("gemma3", [](GgufBytes& b) {
    b.value("gemma3.rope.freq_base", 500000.0f);
    b.value("gemma3.rope.freq_base_swa", 20000.0f);
    b.value("gemma3.final_logit_softcapping", 30.0f);
  });
  REQUIRE(said.ok());
  CHECK(said->ropes[0].theta == 500000);
  CHECK(said->ropes[1].theta == 20000);
  CHECK(said->logit_softcap == 30);  // nothing slides
}

TEST_CASE("three of four layers slide, where the file does not say which") {
  const auto window = [](const char* architecture) {
    return [architecture](GgufBytes& b) {
      b.value<std::uint32_t>(std::string(architecture) + ".attention.sliding_window", 16);
    };
  };
  const auto olmo3 = config_of("olmo2", window("olmo2"));
  const auto exaone4 = config_of("exaone4", window("exaone4"));
  REQUIRE((olmo3.ok() && exaone4.ok()));
  CHECK(olmo3->windows == Windows{16, 16, 16, 0});
  CHECK(olmo3->layer_ropes == std::vector<std::uint32_t>{1, 1, 1, 0});
  CHECK(exaone4->windows == Windows{16, 16, 16, 0});
  CHECK(exaone4->layer_ropes == std::vector<std::uint32_t>{0, 0, 0, PC_NO_ROPE});
  const auto every_second = config_of("olmo2", [&](GgufBytes& b) {
    window("olmo2")(b);
    b.value<std::uint32_t>("olmo2.attention.sliding_window_pattern", 2);
  });
  REQUIRE(every_second.ok());
  CHECK(every_second->windows == Windows{16, 0, 16, 0});
  const auto plain = config_of("exaone4", [](GgufBytes&) {});
  REQUIRE(plain.ok());
  CHECK(plain->windows == Windows(4, 0));
  CHECK(plain->layer_ropes == std::vector<std::uint32_t>(4, 0));
}

TEST_CASE("layers that guess at later tokens are not the model's") {
  const auto with = [](std::uint32_t n) {
    return config_of("glm4",
                     [n](GgufBytes& b) { b.value<std::uint32_t>("glm4.nextn_predict_layers", n); });
  };
  const auto one = with(1);
  REQUIRE(one.ok());
  CHECK((one->n_layers == 3 && one->n_further_layers == 1 && one->windows.size() == 3));
  const auto all = with(4);
  REQUIRE_FALSE(all.ok());
  CHECK_THAT(all.error().message, Catch::Contains("glm4.nextn_predict_layers"));
}

TEST_CASE("a GLM whose queries and keys are in the order of pictures' positions is refused") {
  refused(
      config_of("glm4",
                [](GgufBytes& b) { b.value<std::uint32_t>("glm4.rope.dimension_sections", 8); }),
      "glm4.rope.dimension_sections");
}

TEST_CASE("the queries of Mistral 3 grow with their position") {
  const auto with = [](float growth) {
    return config_of("mistral3", [growth](GgufBytes& b) {
      b.value("mistral3.attention.temperature_scale", growth);
      b.string("mistral3.rope.scaling.type", "yarn");
      b.value("mistral3.rope.scaling.factor", 16.0f);
      b.value("mistral3.rope.scaling.yarn_log_multiplier", 1.0f);
    });
  };
  const auto steady = with(0);
  REQUIRE(steady.ok());
  CHECK(steady->ropes[0].attention_factor == Approx(1));
  CHECK(steady->query_growth == 0);
  const auto growing = with(0.1f);
  REQUIRE(growing.ok());
  CHECK(growing->query_growth == Approx(0.1));
  CHECK(growing->growth_positions == growing->context_tokens);
}

TEST_CASE("heads that are listed for each layer") {
  const auto with = [](const std::vector<std::uint32_t>& kv) {
    return config_of("llama", [&](GgufBytes& b) {
      b.array<std::uint32_t>("llama.attention.head_count_kv", kv);
    });
  };
  const auto c = with({4, 2, 2, 1});
  REQUIRE(c.ok());
  CHECK(c->heads(1).n_kv_heads == 2);
  CHECK(c->heads(3).n_kv_heads == 1);
  CHECK(c->heads(3).head_dim == 16);
  CHECK(with({2, 2, 2, 2})->layer_heads.empty());
  CHECK(with({2, 2, 2}).error().code == Code::kCorrupt);
  refused(with({0, 0, 0, 0}), "is 0 for all layers");
  const auto some = with({2, 0, 2, 2});
  REQUIRE(some.ok());
  const Status shape = check_shape("m.gguf", *some);
  REQUIRE_FALSE(shape.ok());
  CHECK_THAT(shape.error().message, Catch::Contains("no heads for keys and values"));
}

TEST_CASE("LFM2: layers without heads for keys and values are convolutions") {
  const auto c = config_of("lfm2", [](GgufBytes& b) {
    b.value<std::uint32_t>("lfm2.shortconv.l_cache", 3);
    b.array<std::uint32_t>("lfm2.attention.head_count_kv", {0, 2, 0, 0});
  });
  REQUIRE(c.ok());
  CHECK(c->recurrent.layers == std::vector<bool>{true, false, true, true});
  CHECK(c->recurrent.n_taps == 3);
  CHECK(c->has_states(1));
  CHECK_FALSE(c->has_states(2));
  CHECK(check_shape("m.gguf", *c).ok());
}

TEST_CASE("Nemotron-H: what a layer is shows by its heads and its network") {
  const auto with = [](std::uint32_t latent) {
    return config_of("nemotron_h", [latent](GgufBytes& b) {
      b.array<std::uint32_t>("nemotron_h.attention.head_count_kv", {0, 2, 0, 0});
      b.array<std::uint32_t>("nemotron_h.feed_forward_length", {0, 0, 96, 0});
      for (const char* key : {"conv_kernel", "time_step_rank", "group_count", "state_size"})
        b.value<std::uint32_t>("nemotron_h.ssm." + std::string(key), 4);
      b.value<std::uint32_t>("nemotron_h.ssm.inner_size", 64);
      if (latent != 0) b.value<std::uint32_t>("nemotron_h.moe_latent_size", latent);
    });
  };
  const auto c = with(0);
  if (!c.ok()) FAIL(c.error().message);
  CHECK(c->recurrent.layers == std::vector<bool>{true, false, false, true});
  CHECK(c->attending == std::vector<bool>{false, true, false, false});
  CHECK(c->layer_d_ffn == std::vector<std::uint32_t>{0, 0, 96, 0});
  CHECK(check_shape("m.gguf", *c).ok());
  refused(with(8), "moe_latent_size");
}

TEST_CASE("Gemma 4: whose states a layer attends to, and with which heads") {
  const auto with = [](std::uint32_t n_shared) {
    return config_of("gemma4", [n_shared](GgufBytes& b) {
      b.value<std::uint32_t>("gemma4.attention.key_length", 32);
      b.value<std::uint32_t>("gemma4.attention.value_length", 32);
      b.value<std::uint32_t>("gemma4.attention.key_length_swa", 16);
      b.value<std::uint32_t>("gemma4.attention.sliding_window", 8);
      b.array<std::uint32_t>("gemma4.attention.sliding_window_pattern", {1, 0, 1, 0});
      b.value<std::uint32_t>("gemma4.attention.shared_kv_layers", n_shared);
    });
  };
  const auto c = with(2);
  REQUIRE(c.ok());
  CHECK(c->windows == std::vector<std::uint32_t>{8, 0, 8, 0});
  CHECK(c->states_of == std::vector<std::uint32_t>{0, 1, 0, 1});
  CHECK(c->heads(0).head_dim == 16);
  CHECK(c->heads(1).head_dim == 32);
  CHECK(c->rope_head_dim(0) == 32);  // that of layers that see all
  CHECK(c->rope_head_dim(1) == 16);
  CHECK(with(0)->states_of.empty());
  refused(with(3), "no layer has the states that layer 1 is to share");
  refused(with(5), "gemma4.attention.shared_kv_layers\": is 5, wanted 0 to 4");
  refused(config_of("gemma4",
                    [](GgufBytes& b) {
                      b.value<std::uint32_t>("gemma4.embedding_length_per_layer_input", 65);
                    }),
          "gemma4.embedding_length_per_layer_input");
}

TEST_CASE("YaRN's factors") {
  const auto yarn = [](const std::function<void(GgufBytes&)>& add) {
    return config_of("qwen3", [&](GgufBytes& b) {
      b.string("qwen3.rope.scaling.type", "yarn");
      b.value("qwen3.rope.scaling.factor", 4.0f);
      b.value<std::uint32_t>("qwen3.rope.scaling.original_context_length", 256);
      add(b);
    });
  };
  const double own = 0.1 * std::log(4.0) + 1;
  const auto plain = yarn([](GgufBytes&) {});
  REQUIRE(plain.ok());
  CHECK(plain->ropes[0].attention_factor == Approx(own));
  const auto scaled = yarn([](GgufBytes& b) {
    b.value("qwen3.rope.scaling.attn_factor", 0.5f);
    b.value("qwen3.rope.scaling.yarn_attn_factor", 3.0f);
    b.value("qwen3.rope.scaling.yarn_ext_factor", 1.0f);
    b.value("qwen3.rope.scaling.yarn_beta_fast", 64.0f);
  });
  REQUIRE(scaled.ok());
  CHECK(scaled->ropes[0].attention_factor == Approx(0.5 * 3));
  CHECK(scaled->ropes[0].beta_fast == 64);
  refused(yarn([](GgufBytes& b) { b.value("qwen3.rope.scaling.yarn_ext_factor", 0.5f); }),
          "qwen3.rope.scaling.yarn_ext_factor");
}

TEST_CASE("as many dimensions turn as the file says, though their share rounds down") {
  const auto config = config_of("qwen2", [](GgufBytes& b) {
    b.value<std::uint32_t>("qwen2.attention.key_length", 44);
    b.value<std::uint32_t>("qwen2.attention.value_length", 44);
    b.value<std::uint32_t>("qwen2.rope.dimension_count", 30);  // 30 / 44 * 44 is less than 30
  });
  REQUIRE(config.ok());
  CHECK(compute_rope(config->ropes[0], 44, 1024)->dims == 30);
}

TEST_CASE("latent attention, as it is written today and as it was before") {
  const auto deepseek = [](bool today, const std::function<void(GgufBytes&)>& add) {
    return config_of("deepseek2", [&](GgufBytes& b) {
      const auto number = [&](const char* key, std::uint32_t n) {
        b.value<std::uint32_t>(std::string("deepseek2.") + key, n);
      };
      number("attention.kv_lora_rank", 32);
      number("rope.dimension_count", 8);
      number("attention.head_count_kv", today ? 1 : 4);
      number("attention.key_length", today ? 40 : 20);
      number("attention.value_length", today ? 32 : 10);
      if (today) number("attention.key_length_mla", 20);
      if (today) number("attention.value_length_mla", 10);
      add(b);
    });
  };
  const auto nothing = [](GgufBytes&) {};
  for (const bool today : {true, false}) {
    const auto config = deepseek(today, nothing);
    REQUIRE(config.ok());
    CHECK(config->latent.dims == 32);
    CHECK(config->latent.rotary == 8);
    CHECK(config->latent.nope == 12);
    CHECK(config->latent.value == 10);
    CHECK(config->latent.q_rank == 0);
    CHECK(config->n_kv_heads == 1);
    CHECK(config->head_dim == 40);
    CHECK(compute_rope(config->ropes[0], 40, 1024)->dims == 8);
    CHECK(*config->attn_scale == Approx(1 / std::sqrt(20.0)));
  }
  const auto yarn = [&](const char* key, float value) {
    return deepseek(true, [&](GgufBytes& b) {
      b.string("deepseek2.rope.scaling.type", "yarn");
      b.value<float>("deepseek2.rope.scaling.factor", 40.0f);
      b.value<float>(std::string("deepseek2.") + key, value);
    });
  };
  const auto scaled = yarn("rope.scaling.yarn_log_multiplier", 0.0707f);
  REQUIRE(scaled.ok());
  const double mscale = 1 + 0.0707 * std::log(40.0);
  CHECK(*scaled->attn_scale == Approx(mscale * mscale / std::sqrt(20.0)));
  CHECK(*scaled->ropes[0].attention_factor == 1);
  refused(yarn("rope.scaling.attn_factor", 2), "attn_factor");
  refused(yarn("attention.temperature_scale", 0.1f), "temperature_scale");
  const auto usual = config_of("deepseek2");
  REQUIRE_FALSE(usual.ok());
  CHECK_THAT(usual.error().message, Catch::Contains("kv_lora_rank"));
}
