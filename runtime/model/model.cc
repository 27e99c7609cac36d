#include "runtime/model/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/backend/layer_parts.h"  // n_state_numbers
#include "runtime/checkpoint/gguf.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/json/json.h"
#include "runtime/model/family_registry.h"
#include "runtime/model/model_digest.h"
#include "runtime/model/model_path.h"
#include "runtime/model/shape/decoder_binder.h"
#include "runtime/model/shape/tensor_binder.h"

namespace pc {
namespace {

constexpr JsonLimits kConfigLimits{.bytes = std::size_t{4} << 20, .values = 1u << 18, .depth = 32};

// A model of either format before its tensors are bound.
struct Source {
  std::string path;
  std::string format;
  std::string place;  // of the configuration, for messages
  const Family* family = nullptr;
  ModelConfig config = {};
  TensorNames names = {};
  Checkpoint checkpoint = {};
  PoolingRule pooling = {};
};

// The result; an error gets `place` in front of its message.
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

Result<JsonDocument> read_config(const std::string& folder) {
  auto document = JsonDocument::read_file(folder + "/config.json", kConfigLimits);
  if (!document.ok() && document.error().code == Code::kNotFound) {
    return error(Code::kNotFound, folder +
                                      ": no config.json there, so it is no checkpoint folder; "
                                      "give the folder that holds config.json and *.safetensors, "
                                      "or a .gguf file");
  }
  return document;
}

bool has_head(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const TensorMap::value_type& tensor) {
    return tensor.first.ends_with("lm_head.weight");
  });
}

Result<Source> read_folder(const std::string& folder) {
  PC_TRY(const JsonDocument document, read_config(folder));
  const JsonView root = document.root();
  Source source{.path = folder, .format = "safetensors", .place = document.name()};
  PC_TRY(const std::string architecture, read_architecture(root));
  PC_TRY(source.family, in(source.place, find_family(architecture)));
  const ConfigFields& fields = source.family->fields;
  const JsonView text = source.family->several_media ? text_config(root) : root;
  PC_TRY(source.config, read_model_config(text, fields));
  source.config.architecture = architecture;
  PC_CHECK_OK(source.family->configure(text, &source.config));
  if (source.family->several_media) PC_CHECK_OK(read_beside_text(root, fields, &source.config));
  PC_CHECK_OK(override_eos(folder, source.config.vocab_size, &source.config.eos));
  source.names = source.family->names(source.config);
  PC_TRY(source.checkpoint, open_safetensors(folder));
  if (source.config.tied_unsaid) source.config.tied_embeddings = !has_head(source.checkpoint);
  PC_TRY(source.pooling, read_pooling(folder));
  return source;
}

Status check_causal(const GgufKeys& keys) {
  PC_TRY(const bool causal, keys.metadata().boolean_or(keys.full("attention.causal"), true));
  if (causal) return ok();
  return keys.error(Code::kUnsupported, "attention.causal",
                    "says that every token sees the whole text, as in models that embed it; only "
                    "causal attention is computed");
}

// Mixtures of experts also come under the names of dense architectures. Which of them are computed,
// their families know.
Status check_mixture(const GgufKeys& keys, const ModelConfig& config) {
  PC_TRY(const double n, keys.number_or("expert_count", 0));
  if (n == 0 || config.mixture.n_experts != 0) return ok();
  return keys.error(Code::kUnsupported, "expert_count",
                    "says that it is a mixture of experts, which is not computed for this "
                    "architecture");
}

Result<Source> read_gguf(const std::string& path) {
  PC_TRY(GgufModel file, open_gguf(path));
  Source source{.path = path, .format = "gguf", .place = path};
  PC_TRY(const std::string_view architecture, file.metadata.string("general.architecture"));
  PC_TRY(source.family, in(path, find_gguf_family(architecture)));
  const GgufKeys keys(file.metadata, file.checkpoint.tensors, std::string(architecture));
  PC_CHECK_OK(check_causal(keys));
  PC_TRY(source.config, read_gguf_config(keys, source.family->gguf_rotates));
  source.config.architecture = architecture;
  PC_CHECK_OK(source.family->configure_gguf(keys, &source.config));
  PC_CHECK_OK(check_mixture(keys, source.config));
  source.names = source.family->gguf_names(source.config);
  PC_TRY(source.pooling, read_gguf_pooling(file.metadata, source.config.architecture));
  source.checkpoint = std::move(file.checkpoint);
  return source;
}

// Fills desc. Precondition: the vectors of model that it points to are final.
void describe(const ModelConfig& c, const Decoder& decoder, Model* model) {
  pc_model_desc& d = model->desc;
  d.struct_size = sizeof d;
  d.n_layers = c.n_layers;
  d.d_model = c.d_model;
  for (std::uint32_t i = 0; i < c.n_layers; ++i) d.d_ffn = std::max(d.d_ffn, c.d_own_ffn(i));
  d.vocab_size = c.vocab_size;
  d.norm = c.norm;
  d.activation = c.activation;
  d.parallel = c.parallel;
  d.norm_eps = static_cast<float>(c.norm_eps);
  d.norm_offset = c.norm_offset;
  d.embedding_scale = static_cast<float>(c.embedding_scale);
  d.residual_scale = static_cast<float>(c.residual_scale);
  d.attn_out_scale = static_cast<float>(c.attn_out_scale);
  d.recurrent_out_scale = static_cast<float>(c.recurrent_out_scale);
  d.ffn_out_scale = static_cast<float>(c.ffn_out_scale);
  d.ffn_gate_scale = static_cast<float>(c.ffn_gate_scale);
  d.attn_softcap = static_cast<float>(c.attn_softcap);
  d.qkv_clamp = static_cast<float>(c.qkv_clamp);
  d.logit_scale = static_cast<float>(c.logit_scale);
  d.logit_softcap = static_cast<float>(c.logit_softcap);
  d.alibi_slopes = model->alibi_slopes.empty() ? nullptr : model->alibi_slopes.data();
  d.query_growth = static_cast<float>(c.query_growth);
  d.growth_positions = c.growth_positions;
  d.n_ropes = static_cast<std::uint32_t>(model->ropes.size());
  d.ropes = model->ropes.data();
  d.embedding = decoder.embedding;
  d.position_embedding = decoder.position_embedding;
  d.d_ple = c.d_ple;
  d.ple_embedding = decoder.ple_embedding;
  d.ple_projection = decoder.ple_projection;
  d.ple_norm = decoder.ple_norm;
  d.final_norm = decoder.final_norm;
  d.final_norm_bias = decoder.final_norm_bias;
  d.lm_head = decoder.lm_head;
  d.layers = model->layers.data();
}

Status check_factors(const std::string& place, const ModelConfig& c) {
  for (const double x :
       {c.embedding_scale, c.residual_scale, c.attn_out_scale, c.recurrent_out_scale,
        c.ffn_out_scale, c.ffn_gate_scale, c.logit_scale, c.attn_scale.value_or(1), c.query_growth,
        c.attn_softcap, c.logit_softcap, c.qkv_clamp}) {
    if (!std::isfinite(static_cast<float>(x)) || x < 0)
      return error(Code::kCorrupt, place + ": a factor or cap is negative or not finite");
  }
  return ok();
}

Status add_ropes(const ModelConfig& config, std::uint32_t opened_context, Model* model) {
  for (std::uint32_t i = 0; i < config.ropes.size(); ++i) {
    PC_TRY(Rope rope, compute_rope(config.ropes[i], config.rope_head_dim(i), opened_context));
    model->inv_freqs.push_back(std::move(rope.inv_freq));
    model->ropes.push_back({rope.dims, config.rope_interleaved, static_cast<float>(rope.scale),
                            model->inv_freqs.back().data()});
  }
  return ok();
}

void count(const TensorMap& tensors, Model* model) {
  for (const auto& [name, view] : tensors) {
    std::uint64_t n = 1;  // fits: the parser checked it times the element's size
    for (const std::uint64_t extent : view.shape) n *= extent;
    model->n_parameters += n;
    model->weight_bytes += view.bytes.size();
  }
}

}  // namespace

const char* position_scheme_name(PositionScheme scheme) {
  switch (scheme) {
    case PositionScheme::kRotary:
      return "rotary";
    case PositionScheme::kAlibi:
      return "alibi";
    case PositionScheme::kLearned:
      return "learned";
    case PositionScheme::kNone:
      break;
  }
  return "none";
}

bool Model::files_unchanged() const {
  return std::ranges::all_of(checkpoint.files,
                             [](const MappedFile& file) { return file.is_unchanged(); });
}

bool Model::files_sound() const {
  return std::ranges::none_of(checkpoint.files, [](const MappedFile& file) {
    return file.was_written() || file.is_lost();
  });
}

bool Model::relocates() const {
  return positions() != PositionScheme::kLearned &&
         std::ranges::none_of(layers, [](const pc_layer& l) { return l.norm_rotated != 0; });
}

bool Model::is_recurrent() const {
  return n_state_numbers(desc) != 0;
}

PositionScheme Model::positions() const {
  if (desc.position_embedding.data) return PositionScheme::kLearned;
  if (desc.alibi_slopes) return PositionScheme::kAlibi;
  return desc.n_ropes != 0 ? PositionScheme::kRotary : PositionScheme::kNone;
}

Result<std::unique_ptr<Model>> bind_model(const std::string& path, std::uint32_t context_tokens) {
  PC_CHECK_OK(check_model_path(path));
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  PC_TRY(Source source, folder ? read_folder(path) : read_gguf(path));
  const ModelConfig& config = source.config;
  PC_CHECK_OK(check_shape(source.place, config));
  PC_CHECK_OK(check_factors(source.place, config));

  auto model = std::make_unique<Model>();
  model->path = path;
  model->format = source.format;
  model->architecture = config.architecture;
  model->family = source.family->name;
  model->context_tokens = config.context_tokens;
  model->eos = config.eos;
  model->bos = config.bos;
  model->pooling = source.pooling;
  model->alibi_slopes = config.alibi_slopes;
  PC_CHECK_OK(
      in(source.place,
         add_ropes(config, context_tokens ? context_tokens : config.context_tokens, model.get())));

  TensorBinder binder(source.checkpoint.tensors, path);
  PC_TRY(Decoder decoder, bind_decoder(config, source.names, binder));
  for (const char* read_already :
       {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (source.format == "gguf") binder.mark(read_already);
  }
  PC_CHECK_OK(binder.check_nothing_left(config.architecture));
  model->copies = binder.release_copies();
  model->folded = binder.folded();
  model->layers = std::move(decoder.layers);
  model->experts = std::move(decoder.experts);  // a deque's lists stay where they are
  model->latent = std::move(decoder.latent);
  describe(config, decoder, model.get());
  count(source.checkpoint.tensors, model.get());
  model->checkpoint = std::move(source.checkpoint);
  return model;
}

Status digest_model(const DigestMemory& memory, const ScanOptions& scan, Model* model) {
  PC_TRY(const Digest digest, tensor_digest(model->checkpoint, memory, scan));
  model->weights_digest = weights_digest(model->desc, digest, model->folded);
  model->rope_digest = rope_digest(model->desc);
  return ok();
}

Result<std::unique_ptr<Model>> load_model(const ModelOptions& options) {
  PC_TRY(auto model, bind_model(options.path, options.context_tokens));
  PC_CHECK_OK(digest_model(options.memory, {}, model.get()));
  return model;
}

}  // namespace pc
