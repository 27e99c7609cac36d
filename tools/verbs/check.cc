#include <cstdio>
#include <vector>

#include "tools/answers/approximation.h"
#include "tools/answers/check_answers.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

std::string parameters_cell(const Json& parameters) {
  std::string out;
  for (const Json& p : parameters.items())
    out += (out.empty() ? "" : " ") + cell(p["name"]) + ":" + cell(p["len"]);
  return out.empty() ? "-" : out;
}

std::string modules_table(const Json& schema) {
  using Align = Table::Align;
  Table table({{"module"},
               {"position", Align::kRight},
               {"tokens", Align::kRight},
               {"bytes", Align::kRight},
               {"stored"},
               {"union"},
               {"parameters"}});
  for (const Json& m : schema["modules"].items())
    table.add_row({module_cell(m["path"]), cell(m["position"]), cell(m["tokens"]),
                   size_cell(m["bytes"]), cell(m["cache"]), cell(m["union"]),
                   parameters_cell(m["parameters"])});
  for (const Json& s : schema["scaffolds"].items())
    table.add_row(
        {cell(s["name"]), "-", cell(s["tokens"]), size_cell(s["bytes"]), "yes", "-", "-"});
  return table.text();
}

// What modules of a model cost more whose layers carry states.
std::string recurrent_cell(const Json& schema) {
  const Json& bytes = schema["recurrent_bytes"];
  if (bytes.number() == std::uint64_t{0}) return "";
  return ", " + size_cell(bytes) + " of them for what modules make of recurrent layers' states";
}

std::string schema_text(const Json& schema) {
  return "schema " + cell(schema["name"]) + ": positions " + cell(schema["positions"]) +
         ", attend " + cell(schema["attend"]) + "; " + cell(schema["tokens"]) + " tokens, " +
         size_cell(schema["bytes"]) + " when stored" + recurrent_cell(schema) + "\n" +
         (schema["relocates"].truth()
              ? ""
              : "The model's states are bound to their positions: a module is found again "
                "only where the schema places it.\n") +
         "\n" + modules_table(schema);
}

Json error_json(const promptcache::Error& error, const std::string& file) {
  return Json::object()
      .set("file", file)
      .set("line", error.line())
      .set("column", error.column())
      .set("message", error.what());
}

// Collects what is found, so that one wrong prompt does not hide the next.
class Findings {
 public:
  // Prints what is wrong with the document, that it is too long for the model
  // included; errors about anything else pass through.
  void add(const promptcache::Error& error, const std::string& file) {
    const bool too_long = error.status() == PC_CONTEXT_FULL;
    const Failure failure =
        too_long ? Failure(kPml, error.what(), file) : document_failure(error, file);
    if (failure.exit_code != kPml) throw failure;
    print_failure(failure);
    errors_.push(error_json(error, file));
    exit_code_ = kPml;
  }
  const Json& errors() const { return errors_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  Json errors_ = Json::array();
  ExitCode exit_code_ = kSuccess;
};

std::string prompt_text(const std::string& name, const Json& plan) {
  const std::string sentence = approximation(plan);
  return printable(name) + ": " + cell(plan["prompt_tokens"]) + " tokens, " +
         cell(plan["cached_tokens"]) + " of them from modules" +
         (sentence.empty() ? "\n" : "; " + sentence + " (--answers measures by how much)\n");
}

void print_schema_remarks(const std::string& file, const Json& schema) {
  for (const Json& remark : schema["remarks"].items()) print_remark(file, cell(remark));
}

// Prompts of the schema, and where each was written.
struct WrittenPrompts {
  std::vector<promptcache::Prompt> prompts;
  std::vector<std::string> names;
};

WrittenPrompts read_prompts(const promptcache::Schema& schema, const Options& options,
                            Findings* findings) {
  WrittenPrompts written;
  for (const std::string& path : options.prompts) {
    const Document document = read_document(path);
    try {
      written.prompts.emplace_back(schema, document.text);
      written.names.push_back(document.name);
      if (!options.quiet) print_remarks(written.prompts.back(), document.name);
    } catch (const promptcache::Error& error) {
      findings->add(error, document.name);
    }
  }
  return written;
}

// The prompts' part of the report: text, or one object each in *json.
std::string describe_prompts(const WrittenPrompts& written, Findings* findings, Json* json) {
  std::string text;
  for (std::size_t i = 0; i < written.prompts.size(); ++i) {
    const std::string& name = written.names[i];
    try {
      const Json plan = parse_report(written.prompts[i].explain());
      text += prompt_text(name, plan);
      json->push(Json::object()
                     .set("file", name)
                     .set("prompt_tokens", plan["prompt_tokens"])
                     .set("cached_tokens", plan["cached_tokens"])
                     .set("remarks", plan["remarks"]));
    } catch (const promptcache::Error& error) {
      findings->add(error, name);
    }
  }
  return text.empty() ? "" : "\n" + text;
}

// What fails now is about the model, not about a document.
Json answers_of(const promptcache::Schema& schema, const std::vector<promptcache::Prompt>& prompts,
                const Options& options) {
  try {
    return check_answers(schema, prompts, options);
  } catch (const promptcache::Error& error) {
    throw Failure(exit_code_of(error), error.what());
  }
}

}  // namespace

ExitCode check(const Options& options) {
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  Findings findings;
  Json report, answers, prompts = Json::array();
  std::string text;
  try {
    const promptcache::Schema schema = promptcache::Schema::load(engine, options.schema);
    report = parse_report(schema.describe());
    const WrittenPrompts written = read_prompts(schema, options, &findings);
    text = schema_text(report) + describe_prompts(written, &findings, &prompts);
    if (options.answers && findings.exit_code() == kSuccess)
      answers = answers_of(schema, written.prompts, options);
    if (!answers.is_null()) text += answers_text(answers);
  } catch (const promptcache::Error& error) {
    findings.add(error, options.schema);
  }
  if (options.json)
    text = Json::object()
               .set("schema", report)
               .set("prompts", prompts)
               .set("errors", findings.errors())
               .set("answers", answers)
               .dump() +
           "\n";
  print(text);
  if (!options.quiet) print_schema_remarks(options.schema, report);
  return findings.exit_code();
}

}  // namespace pc::cli
