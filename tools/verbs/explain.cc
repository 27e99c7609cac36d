#include <algorithm>
#include <cstdint>
#include <string>

#include "tools/answers/approximation.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

constexpr std::size_t kTextColumns = 28;

std::string source_cell(const Json& run) {
  if (run["kind"].text() != "cached") return cell(run["label"]);
  const Json stand_ins = run["stand_ins"];
  return module_cell(run["label"]) + (run["scaffold"].truth() ? " (scaffold)" : "") +
         (stand_ins.is_null() ? "" : " (slot " + cell(stand_ins) + ")");
}

std::string runs_table(const Json& plan) {
  using Align = Table::Align;
  Table table({{"position", Align::kRight},
               {"tokens", Align::kRight},
               {"kind"},
               {"source"},
               {"state"},
               {"bytes", Align::kRight},
               {"text"}});
  for (const Json& run : plan["runs"].items()) {
    const std::string moved = run["moved"].truth() ? " (moved)" : "";
    table.add_row({cell(run["position"]), cell(run["tokens"]), cell(run["kind"]) + moved,
                   source_cell(run), cell(run["state"]), size_cell(run["bytes"]),
                   elide(cell(run["text"]), kTextColumns)});
  }
  return table.text();
}

std::string modules_table(const Json& plan) {
  using Align = Table::Align;
  Table table({{"module"},
               {"state"},
               {"tokens", Align::kRight},
               {"bytes", Align::kRight},
               {"key"},
               {"why"}});
  const auto modules = plan["modules"].items();
  for (const Json& m : modules)
    table.add_row({module_cell(m["name"]), cell(m["state"]), cell(m["tokens"]),
                   size_cell(m["bytes"]), key_cell(m["key"]), cell(m["why"])});
  return modules.empty() ? "" : "\n" + table.text();
}

std::string cached_cell(const Json& plan) {
  const std::uint64_t chained = plan["chained_tokens"].number().value_or(0);
  const std::uint64_t cached = plan["cached_tokens"].number().value_or(0);
  const std::string modules = std::to_string(cached - std::min(cached, chained)) + " from modules";
  if (chained == 0) return modules;
  return modules + ", " + std::to_string(chained) + " from a kept conversation";
}

std::string repaired_cell(const Json& plan) {
  const std::uint64_t repaired = plan["repaired_tokens"].number().value_or(0);
  return repaired == 0 ? "" : ", " + std::to_string(repaired) + " of them of modules";
}

std::string approximate_line(const Json& plan) {
  const std::string sentence = approximation(plan);
  return sentence.empty() ? "" : sentence + " (check --answers measures by how much)\n";
}

// What modules of a model cost more whose layers carry states.
std::string recurrent_line(const Json& plan) {
  std::uint64_t bytes = 0;
  for (const Json& m : plan["modules"].items()) bytes += m["recurrent_bytes"].number().value_or(0);
  if (bytes == 0) return "";
  return "Of the modules' bytes " + format_size(bytes) +
         " are what they make of recurrent layers' states.\n";
}

std::string plan_text(const Json& plan) {
  return "schema " + cell(plan["schema"]) + ": positions " + cell(plan["positions"]) + ", attend " +
         cell(plan["attend"]) + "\n" +
         (cell(plan["repair"]) == "none" ? "" : "repair " + cell(plan["repair"]) + "\n") +
         (plan["relocates"].truth()
              ? ""
              : "The model's states are bound to their positions: a module is found again "
                "only where the schema places it.\n") +
         "\n" + runs_table(plan) + modules_table(plan) + recurrent_line(plan) + "\n" +
         cell(plan["prompt_tokens"]) + " prompt tokens: " + cached_cell(plan) + ", " +
         cell(plan["computed_tokens"]) + " to compute" + repaired_cell(plan) +
         "; the answer starts at position " + cell(plan["end"]) + "\n" + approximate_line(plan);
}

}  // namespace

ExitCode explain(const Options& options) {
  const Document document = read_document(options.prompts.front());
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  const promptcache::Schema schema = load_schema(engine, options);
  const promptcache::Prompt prompt = parse_prompt(schema, document);
  const std::string report = prompt.explain();
  print(options.json ? report + "\n" : plan_text(parse_report(report)));
  if (!options.quiet) print_remarks(prompt, document.name);
  return kSuccess;
}

}  // namespace pc::cli
