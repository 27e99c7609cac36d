// What single families read in config.json.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "runtime/model/family_registry.h"
#include "tests/support/model_configs.h"

using namespace pc;
using namespace pc::test;

TEST_CASE("Mistral has one window for all layers") {
  const std::string a = "MistralForCausalLM";
  CHECK(config_of(a, R"("sliding_window":128)")->windows == Windows(4, 128));
  CHECK(config_of(a, R"("sliding_window":null)")->windows == Windows(4, 0));
  CHECK(config_of(a)->windows == Windows(4, 4096));  // as the reference reads a silent file
  CHECK(config_of(a, R"("sliding_window":8,"layer_types":["sliding_attention","sliding_attention",)"
                     R"("sliding_attention","sliding_attention"])")
            .ok());
  refused(
      config_of(a, R"("sliding_window":8,"layer_types":["sliding_attention","sliding_attention",)"
                   R"("sliding_attention","full_attention"])"),
      Code::kUnsupported, "disagree");
  refused(config_of(a, R"("sliding_window":0)"), Code::kCorrupt, "sliding_window");
}

TEST_CASE("Qwen has a window in some layers, where it is switched on") {
  for (const std::string a : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    INFO(a);
    CHECK(config_of(a, R"("sliding_window":64,"max_window_layers":2)")->windows == Windows(4, 0));
    const std::string on = R"("use_sliding_window":true,)";
    CHECK(config_of(a, on + R"("sliding_window":64,"max_window_layers":2)")->windows ==
          Windows{0, 0, 64, 64});
    CHECK(config_of(a, on + R"("sliding_window":64)")->windows == Windows(4, 0));
    CHECK(config_of(a, on + R"("sliding_window":null,"max_window_layers":0)")->windows ==
          Windows(4, 0));
    CHECK(config_of(a, on + R"("max_window_layers":3)")->windows == Windows{0, 0, 0, 4096});
    const std::string types =
        R"("layer_types":["sliding_attention","full_attention","full_attention","full_attention"])";
    CHECK(config_of(a, on + R"("sliding_window":64,)" + types)->windows == Windows{64, 0, 0, 0});
    refused(config_of(a, types), Code::kUnsupported, "layer 0");
  }
  CHECK(config_of("Qwen2ForCausalLM")->q_bias);
  CHECK_FALSE(config_of("Qwen2ForCausalLM")->o_bias);
  CHECK(config_of("Qwen3ForCausalLM")->head_norm == HeadNorm::kEach);
  CHECK_FALSE(config_of("Qwen3ForCausalLM")->q_bias);
}

TEST_CASE("MPT has the name that MosaicML gave it, and transformers'") {
  const std::string shape = R"("d_model":64,"n_heads":4,"n_layers":4,"max_seq_len":128)";
  const auto published = config_of("MPTForCausalLM", shape),
             later = config_of("MptForCausalLM", shape);
  REQUIRE(published.ok());
  REQUIRE(later.ok());
  CHECK(published->alibi_slopes == later->alibi_slopes);
  CHECK(published->alibi_slopes.size() == 4);
  refused(config_of("MptForCausalLM", shape + R"(,"attn_config":{"alibi_bias_max":-8})"),
          Code::kCorrupt, "alibi_bias_max");
}

TEST_CASE("Gemma's pattern of windows is a number of layers") {
  const std::string a = "Gemma3ForCausalLM", of = R"("sliding_window":8,"sliding_window_pattern":)";
  CHECK(config_of(a, of + "2")->windows == Windows{8, 0, 8, 0});
  CHECK(config_of(a, of + "4096")->windows == Windows(4, 8));
  for (const char* bad : {"0", "-1", "4097", "4294967296"})  // the last is 0 in 32 bits
    refused(config_of(a, of + bad), Code::kCorrupt, "sliding_window_pattern");
}

TEST_CASE("Gemma 2 has caps unless the file says null") {
  const std::string a = "Gemma2ForCausalLM";
  CHECK(config_of(a)->attn_softcap == 50);
  CHECK(config_of(a)->logit_softcap == 30);
  CHECK(config_of(a, R"("attn_logit_softcapping":20.0)")->attn_softcap == 20);
  const auto none = config_of(a, R"("attn_logit_softcapping":null,"final_logit_softcapping":null)");
  REQUIRE(none.ok());
  CHECK(none->attn_softcap == 0);
  CHECK(none->logit_softcap == 0);
}

TEST_CASE("Llama has no window") {
  CHECK(llama(R"("sliding_window":null)").ok());
  CHECK(llama(R"("sliding_window":8192)").ok());  // cannot act
  refused(llama(R"("sliding_window":4096)"), Code::kUnsupported, "sliding window");
  refused(llama(R"("layer_types":["full_attention","full_attention","full_attention",)"
                R"("sliding_attention"])"),
          Code::kUnsupported, "sliding window");
}

TEST_CASE("three of four layers of OLMo 3 and of Exaone 4 slide") {
  const auto olmo3 = config_of("Olmo3ForCausalLM", R"("rope_theta":20000,"rope_scaling":)"
                                                   R"({"rope_type":"yarn","factor":4})");
  REQUIRE(olmo3.ok());
  CHECK(olmo3->windows == Windows{4096, 4096, 4096, 0});
  CHECK(olmo3->ropes[olmo3->layer_ropes[3]].type == "yarn");
  CHECK(olmo3->ropes[olmo3->layer_ropes[0]].type == "default");
  CHECK(olmo3->ropes[olmo3->layer_ropes[0]].theta == 20000);
  refused(config_of("Olmo3ForCausalLM", R"("sliding_window":null)"), Code::kUnsupported,
          "sliding_window");
  const auto letters =
      config_of("Exaone4ForCausalLM", R"("sliding_window":8,"sliding_window_pattern":"LG")");
  REQUIRE(letters.ok());
  CHECK(letters->windows == Windows{8, 0, 8, 0});
  CHECK(letters->layer_ropes[1] == PC_NO_ROPE);
  const auto whole =
      config_of("Exaone4ForCausalLM", R"("sliding_window":null,"sliding_window_pattern":null)");
  REQUIRE(whole.ok());
  CHECK(whole->windows == Windows(4, 0));
  CHECK(whole->layer_ropes[1] == 0);
  refused(config_of("Exaone4ForCausalLM", R"("sliding_window_pattern":"")"), Code::kCorrupt,
          "sliding_window_pattern");
}

TEST_CASE("HunYuan: what its mixtures have is refused, alpha is in range") {
  const auto dense = [](const std::string& more) {
    return config_of("HunYuanDenseV1ForCausalLM", more);
  };
  const auto scaled = [&](const std::string& alpha) {
    const auto config = dense(R"("rope_scaling":{"type":"dynamic","alpha":)" + alpha + "}");
    REQUIRE(config.ok());
    return compute_rope(config->ropes[0], 8, 1024);
  };
  CHECK(dense(R"("use_qk_norm":true,"use_cla":false,"num_experts":1)").ok());
  for (const char* other : {R"("use_qk_norm":false)", R"("use_cla":true)", R"("num_experts":16)"})
    refused(dense(other), Code::kUnsupported, "use_cla");
  refused(dense(R"("rope_scaling":{"type":"dynamic","factor":2})"), Code::kUnsupported, "dynamic");
  CHECK(std::fabs(scaled("50")->inv_freq[1] - std::pow(10000 * std::pow(50, 8.0 / 6), -0.25)) <
        1e-12);
  for (const char* none : {"0", "-1", "1e300"}) refused(scaled(none), Code::kUnsupported, "alpha");
}

TEST_CASE("DeepSeek: parts of heads, which layers mix, and what is refused") {
  const std::string parts =
      R"("kv_lora_rank":32,"qk_rope_head_dim":8,"qk_nope_head_dim":12,"v_head_dim":10,)"
      R"("n_routed_experts":6,"num_experts_per_tok":2,"moe_intermediate_size":8)";
  const auto v2 = [&](const std::string& more) {
    return config_of("DeepseekV2ForCausalLM", parts + more);
  };
  const auto plain = v2(R"(,"q_lora_rank":null,"n_shared_experts":2,"first_k_dense_replace":1)");
  REQUIRE(plain.ok());
  CHECK(plain->latent.q_rank == 0);
  CHECK(plain->n_kv_heads == 1);
  CHECK(plain->head_dim == 40);
  CHECK(plain->mixture.layers == std::vector<bool>{false, true, true, true});
  CHECK(plain->mixture.d_shared == 16);
  CHECK(*plain->attn_scale == Approx(1 / std::sqrt(20.0)));
  CHECK(compute_rope(plain->ropes[0], 40, 1024)->dims == 8);
  const auto grouped = R"(,"n_group":3,"topk_group":2,"topk_method":)";
  CHECK(v2(grouped + std::string(R"("greedy")"))->mixture.n_groups == 1);
  CHECK(v2(grouped + std::string(R"("group_limited_greedy")"))->mixture.n_groups == 3);
  refused(v2(grouped + std::string(R"("noaux_tc")")), Code::kUnsupported, "noaux_tc");
  refused(v2(R"(,"attention_bias":true)"), Code::kUnsupported, "attention_bias");
  refused(v2(R"(,"norm_topk_prob":true)"), Code::kUnsupported, "norm_topk_prob");
  refused(v2(R"(,"moe_layer_freq":2)"), Code::kUnsupported, "moe_layer_freq");
  refused(v2(R"(,"q_lora_rank":0)"), Code::kCorrupt, "q_lora_rank");
  refused(config_of("DeepseekV3ForCausalLM"), Code::kCorrupt, "kv_lora_rank");
  ModelConfig many = plain.value();
  many.n_heads = 1 << 20;
  refused(check_shape("m", many), Code::kUnsupported, "heads times");

  const auto lite = [&](const std::string& more) {
    return config_of("Glm4MoeLiteForCausalLM", parts + more);
  };
  CHECK(lite("")->mixture.layers == std::vector<bool>{false, true, true, true});
  CHECK(lite(R"(,"mlp_layer_types":["dense","dense","sparse","dense"])")->mixture.layers ==
        std::vector<bool>{false, false, true, false});
  refused(lite(R"(,"mlp_layer_types":["dense","other","sparse","dense"])"), Code::kUnsupported,
          "other");
  refused(lite(R"(,"mlp_layer_types":["dense"])"), Code::kCorrupt, "4 layers");
}

TEST_CASE("MiniCPM 3's factors, where the file says them, and nothing, and null") {
  const auto mini = [](const std::string& more) {
    return config_of("MiniCPM3ForCausalLM",
                     R"("kv_lora_rank":32,"qk_rope_head_dim":8,"qk_nope_head_dim":12)" + more);
  };
  const auto silent = mini(""),
             said = mini(R"(,"scale_emb":3,"scale_depth":2,"dim_model_base":16)"),
             null = mini(R"(,"scale_depth":null,"dim_model_base":null)");
  REQUIRE((silent.ok() && said.ok() && null.ok()));
  CHECK(silent->embedding_scale == 12);
  CHECK(silent->residual_scale == Approx(0.7));  // of four layers
  CHECK(silent->logit_scale == Approx(4));       // of a width of 64
  CHECK(silent->latent.value == 16);
  CHECK_FALSE(silent->rope_interleaved);
  CHECK((said->embedding_scale == 3 && said->residual_scale == 1 && said->logit_scale == 0.25));
  CHECK((null->residual_scale == 1 && null->logit_scale == 1));
}

TEST_CASE("Gemma 4's layers, in both dialects") {
  const std::string kinds =
      R"("num_key_value_heads":2,"head_dim":16,"sliding_window":8,"hidden_size_per_layer_input":0,)"
      R"("layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"],)"
      R"("attention_k_eq_v":true,)";
  const auto released = config_of("Gemma4ForCausalLM",
                                  kinds + R"("global_head_dim":32,"num_global_key_value_heads":1)");
  const auto saved =
      config_of("Gemma4ForCausalLM", kinds + R"("per_layer_config":{"01":{"head_dim":32,)"
                                             R"("num_key_value_heads":1},"3":{"head_dim":32,)"
                                             R"("num_key_value_heads":1}})");
  for (const auto* c : {&released, &saved}) {
    REQUIRE(c->ok());
    const ModelConfig& config = c->value();
    CHECK(config.windows == Windows{8, 0, 8, 0});
    CHECK(config.heads(0).head_dim == 16);
    CHECK(config.heads(0).n_kv_heads == 2);
    CHECK(config.heads(3).head_dim == 32);
    CHECK(config.heads(3).n_kv_heads == 1);
    CHECK(config.keys_as_values == std::vector<bool>{false, true, false, true});
    CHECK(config.d_ple == 0);
    CHECK(config.ropes[0].type == "proportional");
    CHECK(config.attn_scale == 1.0);
  }
  const std::string wide = kinds + R"("num_kv_shared_layers":2,"use_double_wide_mlp":true,)";
  const auto sharing =
      config_of("Gemma4ForCausalLM", wide + R"("use_bidirectional_attention":"vision")");
  REQUIRE(sharing.ok());
  CHECK(sharing->states_of == std::vector<std::uint32_t>{0, 1, 0, 1});
  CHECK(sharing->d_own_ffn(1) == 96);
  CHECK(sharing->d_own_ffn(2) == 192);
  refused(config_of("Gemma4ForCausalLM", kinds + R"("num_kv_shared_layers":3)"), Code::kUnsupported,
          "no layer has the states");
  refused(config_of("Gemma4ForCausalLM", kinds + R"("use_bidirectional_attention":"all")"),
          Code::kUnsupported, "use_bidirectional_attention");
  const auto with_table = [&](const std::string& table) {
    return config_of("Gemma4ForCausalLM", kinds + R"("per_layer_config":)" + table);
  };
  for (const char* layer : {"4", "-1", "", "1x", "4294967297"})
    refused(with_table("{\"" + std::string(layer) + "\":{\"head_dim\":32}}"), Code::kCorrupt,
            "none of 4 layers");
  refused(with_table(R"({"1":{"sliding_window":4}})"), Code::kUnsupported, "sliding_window");
  refused(with_table(R"({"1":{"head_dim":0}})"), Code::kCorrupt, "head_dim");
}

TEST_CASE("the queries of Ministral 3 grow with their position") {
  const std::string yarn = R"("rope_parameters":{"rope_type":"yarn","factor":16,"mscale":1,)"
                           R"("mscale_all_dim":1,"llama_4_scaling_beta":)";
  const auto steady = config_of("Ministral3ForCausalLM", yarn + "0}");
  REQUIRE(steady.ok());
  CHECK(steady->norm_eps == 1e-5);
  CHECK(steady->query_growth == 0);
  const auto growing =
      config_of("Ministral3ForCausalLM", yarn + R"(0.1,"original_max_position_embeddings":64})");
  REQUIRE(growing.ok());
  CHECK(growing->query_growth == 0.1);
  CHECK(growing->growth_positions == 64);
  refused(config_of("Ministral3ForCausalLM"), Code::kCorrupt, "rope_parameters");
  refused(config_of("Mistral3ForConditionalGeneration", R"("model_type":"mistral4")"),
          Code::kUnsupported, "mistral4");
}
