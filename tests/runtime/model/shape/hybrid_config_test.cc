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
