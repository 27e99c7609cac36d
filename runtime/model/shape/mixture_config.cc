#include "runtime/model/shape/mixture_config.h"

#include <string>

namespace pc {
namespace {

Result<std::uint32_t> read_number(JsonView config, std::string_view key, std::int64_t least,
                                  std::int64_t most) {
  PC_TRY(const JsonView value, config.member(key));
  PC_TRY(const std::int64_t n, value.integer_in(least, most));
  return static_cast<std::uint32_t>(n);
}

Status read_dense_layers(JsonView config, std::string_view key, std::vector<bool>* layers) {
  const auto list = key.empty() ? std::nullopt : config.find(key);
  if (!list) return ok();
  for (std::size_t i = 0; i < list->size(); ++i) {
    PC_TRY(const std::int64_t layer, list->at(i).integer_in(0, kWidestNetwork));
    // A smaller model of a series may list layers that it has not.
    if (static_cast<std::size_t>(layer) < layers->size())
      (*layers)[static_cast<std::size_t>(layer)] = false;
  }
  return ok();
}

// `absent` where the family or the file has no such field.
Result<std::uint32_t> read_number_or(JsonView config, std::string_view key, std::int64_t least,
                                     std::uint32_t absent) {
  if (key.empty() || !config.find(key)) return absent;
  return read_number(config, key, least, kWidestNetwork);
}

Status read_shared(JsonView config, const MixtureFields& fields, MixtureConfig* out) {
  PC_TRY(const std::uint32_t n_shared, read_number_or(config, fields.n_shared, 0, 0));
  const std::uint64_t width = std::uint64_t{n_shared} * out->d_expert;
  if (width > kWidestNetwork) {
    return config.error(Code::kUnsupported, std::string(fields.n_shared) + " is " +
                                                std::to_string(n_shared) + ", which is too wide");
  }
  PC_TRY(out->d_shared,
         read_number_or(config, fields.d_shared, 0, static_cast<std::uint32_t>(width)));
  return ok();
}

Status read_choice(JsonView config, const MixtureFields& fields, MixtureConfig* out) {
  if (!fields.normalised.empty()) {
    PC_TRY(out->normalised, config.boolean_or(fields.normalised, false));
  }
  if (!fields.scale.empty()) {
    PC_TRY(out->scale, config.number_or(fields.scale, 1));
  }
  PC_TRY(out->n_groups, read_number_or(config, fields.n_groups, 1, 1));
  PC_TRY(out->n_groups_used, read_number_or(config, fields.n_groups_used, 1, 1));
  return ok();
}

}  // namespace

Result<MixtureConfig> read_mixture_config(JsonView config, const MixtureFields& fields,
                                          std::uint32_t n_layers) {
  MixtureConfig out;
  std::string_view experts = fields.experts;
  if (experts.empty()) experts = config.find("num_experts") ? "num_experts" : "num_local_experts";
  PC_TRY(out.n_experts, read_number(config, experts, 1, kMostConfiguredExperts));
  PC_TRY(out.n_used, read_number(config, fields.used, 1, kMostConfiguredExperts));
  if (out.n_used > out.n_experts)
    return config.error(Code::kCorrupt, std::string(fields.used) + " " +
                                            too_many_experts(out.n_used, out.n_experts));
  PC_TRY(out.d_expert, read_number(config, fields.d_expert, 1, kWidestNetwork));
  PC_CHECK_OK(read_shared(config, fields, &out));
  PC_CHECK_OK(read_choice(config, fields, &out));
  PC_TRY(const std::uint32_t step, read_number_or(config, fields.sparse_step, 1, 1));
  PC_TRY(const std::uint32_t n_dense, read_number_or(config, fields.n_dense, 0, 0));
  for (std::uint32_t i = 0; i < n_layers; ++i)
    out.layers.push_back(i >= n_dense && (i + 1) % step == 0);
  PC_CHECK_OK(read_dense_layers(config, fields.dense_layers, &out.layers));
  return out;
}

std::string too_many_experts(std::uint32_t n_used, std::uint32_t n_experts) {
  return "sends a token to " + std::to_string(n_used) + " of " + std::to_string(n_experts) +
         " experts";
}

}  // namespace pc
