#include "runtime/families/registry.h"

#include <array>

namespace pc {

// One line here and one in the table for each family.
extern const Family kLlama;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kQwen3;

namespace {

const std::array<const Family*, 4> kFamilies{&kLlama, &kMistral, &kQwen2, &kQwen3};

// Why well-known architectures cannot be loaded, by a part of their name.
struct Refusal {
  std::string_view part;
  std::string_view reason;
};
constexpr std::string_view kRecurrent =
    "its recurrent state depends on the whole text before it, so no piece of it can be reused";
constexpr std::string_view kExperts = "mixtures of experts are not computed";
constexpr std::string_view kEncoder = "it has an encoder; only decoders are computed";
constexpr std::string_view kAbsolute = "its learned absolute positions are not computed";
constexpr std::array<Refusal, 28> kRefusals{{
    {"Mamba", kRecurrent},
    {"Rwkv", kRecurrent},
    {"RWKV", kRecurrent},
    {"RecurrentGemma", kRecurrent},
    {"Jamba", kRecurrent},
    {"Zamba", kRecurrent},
    {"Bamba", kRecurrent},
    {"FalconH1", kRecurrent},
    {"NemotronH", kRecurrent},
    {"Qwen3Next", kRecurrent},
    {"Lfm2", kRecurrent},
    {"Hybrid", kRecurrent},
    {"Moe", kExperts},
    {"MoE", kExperts},
    {"Mixtral", kExperts},
    {"Deepseek", kExperts},
    {"GptOss", kExperts},
    {"Llama4", kExperts},
    {"Dbrx", kExperts},
    {"T5", kEncoder},
    {"Bart", kEncoder},
    {"Bert", kEncoder},
    {"Pegasus", kEncoder},
    {"Whisper", kEncoder},
    {"ConditionalGeneration", "models of several media are not computed"},
    {"GPT2", kAbsolute},
    {"OPT", kAbsolute},
    {"GPTBigCode", kAbsolute},
}};

}  // namespace

Result<const Family*> find_family(std::string_view architecture) {
  std::string supported;
  for (const Family* family : kFamilies) {
    if (family->architecture == architecture) return family;
    supported += (supported.empty() ? "" : ", ") + std::string(family->architecture);
  }
  std::string what = "architecture \"" + std::string(architecture) + "\" is not supported";
  for (const Refusal& refusal : kRefusals) {
    if (architecture.find(refusal.part) == std::string_view::npos) continue;
    what += " (" + std::string(refusal.reason) + ")";
    break;
  }
  return error(Code::kUnsupported, what + "; supported are " + supported);
}

}  // namespace pc
