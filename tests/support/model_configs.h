// config.json, read as load_model does before it looks at tensors.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/model/family_registry.h"
#include "runtime/model/shape/model_config.h"

namespace pc::test {

inline Result<ModelConfig> configure(JsonView root) {
  PC_TRY(const std::string architecture, read_architecture(root));
  PC_TRY(const Family* family, find_family(architecture));
  const JsonView text = family->several_media ? text_config(root) : root;
  PC_TRY(ModelConfig config, read_model_config(text, family->fields));
  config.architecture = architecture;
  PC_CHECK_OK(family->configure(text, &config));
  if (family->several_media) PC_CHECK_OK(read_beside_text(root, family->fields, &config));
  PC_CHECK_OK(check_shape("config.json", config));
  return config;
}

// A small config.json of an architecture, with members added.
inline Result<ModelConfig> config_of(const std::string& architecture,
                                     const std::string& members = "") {
  const std::string text =
      R"({"architectures":[")" + architecture +
      R"("],"hidden_size":64,"intermediate_size":96,"num_hidden_layers":4,)"
      R"("num_attention_heads":4,"vocab_size":100,"max_position_embeddings":8192)" +
      (members.empty() ? "" : ",") + members + "}";
  INFO(text);
  PC_TRY(const JsonDocument document, JsonDocument::parse(text, "config.json"));
  return configure(document.root());
}

inline Result<ModelConfig> llama(const std::string& members) {
  return config_of("LlamaForCausalLM", members);
}

template <class Outcome>  // Result<ModelConfig> or Status
void refused(const Outcome& config, Code code, const std::string& part) {
  INFO(part);
  REQUIRE_FALSE(config.ok());
  CHECK(config.error().code == code);
  CHECK_THAT(config.error().message, Catch::Contains(part));
}

using Windows = std::vector<std::uint32_t>;

}  // namespace pc::test
