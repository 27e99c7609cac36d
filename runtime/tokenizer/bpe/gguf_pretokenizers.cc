#include "runtime/tokenizer/bpe/gguf_pretokenizers.h"

#include <algorithm>
#include <iterator>

namespace pc {
namespace {

constexpr std::string_view kGpt2 =
    R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}})";

// GPT-NeoX's tokenizer, which MPT and OLMo took over.
constexpr std::string_view kNeox =
    R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel",)"
    R"("add_prefix_space":false}})";

constexpr std::string_view kSingleDigits = R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false}]}})";

constexpr std::string_view kFalcon = R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Punctuation","behavior":"Contiguous"},
  {"type":"ByteLevel","add_prefix_space":false},
  {"type":"Digits","individual_digits":false},
  {"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated"}]}})";

constexpr std::string_view kLlama3 =
    R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":")"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3})"
    R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

constexpr std::string_view kQwen35 =
    R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":")"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N})"
    R"(| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

constexpr std::string_view kQwen2 =
    R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":")"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N})"
    R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

constexpr std::string_view kTekken =
    R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":")"
    R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+)"
    R"(|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*)"
    R"(|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

constexpr std::string_view kGpt4o =
    R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":")"
    R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

constexpr std::string_view kDeepseekCoder = R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\r\n]"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\s?\\p{L}+"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\s?\\p{P}+"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"}},
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

// The letters are those with case, of Latin, Greek, Cyrillic and their like.
constexpr std::string_view kDeepseekLlm =
    R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\r\n]"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\s?[)"
    R"(A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293)"
    R"(\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c)"
    R"(\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5)"
    R"(\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77)"
    R"(\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59)"
    R"(\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc)"
    R"(\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107)"
    R"(\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139)"
    R"(\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee)"
    R"(\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e)"
    R"(\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a)"
    R"(\ud801\udc00-\ud801\udc4f\ud801\udcb0-\ud801\udcd3\ud801\udcd8-\ud801\udcfb)"
    R"(\ud803\udc80-\ud803\udcb2\ud803\udcc0-\ud803\udcf2\ud806\udca0-\ud806\udcdf)"
    R"(\ud83a\udd00-\ud83a\udd43)"
    R"(]+"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":)"
    R"("\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\s+$"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"}},
  {"type":"Digits","individual_digits":true},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

// Words may begin with a sign of ASCII; HunYuan's, too.
constexpr std::string_view kDeepseekV3 =
    R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"\\p{N}{1,3}"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"}},
  {"type":"Split","behavior":"Isolated","pattern":{"Regex":)"
    R"("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?)"
    R"([\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}})";

// "smaug-bpe" is what the usual converter calls Llama 3's vocabulary where its
// publisher puts no BOS in front (SmolLM3); "dbrx" is GPT-4's (OLMo 2, Phi-4);
// "refact" is StarCoder's (Granite 3); GLM 4's words are Llama 3's.
constexpr GgufPretokenizer kTable[] = {
    {"chatglm-bpe", kLlama3},
    {"dbrx", kLlama3},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-r1-qwen", kQwen2},
    {"deepseek-v3", kDeepseekV3},
    {"exaone4", kGpt2},
    {"falcon", kFalcon},
    {"falcon-h1", kLlama3, true, true},
    {"falcon3", kLlama3, true, true},
    {"glm4", kLlama3, true},
    {"gpt-2", kGpt2},
    {"gpt-4o", kGpt4o},
    {"hunyuan-dense", kDeepseekV3},
    {"lfm2", kLlama3, true, true},
    {"llama-bpe", kLlama3, true, true},
    {"llama-v3", kLlama3, true, true},
    {"llama3", kLlama3, true, true},
    {"mpt", kNeox},
    {"olmo", kNeox},
    {"phi-2", kGpt2},
    {"qwen2", kQwen2},
    {"qwen35", kQwen35},
    {"refact", kSingleDigits},
    {"smaug-bpe", kLlama3, true},
    {"smollm", kSingleDigits},
    {"starcoder", kSingleDigits},
    {"tekken", kTekken, true, true},
};

}  // namespace

const GgufPretokenizer* find_gguf_pretokenizer(std::string_view name) {
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const GgufPretokenizer& r) { return r.name == name; });
  return row == std::end(kTable) ? nullptr : row;
}

std::string gguf_pretokenizer_names() {
  std::string names;
  for (const GgufPretokenizer& row : kTable) {
    names.append(names.empty() ? "" : ", ").append(row.name);
  }
  return names;
}

}  // namespace pc
