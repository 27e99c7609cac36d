// What config.json and GGUF's metadata say of Mamba-2 beside attention, and of layers of one half.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "runtime/model/shape/model_config.h"
#include "tests/support/model_configs.h"

using namespace pc;
using namespace pc::test;

namespace {

Result<ModelConfig> falcon_h1(const std::string& fields) {
  return config_of("FalconH1ForCausalLM", fields);
}

}  // namespace

TEST_CASE("Falcon-H1: each layer attends and recurs, and its parts count by factors") {
  const auto plain = falcon_h1("");
  if (!plain.ok()) FAIL(plain.error().message);
  CHECK((plain->is_recurrent(2) && plain->attends(2) && plain->has_states(2)));
  CHECK((plain->recurrent.d_v == 8 && plain->recurrent.n_channels == 1024 + 2 * 256));
  CHECK_FALSE(plain->recurrent.normed);
  CHECK(check_shape("m", *plain).ok());
  const auto c =
      falcon_h1(R"("attention_in_multiplier":0.5,"attention_out_multiplier":3,"key_multiplier":2,)"
                R"("ssm_in_multiplier":0.5,"ssm_out_multiplier":4,"ssm_multipliers":[1,2,3,4,5],)"
                R"("mlp_multipliers":[6,7],"embedding_multiplier":8,"lm_head_multiplier":0.25)");
  REQUIRE(c.ok());
  CHECK(*c->attn_scale == Approx(0.5 * 0.5 * 2 / std::sqrt(16.0)));
  CHECK((c->attn_out_scale == 1.5 && c->recurrent_out_scale == 4));
  CHECK((c->recurrent.gate_scale == 0.5f && c->recurrent.x_scale == 1.0f));
  CHECK((c->recurrent.k_scale == 1.5f && c->recurrent.q_scale == 2.0f));
  CHECK(c->recurrent.decay_scale == 2.5f);
  CHECK((c->ffn_gate_scale == 6 && c->ffn_out_scale == 7));
  CHECK((c->embedding_scale == 8 && c->logit_scale == 0.25));
  CHECK(falcon_h1(R"("mamba_d_ssm":null,"mamba_expand":4)")->recurrent.d_v == 4 * 64 / 128);
}

TEST_CASE("of Falcon-H1 what is not computed is refused by its name") {
  for (const char* field : {"mamba_proj_bias", "projectors_bias"})
    refused(falcon_h1("\"" + std::string(field) + "\":true"), Code::kUnsupported, field);
  refused(falcon_h1(R"("mamba_rms_norm":true)"), Code::kUnsupported, "mamba_norm_before_gate");
  CHECK(falcon_h1(R"("mamba_rms_norm":true,"mamba_norm_before_gate":false)")->recurrent.normed);
  refused(falcon_h1(R"("attention_bias":true,"attention_in_multiplier":2)"), Code::kUnsupported,
          "attention_in_multiplier");
  refused(falcon_h1(R"("mamba_d_head":16)"), Code::kCorrupt, "mamba_d_head");
  refused(falcon_h1(R"("mamba_n_heads":7)"), Code::kUnsupported, "mamba_n_heads");
  refused(falcon_h1(R"("ssm_multipliers":[1,2])"), Code::kCorrupt, "5 factors");
  refused(falcon_h1(R"("mlp_multipliers":[1,1e300])"), Code::kCorrupt, "is not a factor");
  refused(falcon_h1(R"("time_step_limit":[0.5,1.0])"), Code::kUnsupported, "time_step_limit");
  refused(falcon_h1(R"("hidden_act":"gelu")"), Code::kUnsupported, "silu");
}

TEST_CASE("Nemotron-H: each layer is one half of a block") {
  const auto with = [](const std::string& fields) {
    return config_of("NemotronHForCausalLM", fields);
  };
  const auto c = with(R"("hybrid_override_pattern":"M-*M","mamba_num_heads":4,"n_groups":2)");
  if (!c.ok()) FAIL(c.error().message);
  CHECK(c->recurrent.layers == std::vector<bool>{true, false, false, true});
  CHECK(c->attending == std::vector<bool>{false, false, true, false});
  CHECK(c->layer_d_ffn == std::vector<std::uint32_t>{0, 96, 0, 0});
  CHECK((c->has_states(2) && !c->has_states(1) && !c->gated && c->ropes.empty()));
  CHECK((c->activation == PC_ACTIVATION_RELU_SQUARED && c->head_dim == 128));
  CHECK((c->recurrent.d_v == 64 && c->recurrent.norm_dims == 128));
  CHECK(c->recurrent.step_least == 0.001f);
  const std::string kinds =
      R"("layers_block_type":["mamba","moe","full_attention","linear_attention"],)"
      R"("n_routed_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":8,)"
      R"("moe_shared_expert_intermediate_size":24)";
  const auto mixed = with(kinds);
  if (!mixed.ok()) FAIL(mixed.error().message);
  CHECK(mixed->mixture.layers == std::vector<bool>{false, true, false, false});
  CHECK((mixed->d_own_ffn(1) == 24 && mixed->d_own_ffn(0) == 0));
  CHECK((mixed->mixture.normalised && mixed->mixture.choice_bias));
  refused(with(kinds + R"(,"moe_latent_size":8)"), Code::kUnsupported, "moe_latent_size");
  refused(with(kinds + R"(,"mlp_bias":true)"), Code::kUnsupported, "mlp_bias");
  refused(with(""), Code::kCorrupt, "hybrid_override_pattern");
  refused(with(R"("hybrid_override_pattern":"M-*")"), Code::kCorrupt, "4 layers");
  refused(with(R"("hybrid_override_pattern":"M-*X")"), Code::kUnsupported, "\"X\"");
  refused(with(R"("hybrid_override_pattern":"M-MM")"), Code::kUnsupported, "attends");
  const std::string pattern = R"("hybrid_override_pattern":"M-*M",)";
  refused(with(pattern + R"("use_bias":true)"), Code::kUnsupported, "use_bias");
  refused(with(pattern + R"("sliding_window":8)"), Code::kUnsupported, "sliding_window");
  refused(with(pattern + R"("mamba_hidden_act":"gelu")"), Code::kUnsupported, "mamba_hidden_act");
  refused(with(pattern + R"("time_step_min":-1)"), Code::kCorrupt, "time_step_min");
}
