#include <array>

#include "tools/json.h"
#include "tools/open.h"
#include "tools/report_cells.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pc::cli {
namespace {

struct Field {
  const char* key;
  const char* title;
  std::string (*as_cell)(const Json&);
};

std::string template_cell(const Json& name) {
  return name.is_null() ? "unknown" : cell(name);
}

std::string digest_cell(const Json& digest) {
  return digest.is_null() ? "not known before the first run" : cell(digest);
}

constexpr std::array kFields = {
    Field{"path", "model", cell},
    Field{"architecture", "architecture", cell},
    Field{"family", "family", cell},
    Field{"parameters", "parameters", cell},
    Field{"weight_bytes", "weights", size_cell},
    Field{"weight_types", "weight types", cell},
    Field{"layers", "layers", cell},
    Field{"d_model", "d_model", cell},
    Field{"heads", "heads", cell},
    Field{"kv_heads", "K/V heads", cell},
    Field{"head_dim", "head size", cell},
    Field{"d_ffn", "feed-forward", cell},
    Field{"vocab_size", "vocabulary", cell},
    Field{"context_tokens", "context window", cell},
    Field{"positions", "positions", cell},
    Field{"relocates", "modules relocate", cell},
    Field{"tokenizer", "tokenizer", cell},
    Field{"chat_template", "chat template", template_cell},
    Field{"kv_type", "K/V type", cell},
    Field{"kv_bytes_per_token", "K/V a token", size_cell},
    Field{"weights_digest", "weights digest", digest_cell},
    Field{"tokenizer_digest", "tokenizer digest", cell},
};

// "rotary, not in 9 layers", "rotary, windows of 512 tokens in 5 layers".
std::string positions_text(const Json& model) {
  std::string text = cell(model["positions"]);
  if (model["layers_without_positions"].number().value_or(0) != 0)
    text += ", not in " + cell(model["layers_without_positions"]) + " layers";
  if (model["window_layers"].number().value_or(0) != 0)
    text += ", windows of " + cell(model["window_tokens"]) + " tokens in " +
            cell(model["window_layers"]) + " layers";
  return text;
}

std::string info_text(const Json& model) {
  Table fields({{}, {}});
  for (const Field& field : kFields) {
    const Json value = model[field.key];
    fields.add_row({field.title, field.key == std::string_view("positions")
                                     ? positions_text(model)
                                     : field.as_cell(value)});
  }
  std::string text = fields.text();
  const auto groups = model["weights"].items();
  if (!groups.empty()) {
    Table weights({{"weights"},
                   {"types"},
                   {"parameters", Table::Align::kRight},
                   {"bytes", Table::Align::kRight}});
    for (const Json& group : groups)
      weights.add_row({cell(group["group"]), cell(group["types"]), cell(group["parameters"]),
                       size_cell(group["bytes"])});
    text += "\n" + weights.text();
  }
  if (!model["refused"].is_null()) text += "\nrefused: " + cell(model["refused"]) + "\n";
  return text;
}

}  // namespace

ExitCode model_info(const Options& options) {
  const std::string report = promptcache::model_inspect(engine_options(options));
  print(options.json ? report + "\n" : info_text(Json::parse(report)));
  return kSuccess;
}

ExitCode model_verify(const Options& options) {
  const std::string report = promptcache::model_verify(engine_options(options));
  const Json json = Json::parse(report);
  const auto problems = json["problems"].items();
  std::string text;
  for (const Json& problem : problems) text += cell(problem["message"]) + "\n";
  text += format_count(json["tensors"].number().value_or(0), "tensor") + ", " +
          size_cell(json["bytes"]) + " checked: " + format_count(problems.size(), "problem") + "\n";
  if (!json["weights_digest"].is_null())
    text += "weights digest    " + cell(json["weights_digest"]) + "\n";
  if (!json["tokenizer_digest"].is_null())
    text += "tokenizer digest  " + cell(json["tokenizer_digest"]) + "\n";
  print(options.json ? report + "\n" : text);
  return json["ok"].truth() ? kSuccess : kModelOrStore;
}

}  // namespace pc::cli
