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

std::string isa_cell(const Json& isa) {
  return cell(isa["selected"]);
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
    Field{"tokenizer", "tokenizer", cell},
    Field{"chat_template", "chat template", cell},
    Field{"kv_type", "K/V type", cell},
    Field{"kv_bytes_per_token", "K/V a token", size_cell},
    Field{"weights_digest", "weights digest", cell},
    Field{"tokenizer_digest", "tokenizer digest", cell},
    Field{"backend", "backend", cell},
    Field{"isa", "instruction set", isa_cell},
    Field{"matrix", "matrix products", cell},
    Field{"threads", "threads", cell},
};

}  // namespace

ExitCode model_info(const Options& options) {
  const std::string report = open_engine(options, PC_CACHE_OFF).describe();
  const Json json = Json::parse(report);
  Table table({{}, {}});
  for (const Field& field : kFields) table.add_row({field.title, field.as_cell(json[field.key])});
  print(options.json ? report + "\n" : table.text());
  return kSuccess;
}

}  // namespace pc::cli
