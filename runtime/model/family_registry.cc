#include "runtime/model/family_registry.h"

#include <array>
#include <cctype>
#include <string>

namespace pc {

// One line here and one in the table for each family.
extern const Family kDeepseekV2;
extern const Family kDeepseekV3;
extern const Family kErnie;
extern const Family kErnieMoe;
extern const Family kExaone4;
extern const Family kFalcon;
extern const Family kFalconH1;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGemma3Media;
extern const Family kGemma4;
extern const Family kGemma4Media;
extern const Family kGlm;
extern const Family kGlm4;
extern const Family kGlm4Moe;
extern const Family kGlm4MoeLite;
extern const Family kGpt2;
extern const Family kGptOss;
extern const Family kGranite;
extern const Family kGraniteHybrid;
extern const Family kGraniteMoe;
extern const Family kHunYuan;
extern const Family kLfm2;
extern const Family kLfm2Moe;
extern const Family kLlama;
extern const Family kMiniCpm3;
extern const Family kMinistral3;
extern const Family kMistral;
extern const Family kMistral3;
extern const Family kMixtral;
extern const Family kMpt;
extern const Family kNemotronH;
extern const Family kNemotronHMoe;
extern const Family kOlmo2;
extern const Family kOlmo3;
extern const Family kOlmoe;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen2Moe;
extern const Family kQwen2Vl;
extern const Family kQwen35;
extern const Family kQwen35Media;
extern const Family kQwen35Moe;
extern const Family kQwen35MoeMedia;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kQwen3Next;
extern const Family kQwen3Vl;
extern const Family kQwen3VlMoe;
extern const Family kSmolLm3;

namespace {

const std::array kFamilies{
    &kLlama,        &kMistral,   &kMixtral,        &kMinistral3,    &kMistral3,   &kQwen2,
    &kQwen2Moe,     &kQwen2Vl,   &kQwen3,          &kQwen3Moe,      &kQwen3Vl,    &kQwen3VlMoe,
    &kSmolLm3,      &kGemma2,    &kGemma3,         &kGemma3Media,   &kGemma4,     &kGemma4Media,
    &kPhi3,         &kOlmo2,     &kOlmo3,          &kOlmoe,         &kExaone4,    &kGlm,
    &kGlm4,         &kGlm4Moe,   &kGlm4MoeLite,    &kDeepseekV2,    &kDeepseekV3, &kMiniCpm3,
    &kErnie,        &kErnieMoe,  &kHunYuan,        &kGptOss,        &kGranite,    &kGraniteMoe,
    &kFalcon,       &kMpt,       &kGpt2,           &kLfm2,          &kQwen3Next,  &kQwen35,
    &kQwen35Media,  &kQwen35Moe, &kQwen35MoeMedia, &kGraniteHybrid, &kFalconH1,   &kNemotronH,
    &kNemotronHMoe, &kLfm2Moe};

// Why well-known architectures cannot be loaded, by a part of their name in
// small letters and digits alone. The first that fits counts.
struct Refusal {
  std::string_view part;
  std::string_view reason;
};
constexpr std::string_view kRecurrent =
    "its layers carry a recurrent state of a kind that is not computed";
constexpr std::string_view kLatent = "its latent attention is of a kind that is not computed";
constexpr std::string_view kUnsaid =
    "a GGUF file of it does not say how its positions were stretched; its folder runs";
constexpr std::string_view kSparse = "its sparse attention is not computed";
constexpr std::string_view kExperts = "its mixture of experts is of a kind that is not computed";
constexpr std::string_view kEncoder = "it has an encoder; only decoders are computed";
constexpr auto kRefusals = std::to_array<Refusal>({
    {"mamba", kRecurrent},
    {"rwkv", kRecurrent},
    {"recurrentgemma", kRecurrent},
    {"jamba", kRecurrent},
    {"zamba", kRecurrent},
    {"bamba", kRecurrent},
    {"qwen36", kRecurrent},
    {"plamo2", kRecurrent},
    {"kimilinear", kRecurrent},
    {"hybrid", kRecurrent},
    {"deepseekv32", kSparse},
    {"deepseekv4", kSparse},
    {"glmmoedsa", kSparse},
    {"glmdsa", kSparse},
    {"deepseek", kExperts},
    {"minicpm3", kUnsaid},
    {"kimi", kLatent},
    {"moe", kExperts},
    {"llama4", kExperts},
    {"dbrx", kExperts},
    {"grok", kExperts},
    {"arctic", kExperts},
    {"t5", kEncoder},
    {"bart", kEncoder},
    {"bert", kEncoder},
    {"pegasus", kEncoder},
    {"whisper", kEncoder},
    {"conditionalgeneration", "models of several media are not computed"},
});

// "Falcon-H1" -> "falconh1"
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

Result<const Family*> find(std::string_view wanted, std::string_view Family::*name) {
  std::string supported;
  for (const Family* family : kFamilies) {
    const std::string_view known = family->*name;
    if (known.empty()) continue;
    const std::string_view other = family->other_architecture;
    if (known == wanted || (!other.empty() && other == wanted)) return family;
    supported += (supported.empty() ? "" : ", ") + std::string(known);
  }
  std::string what = "architecture \"" + std::string(wanted) + "\" is not supported";
  const std::string key = plain(wanted);
  for (const Refusal& refusal : kRefusals) {
    if (key.find(refusal.part) == std::string::npos) continue;
    what += " (" + std::string(refusal.reason) + ")";
    break;
  }
  return error(Code::kUnsupported, what + "; supported are " + supported);
}

}  // namespace

Result<const Family*> find_family(std::string_view architecture) {
  return find(architecture, &Family::architecture);
}

Result<const Family*> find_gguf_family(std::string_view architecture) {
  return find(architecture, &Family::gguf_architecture);
}

}  // namespace pc
