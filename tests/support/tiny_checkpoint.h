// A TinyModel as a Hugging Face folder with a real tokenizer: what engine and
// command tests open. Removed at the end.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tests/support/fixture.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

class TinyCheckpoint {
 public:
  // tests/golden/tokenizers/sentencepiece_bpe has 700 pieces.
  static TinyShape shape(std::uint32_t head_dim) {
    TinyShape s;
    s.vocab_size = 700;
    s.head_dim = s.rope_dims = head_dim;
    return s;
  }

  // change: of its weights, before they are written.
  explicit TinyCheckpoint(
      std::uint64_t seed, std::uint32_t context = 1024, std::uint32_t head_dim = 8,
      const std::function<void(const pc_model_desc&)>& change = [](const pc_model_desc&) {})
      : model_(seed, shape(head_dim)) {
    const pc_model_desc& d = model_.desc;
    change(d);
    folder_.write(
        "config.json",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": " +
            std::to_string(d.d_model) + ", \"intermediate_size\": " + std::to_string(d.d_ffn) +
            ", \"num_hidden_layers\": " + std::to_string(d.n_layers) +
            ", \"num_attention_heads\": " + std::to_string(d.layers[0].n_heads) +
            ", \"num_key_value_heads\": " + std::to_string(d.layers[0].n_kv_heads) +
            ", \"head_dim\": " + std::to_string(d.layers[0].head_dim) +
            ", \"vocab_size\": " + std::to_string(d.vocab_size) +
            ", \"max_position_embeddings\": " + std::to_string(context) +
            ", \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, \"hidden_act\": \"silu\", "
            "\"tie_word_embeddings\": false,"
            " \"bos_token_id\": 1, \"eos_token_id\": 2, \"torch_dtype\": \"float32\"}");
    add("model.embed_tokens.weight", d.embedding, false);
    add("model.norm.weight", d.final_norm, true);
    add("lm_head.weight", d.lm_head, false);
    for (std::uint32_t l = 0; l < d.n_layers; ++l) {
      const std::string p = "model.layers." + std::to_string(l) + ".";
      const pc_layer& w = d.layers[l];
      add(p + "input_layernorm.weight", w.attn_norm, true);
      add(p + "post_attention_layernorm.weight", w.ffn_norm, true);
      add(p + "self_attn.q_proj.weight", w.wq, false);
      add(p + "self_attn.k_proj.weight", w.wk, false);
      add(p + "self_attn.v_proj.weight", w.wv, false);
      add(p + "self_attn.o_proj.weight", w.wo, false);
      add(p + "mlp.gate_proj.weight", w.ffn.gate, false);
      add(p + "mlp.up_proj.weight", w.ffn.up, false);
      add(p + "mlp.down_proj.weight", w.ffn.down, false);
    }
    std::string header = "{" + header_ + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');  // as the format's own library pads it
    folder_.write("model.safetensors", safetensors_file(header, data_));
    std::filesystem::copy(golden("tokenizers/sentencepiece_bpe/tokenizer.model"),
                          folder_.path() + "/tokenizer.model");
  }

  const std::string& path() const { return folder_.path(); }
  const pc_model_desc& desc() const { return model_.desc; }

 private:
  void add(const std::string& name, const pc_tensor& t, bool vector) {
    const std::size_t bytes = std::size_t{t.rows} * t.cols * sizeof(float);
    const std::string dims =
        vector ? std::to_string(t.cols) : std::to_string(t.rows) + "," + std::to_string(t.cols);
    header_ += (header_.empty() ? "" : ",") +
               ("\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + dims + "],\"data_offsets\":[" +
                std::to_string(data_.size()) + "," + std::to_string(data_.size() + bytes) + "]}");
    data_.append(static_cast<const char*>(t.data), bytes);
  }

  TempFolder folder_;
  TinyModel model_;
  std::string header_, data_;
};

}  // namespace pc::test
