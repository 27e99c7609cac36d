#include <array>
#include <vector>

#include "tools/answers/probe.h"
#include "tools/opening/open.h"
#include "tools/opening/opening.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

std::string plain(const Json& model, const char* key) {
  return cell(model[key]);
}

std::string unless_zero(const Json& model, const char* key) {
  return model[key].number() == std::uint64_t{0} ? "-" : plain(model, key);
}

std::string size(const Json& model, const char* key) {
  return size_cell(model[key]);
}

std::string layers_text(const Json& n) {
  return format_count(n.number().value_or(0), "layer");
}

// "rotary, not in 9 layers; windows of 512 tokens in 5 layers"
std::string positions(const Json& model, const char* key) {
  std::string text = cell(model[key]);
  if (model["layers_without_positions"].number().value_or(0) != 0)
    text += ", not in " + layers_text(model["layers_without_positions"]);
  if (model["window_layers"].number().value_or(0) != 0)
    text += "; windows of " + cell(model["window_tokens"]) + " tokens in " +
            layers_text(model["window_layers"]);
  return text;
}

// "7 with 2 heads of 8; 1 with 2 heads of 16": layers that keep keys and values, unless they are
// all the model's and alike.
std::string states(const Json& model, const char* key) {
  const std::vector<Json> kinds = model[key].items();
  if (kinds.empty() ||
      (kinds.size() == 1 && kinds[0]["layers"].number() == model["layers"].number()))
    return "-";
  std::string text;
  for (const Json& kind : kinds)
    text += (text.empty() ? "" : "; ") + cell(kind["layers"]) + " with " +
            format_count(kind["kv_heads"].number().value_or(0), "head") + " of " +
            cell(kind["head_dim"]);
  return text;
}

std::string chat_template(const Json& model, const char* key) {
  return model["tokenizer"].is_null() || !model[key].is_null() ? cell(model[key]) : "unknown";
}

std::string size_unless_zero(const Json& model, const char* key) {
  return unless_zero(model, key) == "-" ? "-" : size(model, key);
}

std::string digest(const Json& model, const char* key) {
  const bool known = model["family"].is_null() || !model[key].is_null();
  return known ? cell(model[key]) : "not known before the first run";
}

struct Field {
  const char* key;
  const char* title;
  std::string (*text)(const Json& model, const char* key);  // "-": left out
};

constexpr std::array kFields = {
    Field{"path", "model", plain},
    Field{"format", "format", plain},
    Field{"architecture", "architecture", plain},
    Field{"family", "family", plain},
    Field{"parameters", "parameters", plain},
    Field{"weight_bytes", "weights", size},
    Field{"weight_types", "weight types", plain},
    Field{"layers", "layers", plain},
    Field{"d_model", "d_model", plain},
    Field{"heads", "heads", plain},
    Field{"kv_heads", "K/V heads", plain},
    Field{"head_dim", "head size", plain},
    Field{"states", "layers with K/V", states},
    Field{"d_ffn", "feed-forward", unless_zero},
    Field{"experts", "experts", unless_zero},
    Field{"experts_used", "experts a token", unless_zero},
    Field{"d_expert", "expert's width", unless_zero},
    Field{"vocab_size", "vocabulary", plain},
    Field{"context_tokens", "context window", plain},
    Field{"positions", "positions", positions},
    Field{"relocates", "modules relocate", plain},
    Field{"tokenizer", "tokenizer", plain},
    Field{"chat_template", "chat template", chat_template},
    Field{"kv_type", "K/V type", plain},
    Field{"kv_bytes_per_token", "K/V a token", size},
    Field{"recurrent_bytes", "recurrent states", size_unless_zero},
    Field{"recurrent_map_bytes", "a module's map of them", size_unless_zero},
    Field{"weights_digest", "weights digest", digest},
    Field{"tokenizer_digest", "tokenizer digest", plain},
};

std::string groups_text(const Json& model) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"weights"}, {"types"}, {"parameters", kRight}, {"bytes", kRight}});
  for (const Json& group : model["weights"].items()) {
    const bool tied = group["parameters"].number() == std::uint64_t{0};  // the output
    table.add_row({cell(group["group"]), tied ? "the embedding" : cell(group["types"]),
                   cell(group["parameters"]), size_cell(group["bytes"])});
  }
  return table.text();
}

std::string info_text(const Json& model) {
  Table table({{}, {}});
  for (const Field& field : kFields) {
    const std::string text = field.text(model, field.key);
    if (text != "-") table.add_row({field.title, text});
  }
  std::string text = table.text();
  if (!model["weights"].items().empty()) text += "\n" + groups_text(model);
  if (!model["refused"].is_null()) text += "\nrefused: " + cell(model["refused"]) + "\n";
  return text;
}

}  // namespace

ExitCode model_info(const Options& options) {
  const std::string report = promptcache::model_inspect(engine_options(options));
  print(options.json ? report + "\n" : info_text(parse_report(report)));
  return kSuccess;
}

ExitCode model_verify(const Options& options) {
  promptcache::EngineOptions engine = engine_options(options);
  const std::string report = [&] {
    Opening opening(options.quiet);
    opening.attach(&engine);
    std::string text = promptcache::model_verify(engine);
    opening.end();
    return text;
  }();
  const Json json = parse_report(report);
  const auto problems = json["problems"].items();
  std::string text;
  for (const Json& problem : problems) text += cell(problem["message"]) + "\n";
  text += format_count(json["tensors"].number().value_or(0), "tensor") + ", " +
          size_cell(json["bytes"]) + " checked: " + format_count(problems.size(), "problem") + "\n";
  if (!json["weights_digest"].is_null())
    text += "weights digest    " + cell(json["weights_digest"]) + "\n";
  if (!json["tokenizer_digest"].is_null())
    text += "tokenizer digest  " + cell(json["tokenizer_digest"]) + "\n";
  if (!options.probe || !json["ok"].truth()) {
    print(options.json ? report + "\n" : text);
    return json["ok"].truth() ? kSuccess : kModelOrStore;
  }
  Json whole = json;
  const Json probed = probe(options);
  whole.set("probe", probed);
  print(options.json ? whole.dump() + "\n" : text + "\n" + probe_text(probed));
  return probed["ok"].truth() ? kSuccess : kModelOrStore;
}

}  // namespace pc::cli
