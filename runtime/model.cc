#include "runtime/model.h"

#include <cmath>
#include <utility>

#include "runtime/families/registry.h"
#include "runtime/json.h"
#include "runtime/model_config.h"
#include "runtime/model_digest.h"
#include "runtime/safetensors.h"
#include "runtime/tensor_binder.h"

namespace pc {
namespace {

constexpr JsonLimits kConfigLimits{.bytes = std::size_t{4} << 20, .values = 1u << 18, .depth = 32};

Result<JsonDocument> read_config(const std::string& folder) {
  auto document = JsonDocument::read_file(folder + "/config.json", kConfigLimits);
  if (!document.ok() && document.error().code == Code::kNotFound) {
    return error(Code::kNotFound, folder +
                                      ": no config.json there, so it is no checkpoint folder; "
                                      "give the folder that holds config.json and *.safetensors");
  }
  return document;
}

// Says where, for errors that do not know it.
template <class T>
Result<T> in(const std::string& place, Result<T> result) {
  if (result.ok()) return result;
  Error error = std::move(result).error();
  error.message = place + ": " + error.message;
  return error;
}

// generation_config.json, where there is one, has the last word on what ends a generation.
Status override_eos(const std::string& folder, std::uint32_t vocab_size,
                    std::vector<std::int32_t>* eos) {
  const auto document = JsonDocument::read_file(folder + "/generation_config.json", kConfigLimits);
  if (!document.ok()) {
    if (document.error().code == Code::kNotFound) return ok();
    return document.error();
  }
  PC_TRY(auto ids, read_eos(document.value().root(), vocab_size));
  if (!ids.empty()) *eos = std::move(ids);
  return ok();
}

// Everything in desc but the tensors. Precondition: model's vectors are final.
void describe(const ModelConfig& c, const Rope& rope, Model* model) {
  pc_model_desc& d = model->desc;
  d.struct_size = sizeof d;
  d.n_layers = c.n_layers;
  d.d_model = c.d_model;
  d.n_heads = c.n_heads;
  d.n_kv_heads = c.n_kv_heads;
  d.head_dim = c.head_dim;
  d.d_ffn = c.d_ffn;
  d.vocab_size = c.vocab_size;
  d.norm_eps = static_cast<float>(c.norm_eps);
  d.attn_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.head_dim)));
  d.rope_dims = rope.dims;
  d.rope_scale = static_cast<float>(rope.scale);
  d.inv_freq = model->inv_freq.data();
  d.layers = model->layers.data();
}

void count(const TensorMap& tensors, Model* model) {
  for (const auto& [name, view] : tensors) {
    std::uint64_t n = 1;  // fits: the parser checked it times the element's size
    for (const std::uint64_t extent : view.shape) n *= extent;
    model->n_parameters += n;
    model->weight_bytes += view.bytes.size();
  }
}

Status load_weights(const Family& family, const ModelConfig& config, Rope rope, Model* model) {
  PC_TRY(Checkpoint checkpoint, open_checkpoint(model->path));
  TensorBinder binder(checkpoint, model->path);
  PC_CHECK_OK(family.bind(config, binder, model));
  PC_CHECK_OK(binder.check_nothing_left(family.architecture));
  model->inv_freq = std::move(rope.inv_freq);
  describe(config, rope, model);

  const TensorMap tensors = binder.taken();
  count(tensors, model);
  model->weights_digest = weights_digest(model->desc, tensors);
  model->rope_digest = rope_digest(model->desc);
  model->files = std::move(checkpoint.files);
  return ok();
}

}  // namespace

Result<std::unique_ptr<Model>> load_model(const std::string& folder) {
  PC_TRY(const JsonDocument document, read_config(folder));
  const JsonView root = document.root();
  PC_TRY(const std::string architecture, read_architecture(root));
  PC_TRY(const Family* family, in(document.name(), find_family(architecture)));
  PC_TRY(ModelConfig config, read_model_config(root, family->default_head_dim));
  PC_CHECK_OK(family->configure(root, &config));
  PC_CHECK_OK(override_eos(folder, config.vocab_size, &config.eos));
  PC_TRY(Rope rope, in(document.name(), compute_rope(config.rope, config.head_dim)));

  auto model = std::make_unique<Model>();
  model->path = folder;
  model->architecture = config.architecture;
  model->family = family->name;
  model->context_tokens = config.context_tokens;
  model->eos = config.eos;
  model->bos = config.bos;
  PC_CHECK_OK(load_weights(*family, config, std::move(rope), model.get()));
  return model;
}

}  // namespace pc
