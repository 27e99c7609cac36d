#include "runtime/model/pooling.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runtime/json/json.h"

namespace pc {
namespace {

constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 20, .values = 1u << 14, .depth = 16};

// None where the file is not there.
Result<std::optional<JsonDocument>> read_if_there(const std::string& path) {
  auto document = JsonDocument::read_file(path, kLimits);
  if (document.ok()) return std::optional(std::move(document).value());
  if (document.error().code == Code::kNotFound) return std::optional<JsonDocument>();
  return document.error();
}

// What modules.json names of it: "sentence_transformers.models.Pooling" -> "Pooling"; later
// versions have other names in front.
std::string_view last_name(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

// The switches of 1_Pooling/config.json. More than one: their vectors stand side by side.
Result<PoolingRule> read_switches(JsonView config) {
  struct Switch {
    const char* name;
    Pooling pooling;
  };
  constexpr std::array kSwitches = {Switch{"pooling_mode_lasttoken", Pooling::kLast},
                                    Switch{"pooling_mode_mean_tokens", Pooling::kMean},
                                    Switch{"pooling_mode_cls_token", Pooling::kUnsaid},
                                    Switch{"pooling_mode_max_tokens", Pooling::kUnsaid},
                                    Switch{"pooling_mode_mean_sqrt_len_tokens", Pooling::kUnsaid},
                                    Switch{"pooling_mode_weightedmean_tokens", Pooling::kUnsaid}};
  PoolingRule rule;
  std::uint32_t n_on = 0;
  for (const Switch& s : kSwitches) {
    PC_TRY(const bool on, config.boolean_or(s.name, false));
    if (!on) continue;
    ++n_on;
    rule.pooling = s.pooling;
    if (s.pooling == Pooling::kUnsaid)
      rule.unsupported = std::string("the model's files ask for \"") + s.name +
                         "\"; the last token's state and the mean of all are computed";
  }
  if (n_on > 1) rule.unsupported = "the model's files ask for several poolings side by side";
  return rule;
}

Result<PoolingRule> read_folder(const std::string& folder, JsonView module) {
  PC_TRY(const std::string path, module.string_or("path", ""));
  PC_TRY(const auto document, read_if_there(folder + "/" + path + "/config.json"));
  if (!document)
    return module.error(Code::kCorrupt, "names a folder \"" + path + "\" without a config.json");
  return read_switches(document->root());
}

}  // namespace

const char* pooling_name(Pooling pooling) {
  switch (pooling) {
    case Pooling::kLast:
      return "last";
    case Pooling::kMean:
      return "mean";
    case Pooling::kUnsaid:
      break;
  }
  return "unsaid";
}

Result<PoolingRule> read_pooling(const std::string& folder) {
  PC_TRY(const auto document, read_if_there(folder + "/modules.json"));
  PoolingRule rule;
  if (!document) return rule;
  const JsonView list = document->root();
  if (!list.is_array()) return list.error(Code::kCorrupt, "is no list");
  std::string other;
  for (std::size_t i = 0; i < list.size(); ++i) {
    PC_TRY(const std::string type, list.at(i).string_or("type", ""));
    const std::string_view name = last_name(type);
    if (name == "Transformer" || name == "Normalize") continue;
    if (name == "Pooling") {
      PC_TRY(rule, read_folder(folder, list.at(i)));
    } else if (other.empty()) {
      other = name;
    }
  }
  if (!other.empty())
    rule.unsupported = "the model's modules.json puts \"" + other +
                       "\" behind the decoder, which is not computed; Pooling and Normalize are";
  return rule;
}

Result<PoolingRule> read_gguf_pooling(const GgufMetadata& metadata,
                                      const std::string& architecture) {
  // llama.cpp's numbers: none, mean, the first token's, the last token's, a score instead.
  enum : std::uint64_t { kNone = 0, kMean = 1, kFirst = 2, kLast = 3, kRank = 4 };
  const std::string key = architecture + ".pooling_type";
  PC_TRY(const std::uint64_t type, metadata.integer_or(key, kNone));
  PoolingRule rule;
  switch (type) {
    case kNone:
    case kRank:  // the decoder judges: it has no vectors of its own choice
      break;
    case kMean:
      rule.pooling = Pooling::kMean;
      break;
    case kLast:
      rule.pooling = Pooling::kLast;
      break;
    default:
      rule.unsupported = "the model's key \"" + key + "\" is " + std::to_string(type) +
                         "; the last token's state (3) and the mean of all (1) are computed";
  }
  return rule;
}

}  // namespace pc
