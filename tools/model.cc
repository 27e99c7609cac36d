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
  std::string (*as_cell)(const Json& value);
};

constexpr std::array kFields = {
    Field{"path", "model", cell},
    Field{"format", "format", cell},
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
    Field{"relocates", "modules relocate", cell},
    Field{"tokenizer", "tokenizer", cell},
    Field{"kv_type", "K/V type", cell},
    Field{"kv_bytes_per_token", "K/V a token", size_cell},
    Field{"tokenizer_digest", "tokenizer digest", cell},
};

std::string text_or(const Json& value, const char* absent) {
  return value.is_null() ? absent : cell(value);
}

std::string layers_text(const Json& n) {
  return format_count(n.number().value_or(0), "layer");
}

// "rotary, not in 9 layers; windows of 512 tokens in 5 layers"
std::string positions_text(const Json& model) {
  std::string text = cell(model["positions"]);
  if (model["layers_without_positions"].number().value_or(0) != 0)
    text += ", not in " + layers_text(model["layers_without_positions"]);
  if (model["window_layers"].number().value_or(0) != 0)
    text += "; windows of " + cell(model["window_tokens"]) + " tokens in " +
            layers_text(model["window_layers"]);
  return text;
}

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
    const std::string value = field.as_cell(model[field.key]);
    if (value != "-") table.add_row({field.title, value});
  }
  const bool refused = !model["refused"].is_null();
  if (!refused || model["family"].text() != "-") {
    table.add_row({"positions", positions_text(model)});
    table.add_row({"chat template", text_or(model["chat_template"], "unknown")});
    table.add_row(
        {"weights digest", text_or(model["weights_digest"], "not known before the first run")});
  }
  std::string text = table.text();
  if (!model["weights"].items().empty()) text += "\n" + groups_text(model);
  if (refused) text += "\nrefused: " + cell(model["refused"]) + "\n";
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
