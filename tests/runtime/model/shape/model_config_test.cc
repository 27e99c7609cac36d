#include "runtime/model/shape/model_config.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/fixture.h"  // golden
#include "tests/support/model_configs.h"

using namespace pc;
using namespace pc::test;

TEST_CASE("what a file does not say has the architecture's default") {
  const auto c = llama("");
  REQUIRE(c.ok());
  CHECK(c->architecture == "LlamaForCausalLM");
  CHECK(c->n_kv_heads == 4);
  CHECK(c->head_dim == 16);
  CHECK(c->norm_eps == 1e-6);
  CHECK_FALSE(c->tied_embeddings);
  CHECK(c->ropes[0].type == "default");
  CHECK(c->ropes[0].theta == 10000);
  CHECK(c->windows == Windows(4, 0));
  CHECK(c->eos.empty());
  CHECK_FALSE(c->bos);
  CHECK_FALSE((c->q_bias || c->o_bias || c->ffn_bias || c->head_norm != HeadNorm::kNone));
  CHECK(config_of("Qwen3ForCausalLM")->head_dim == 128);
}

TEST_CASE("what a file says counts") {
  const auto c = llama(
      R"("num_key_value_heads":2,"head_dim":32,"rms_norm_eps":1e-5,"tie_word_embeddings":true,)"
      R"("attention_bias":true,"mlp_bias":true,"bos_token_id":1,"eos_token_id":[2,99])");
  REQUIRE(c.ok());
  CHECK(c->n_kv_heads == 2);
  CHECK(c->head_dim == 32);
  CHECK(c->norm_eps == 1e-5);
  CHECK(c->tied_embeddings);
  CHECK((c->q_bias && c->o_bias && c->ffn_bias));
  CHECK(c->bos == 1);
  CHECK(c->eos == std::vector<std::int32_t>{2, 99});
}

TEST_CASE("the two dialects of one checkpoint read the same") {
  const auto read = [](const std::string& name) {
    const auto document = JsonDocument::read_file(golden("models/" + name + "/config.json"));
    REQUIRE(document.ok());
    const auto config = configure(document->root());
    if (!config.ok()) FAIL(config.error().message);
    return *config;
  };
  const ModelConfig v5 = read("llama_rope_llama3_tied_bf16"),
                    v4 = read("llama_rope_llama3_tied_bf16_v4");
  CHECK(v5.ropes[0].type == "llama3");
  CHECK(v4.ropes[0].type == v5.ropes[0].type);
  CHECK(v4.ropes[0].theta == v5.ropes[0].theta);
  CHECK(v4.ropes[0].factor == v5.ropes[0].factor);
  CHECK(v4.ropes[0].original_context == v5.ropes[0].original_context);
  CHECK(v4.head_dim == v5.head_dim);
  CHECK(v4.eos == v5.eos);
}

TEST_CASE("layer types are known ones, one for each layer") {
  refused(llama(R"("layer_types":["full_attention"])"), Code::kCorrupt, "list of 4 layers");
  refused(llama(R"("layer_types":["full_attention","chunked_attention","full_attention",)"
                R"("full_attention"])"),
          Code::kUnsupported, "layer_types[1]: is \"chunked_attention\"");
  refused(llama(R"("layer_types":["full_attention","linear_attention","full_attention",)"
                R"("full_attention"])"),
          Code::kUnsupported, "linear_attention");
}

TEST_CASE("a field that changes the computation is refused by its name") {
  refused(llama(R"("quantization_config":{"quant_method":"gptq"})"), Code::kUnsupported,
          "quantization_config");
  refused(llama(R"("rope_interleaved":true)"), Code::kUnsupported, "rope_interleaved");
  refused(llama(R"("logits_scaling":8.0)"), Code::kUnsupported, "logits_scaling");
  refused(llama(R"("final_logit_softcapping":30)"), Code::kUnsupported, "final_logit_softcapping");
  refused(llama(R"("num_local_experts":8)"), Code::kUnsupported, "num_local_experts");
  refused(llama(R"("hidden_act":"relu")"), Code::kUnsupported, "hidden_act \"relu\"");
  CHECK(llama(R"("hidden_act":"gelu")")->activation == PC_ACTIVATION_GELU);
  refused(llama(R"("rope_scaling":{"type":"dynamic","factor":2})"), Code::kUnsupported,
          "\"dynamic\"");
  CHECK(llama(R"("quantization_config":null,"rope_interleaved":false,"logits_scaling":1.0,)"
              R"("num_experts":0)")
            .ok());
  CHECK(
      llama(
          R"("pretraining_tp":4,"use_cache":true,"initializer_range":0.02,"torch_dtype":"float16",)"
          R"("_name_or_path":"x","unheard_of":{"a":[1]})")
          .ok());
}

TEST_CASE("a model that is not causal is refused") {
  refused(config_of("Qwen2ForCausalLM", R"("is_causal":false)"), Code::kUnsupported, "is_causal");
  CHECK(config_of("Qwen2ForCausalLM", R"("is_causal":true)").ok());
}

TEST_CASE("numbers out of range are refused before anything is allocated") {
  refused(llama(R"("num_key_value_heads":3)"), Code::kUnsupported, "3 key/value heads");
  refused(llama(R"("num_key_value_heads":0)"), Code::kCorrupt, "num_key_value_heads");
  refused(llama(R"("head_dim":15)"), Code::kUnsupported, "odd");
  refused(llama(R"("head_dim":16777216)"), Code::kUnsupported, "times head_dim");
  refused(llama(R"("head_dim":99999999999)"), Code::kCorrupt, "head_dim");
  refused(llama(R"("head_dim":4194304)"), Code::kUnsupported, "head_dim 4194304 is over");
  refused(llama(R"("head_dim":"16")"), Code::kCorrupt, "head_dim");
  refused(llama(R"("rms_norm_eps":-1)"), Code::kUnsupported, "epsilon");
  refused(llama(R"("eos_token_id":100)"), Code::kMismatch, "eos_token_id");
  refused(llama(R"("bos_token_id":1.5)"), Code::kCorrupt, "bos_token_id");
  CHECK(llama(R"("eos_token_id":-1,"bos_token_id":-1)")->eos.empty());
  const auto huge = JsonDocument::parse(
      R"({"architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":96,)"
      R"("num_hidden_layers":1000000000,"num_attention_heads":4,"vocab_size":100,)"
      R"("max_position_embeddings":64})",
      "c");
  refused(configure(huge->root()), Code::kCorrupt, "num_hidden_layers");
}

TEST_CASE("a missing field is named") {
  for (const char* field : {"hidden_size", "intermediate_size", "num_hidden_layers",
                            "num_attention_heads", "vocab_size", "max_position_embeddings"}) {
    std::string text =
        R"({"architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":96,)"
        R"("num_hidden_layers":4,"num_attention_heads":4,"vocab_size":100,)"
        R"("max_position_embeddings":64})";
    text.replace(text.find(field), 1, "_");
    refused(configure(JsonDocument::parse(text, "config.json")->root()), Code::kCorrupt, field);
  }
}

TEST_CASE("a mixture's numbers are read by every family's names") {
  const auto qwen3 =
      config_of("Qwen3MoeForCausalLM", R"("num_experts":8,"num_experts_per_tok":2,)"
                                       R"("moe_intermediate_size":16,"norm_topk_prob":true,)"
                                       R"("mlp_only_layers":[0,9],"decoder_sparse_step":1)");
  REQUIRE(qwen3.ok());
  CHECK(qwen3->mixture.n_experts == 8);
  CHECK(qwen3->mixture.n_used == 2);
  CHECK(qwen3->mixture.d_expert == 16);
  CHECK(qwen3->mixture.normalised);
  CHECK_FALSE(qwen3->has_mixture(0));
  CHECK(qwen3->d_own_ffn(0) == qwen3->d_ffn);
  CHECK(qwen3->has_mixture(1));
  CHECK(qwen3->d_own_ffn(1) == 0);
  const auto qwen2 =
      config_of("Qwen2MoeForCausalLM", R"("num_local_experts":4,"num_experts_per_tok":1,)"
                                       R"("moe_intermediate_size":16,"decoder_sparse_step":2,)"
                                       R"("shared_expert_intermediate_size":40)");
  REQUIRE(qwen2.ok());
  CHECK_FALSE(qwen2->has_mixture(0));
  CHECK(qwen2->has_mixture(1));
  CHECK(qwen2->d_own_ffn(1) == 40);
  CHECK(qwen2->mixture.shared_gated);
  CHECK_FALSE(qwen2->mixture.normalised);
  CHECK(config_of("MixtralForCausalLM", R"("num_local_experts":8,"num_experts_per_tok":2)")
            ->mixture.normalised);
  refused(config_of("OlmoeForCausalLM", R"("num_experts":8,"num_experts_per_tok":9)"),
          Code::kCorrupt, "9 of 8 experts");
  refused(config_of("OlmoeForCausalLM", R"("num_experts_per_tok":2)"), Code::kCorrupt,
          "num_local_experts");
  refused(
      config_of("OlmoeForCausalLM", R"("num_experts":8,"num_experts_per_tok":2,"clip_qkv":8.0)"),
      Code::kUnsupported, "clip_qkv");
}

TEST_CASE("mixtures whose experts are chosen by a bias") {
  const auto glm = config_of("Glm4MoeForCausalLM",
                             R"("n_routed_experts":8,"num_experts_per_tok":2,"n_group":4,)"
                             R"("topk_group":2,"moe_intermediate_size":16,"n_shared_experts":2,)"
                             R"("first_k_dense_replace":1,"routed_scaling_factor":1.5)");
  REQUIRE(glm.ok());
  const MixtureConfig& m = glm->mixture;
  CHECK((m.n_experts == 8 && m.routing == PC_ROUTING_SIGMOID && m.normalised && m.choice_bias));
  CHECK((m.n_groups == 4 && m.n_groups_used == 2 && m.group_best == 2 && m.scale == 1.5));
  CHECK_FALSE(glm->has_mixture(0));
  CHECK(glm->d_own_ffn(1) == 32);
  CHECK(glm->ropes[0].partial_rotary_factor == 0.5);
  CHECK(glm->n_further_layers == 1);
  CHECK(glm->head_norm == HeadNorm::kNone);
  refused(config_of("Glm4MoeForCausalLM",
                    R"("n_routed_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":16,)"
                    R"("n_shared_experts":2000000)"),
          Code::kUnsupported, "n_shared_experts");
  refused(config_of("Glm4MoeForCausalLM",
                    R"("n_routed_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":16,)"
                    R"("num_nextn_predict_layers":-1)"),
          Code::kUnsupported, "num_nextn_predict_layers");
  const std::string ernie_fields = R"("moe_num_experts":8,"moe_k":2,"moe_intermediate_size":16)";
  const auto ernie =
      config_of("Ernie4_5_MoeForCausalLM",
                ernie_fields + R"(,"moe_layer_start_index":1,"moe_layer_end_index":2)");
  REQUIRE(ernie.ok());
  CHECK((ernie->mixture.normalised && ernie->mixture.choice_bias));
  CHECK(ernie->mixture.layers == std::vector<bool>{false, true, true, false});
  CHECK(ernie->ropes[0].theta == 500000);
  refused(config_of("Ernie4_5_MoeForCausalLM", ernie_fields + R"(,"use_bias":true)"),
          Code::kUnsupported, "use_bias");
}

TEST_CASE("the text of a model of several media is read where config.json has it") {
  const auto nested = [](const std::string& text, const std::string& beside) {
    const std::string all = R"({"architectures":["Gemma3ForConditionalGeneration"],"text_config":{)"
                            R"("hidden_size":64,"intermediate_size":96,"num_hidden_layers":4)" +
                            text + R"(},"vision_config":{"hidden_size":8})" + beside + "}";
    const auto document = JsonDocument::parse(all, "config.json");
    REQUIRE(document.ok());
    return configure(document->root());
  };
  const auto gemma3 = nested(R"(,"rope_scaling":{"factor":8.0,"rope_type":"linear"})",
                             R"(,"eos_token_id":[1,106])");
  REQUIRE(gemma3.ok());  // as the 4B's is published
  CHECK((gemma3->n_heads == 8 && gemma3->n_kv_heads == 4 && gemma3->head_dim == 256));
  CHECK((gemma3->vocab_size == 262208 && gemma3->context_tokens == 131072));
  CHECK(gemma3->architecture == "Gemma3ForConditionalGeneration");
  CHECK(gemma3->eos == std::vector<std::int32_t>{1, 106});
  CHECK(gemma3->tied_unsaid);
  const auto untied = nested("", R"(,"tie_word_embeddings":false)");
  REQUIRE(untied.ok());
  CHECK_FALSE((untied->tied_embeddings || untied->tied_unsaid));
  const auto tied = nested(R"(,"tie_word_embeddings":true)", R"(,"tie_word_embeddings":false)");
  REQUIRE(tied.ok());
  CHECK(tied->tied_unsaid);  // said both ways
  refused(nested("", R"(,"quantization_config":{"quant_method":"fp8"})"), Code::kUnsupported,
          "quantization_config");
  const auto flat = config_of("Qwen2_5_VLForConditionalGeneration",
                              R"("rope_scaling":{"type":"mrope","mrope_section":[4,2,2]})");
  REQUIRE(flat.ok());
  CHECK(flat->ropes[0].type == "default");
}

TEST_CASE("a layer that differs from others is refused where the family has none such") {
  refused(llama(R"("per_layer_config":{"1":{"intermediate_size":32}})"), Code::kUnsupported,
          "per_layer_config");
}

TEST_CASE("of gpt-oss what its experts do must be what is computed") {
  const std::string mixture = R"("num_local_experts":8,"num_experts_per_tok":2)";
  const auto config = config_of("GptOssForCausalLM",
                                mixture + R"(,"quantization_config":{"quant_method":"mxfp4"})");
  REQUIRE(config.ok());
  CHECK(config->windows == std::vector<std::uint32_t>{128, 0, 128, 0});
  CHECK((config->sinks && config->mixture.expert_bias && config->q_bias && config->o_bias));
  refused(
      config_of("GptOssForCausalLM", mixture + R"(,"quantization_config":{"quant_method":"fp8"})"),
      Code::kUnsupported, "\"fp8\" is not supported; mxfp4 is");
  refused(config_of("GptOssForCausalLM", mixture + R"(,"swiglu_limit":6.0)"), Code::kUnsupported,
          "swiglu_limit is 6");
}

TEST_CASE("of gated delta rules the layers, the heads and the share that turns are read") {
  const auto config = config_of("Qwen3_5ForCausalLM", R"("head_dim":16)");
  REQUIRE(config.ok());
  CHECK(config->recurrent.layers == std::vector<bool>{true, true, true, false});
  CHECK((config->recurrent.n_heads == 32 && config->recurrent.n_key_heads == 16));
  CHECK((config->recurrent.n_channels == 2 * 16 * 128 + 32 * 128 && config->q_gated));
  CHECK(config->ropes[0].partial_rotary_factor == 0.25);
  const auto said = config_of(
      "Qwen3_5ForCausalLM",
      R"("rope_parameters":{"rope_type":"default","partial_rotary_factor":0.5},)"
      R"("layer_types":["full_attention","linear_attention","linear_attention","full_attention"])");
  REQUIRE(said.ok());
  CHECK(said->recurrent.layers == std::vector<bool>{false, true, true, false});
  CHECK(said->ropes[0].partial_rotary_factor == 0.5);
  refused(config_of("Qwen3_5ForCausalLM", R"("linear_num_key_heads":5)"), Code::kUnsupported,
          "evenly");
  refused(config_of("Qwen3_5ForCausalLM", R"("attention_bias":true)"), Code::kUnsupported,
          "attention_bias");
  refused(config_of("Qwen3_5ForCausalLM", R"("attn_output_gate":false)"), Code::kUnsupported,
          "attn_output_gate");
  refused(config_of("Qwen3_5ForCausalLM", R"("hidden_act":"gelu")"), Code::kUnsupported, "silu");
  refused(config_of("Qwen3_5ForCausalLM", R"("layer_types":["full_attention"])"), Code::kCorrupt,
          "4 layers");
  refused(config_of("Qwen3_5ForCausalLM", R"("full_attention_interval":9)"), Code::kUnsupported,
          "full_attention_interval is 9");
}

TEST_CASE("layers fit one another") {
  const auto config =
      config_of("Gemma4ForCausalLM", R"("head_dim":16,"hidden_size_per_layer_input":8)");
  REQUIRE(config.ok());
  CHECK(check_shape("m", config.value()).ok());
  ModelConfig uneven = config.value(), wide = config.value();
  uneven.layer_heads[0].head_dim *= 2;  // its rope is that of others
  refused(check_shape("m", uneven), Code::kUnsupported, "differ in head_dim");
  wide.d_ple = 1 << 23;  // times four layers
  refused(check_shape("m", wide), Code::kUnsupported, "per-layer embeddings");
}

TEST_CASE("an unknown architecture is named, with its reason and what there is") {
  const auto c = config_of("MambaForCausalLM");
  refused(c, Code::kUnsupported,
          "\"MambaForCausalLM\" is not supported (its layers carry a recurrent state");
  CHECK_THAT(
      c.error().message,
      Catch::Contains(
          "LlamaForCausalLM, MistralForCausalLM, MixtralForCausalLM, Ministral3ForCausalLM"));
  refused(config_of("DbrxForCausalLM"), Code::kUnsupported, "experts");
  refused(config_of("PhiMoEForCausalLM"), Code::kUnsupported, "experts");
  refused(config_of("T5ForConditionalGeneration"), Code::kUnsupported, "encoder");
  refused(config_of("DeepseekV32ForCausalLM"), Code::kUnsupported, "sparse attention");
  refused(config_of("NewForCausalLM"), Code::kUnsupported,
          "\"NewForCausalLM\" is not supported; supported are");
  refused(configure(JsonDocument::parse(R"({"architectures":[]})", "c")->root()),
          Code::kUnsupported, "exactly one");
  refused(configure(JsonDocument::parse("{}", "config.json")->root()), Code::kCorrupt,
          "architectures");
  refused(configure(JsonDocument::parse("[]", "config.json")->root()), Code::kCorrupt, "object");
}

TEST_CASE("LFM2: which layers are convolutions, and how wide their networks are") {
  const auto with = [](const std::string& fields) { return config_of("Lfm2ForCausalLM", fields); };
  const auto c = with(R"("full_attn_idxs":[1,3],"block_ff_dim":300,"block_multiple_of":64)");
  if (!c.ok()) FAIL(c.error().message);
  CHECK(c->recurrent.layers == std::vector<bool>{true, false, true, false});
  CHECK(c->d_ffn == 256);  // two thirds, up to a multiple
  CHECK(with(R"("full_attn_idxs":[1],"block_ff_dim":300,"block_ffn_dim_multiplier":null)")->d_ffn ==
        200);
  CHECK(
      with(R"("full_attn_idxs":[1],"block_ff_dim":300,"block_auto_adjust_ff_dim":false)")->d_ffn ==
      300);
  refused(with(R"("full_attn_idxs":3)"), Code::kCorrupt, "list of layers");
  CHECK_FALSE(with(R"("full_attn_idxs":[4])").ok());
  refused(with(R"("layer_types":["conv","conv"])"), Code::kCorrupt, "4 layers");
  refused(with(R"("layer_types":["conv","mamba","conv","conv"])"), Code::kUnsupported, "mamba");
  refused(with(R"("conv_bias":true)"), Code::kUnsupported, "conv_bias");
  refused(with(R"("conv_L_cache":1)"), Code::kUnsupported, "conv_L_cache");
  refused(with(R"("full_attn_idxs":[])"), Code::kUnsupported, "none of its layers attends");
}

TEST_CASE("LFM2's mixtures: dense layers first, as wide as they say") {
  const std::string sizes =
      R"("full_attn_idxs":[1],"num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":8,)";
  const auto c = config_of("Lfm2MoeForCausalLM", sizes + R"("num_dense_layers":2)");
  if (!c.ok()) FAIL(c.error().message);
  CHECK(c->mixture.layers == std::vector<bool>{false, false, true, true});
  CHECK((c->d_own_ffn(0) == 96 && c->d_own_ffn(2) == 0 && c->is_recurrent(0)));
  CHECK((c->mixture.normalised && c->mixture.choice_bias));
  CHECK(c->mixture.routing == PC_ROUTING_SIGMOID);
  const auto plain =
      config_of("Lfm2MoeForCausalLM", sizes + R"("use_expert_bias":false,"norm_topk_prob":false)");
  REQUIRE(plain.ok());
  CHECK_FALSE((plain->mixture.choice_bias || plain->mixture.normalised));
  CHECK(plain->mixture.layers == std::vector<bool>{false, false, true, true});
}

TEST_CASE("architectures that cannot be computed are refused by name with the reason") {
  const struct {
    const char *folder, *gguf, *reason;
  } cases[] = {
      {"MambaForCausalLM", "mamba", "recurrent state"},
      {"Mamba2ForCausalLM", "mamba2", "recurrent state"},
      {"FalconMambaForCausalLM", "", "recurrent state"},
      {"RwkvForCausalLM", "rwkv7", "recurrent state"},
      {"JambaForCausalLM", "jamba", "recurrent state"},
      {"KimiVLForConditionalGeneration", "kimi-vl", "latent attention"},
      {"Llama4ForCausalLM", "llama4", "experts"},
      {"PhiMoEForCausalLM", "phimoe", "experts"},
      {"T5ForConditionalGeneration", "t5", "encoder"},
      {"BartForConditionalGeneration", "", "encoder"},
      {"BertForMaskedLM", "bert", "encoder"},
      {"LlavaForConditionalGeneration", "", "several media"},
      {"GemmaForCausalLM", "gemma", "supported are"},
      {"PhiForCausalLM", "phi2", "supported are"},
  };
  for (const auto& c : cases) {
    INFO(c.folder << " " << c.gguf);
    const auto folder = find_family(c.folder);
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.error().code == Code::kUnsupported);
    CHECK_THAT(folder.error().message, Catch::Contains(c.reason) && Catch::Contains(c.folder));
    if (*c.gguf == '\0') continue;
    const auto gguf = find_gguf_family(c.gguf);
    REQUIRE_FALSE(gguf.ok());
    CHECK_THAT(gguf.error().message, Catch::Contains(c.reason) && Catch::Contains(c.gguf));
  }
  CHECK_THAT(find_gguf_family("minicpm3").error().message, Catch::Contains("were stretched"));
}
