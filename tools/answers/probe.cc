#include "tools/answers/probe.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tools/opening/open.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

// Ten tokens or so: the scalar kernels take seconds for each of a large model.
constexpr char kShortPrompt[] =
    "<prompt schema=\"probe\">The rabbit took a watch out of its pocket.</prompt>";

// Rounding of activations moves the logits of models by one or two hundredths, and of small
// ones by more; kernels that compute something else move them by one.
constexpr double kMostApart = 0.2;

promptcache::EngineOptions exact_options(const Options& options) {
  promptcache::EngineOptions engine = engine_options(options);
  engine.precision = PC_PRECISION_EXACT;
  engine.kv_type = PC_KV_DEFAULT;
  return engine;
}

std::vector<float> short_logits(const promptcache::EngineOptions& options) {
  const promptcache::Engine engine(options);
  const auto schema = promptcache::Schema::parse(engine, "<schema name=\"probe\"/>");
  promptcache::SessionOptions session_options;
  session_options.no_reuse = 1;
  promptcache::Session session(promptcache::Prompt(schema, kShortPrompt), session_options);
  session.prefill();
  return session.logits();
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(double{a[i]} - b[i], 2);
    whole += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(square / whole);
}

// PC_ISA for as long as this lives. The command has one thread here.
class InstructionSet {
 public:
  explicit InstructionSet(const std::string& name) {
    if (const char* before = std::getenv("PC_ISA")) before_ = before;
    ::setenv("PC_ISA", name.c_str(), 1);
  }
  ~InstructionSet() {
    before_.empty() ? ::unsetenv("PC_ISA") : ::setenv("PC_ISA", before_.c_str(), 1);
  }
  InstructionSet(const InstructionSet&) = delete;

 private:
  std::string before_;
};

Json instruction_sets(const Options& options, bool* ok) {
  const std::vector<float> want = short_logits(exact_options(options));
  Json list = Json::array();
  for (const Json& name : parse_report(promptcache::build_describe())["isa"]["supported"].items()) {
    const InstructionSet chosen(name.text());
    const double exact = distance(short_logits(exact_options(options)), want);
    const double as_run = distance(short_logits(engine_options(options)), want);
    *ok = *ok && exact <= 1e-3 && as_run <= kMostApart;
    list.push(Json::object().set("name", name.text()).set("exact", exact).set("as_run", as_run));
  }
  return list;
}

std::string number_text(const Json& value, const char* format) {
  const std::string text = value.text();
  if (text == "-") return text;
  std::array<char, 64> digits{};
  std::snprintf(digits.data(), digits.size(), format, std::strtod(text.c_str(), nullptr));
  return digits.data();
}

}  // namespace

Json probe(const Options& options) {
  std::string text;
  if (!options.probe_text.empty()) text = read_document(options.probe_text).text;
  const auto read = [&](const promptcache::EngineOptions& engine) {
    return parse_report(promptcache::model_probe(engine, text));
  };
  const Json as_run = read(engine_options(options)), exact = read(exact_options(options));
  bool ok = as_run["ok"].truth() && exact["ok"].truth();
  Json report = Json::object();
  report.set("as_run", as_run).set("exact", exact);
  if (ok) report.set("instruction_sets", instruction_sets(options, &ok));
  return report.set("ok", ok);
}

std::string probe_text(const Json& report) {
  constexpr auto kRight = Table::Align::kRight;
  std::string text;
  for (const char* way : {"as_run", "exact"})
    for (const Json& problem : report[way]["problems"].items()) text += cell(problem) + "\n";
  Table ways(
      {{"probe"}, {"tokens", kRight}, {"perplexity", kRight}, {"one by one / at once", kRight}});
  for (const char* way : {"as_run", "exact"}) {
    const Json& of = report[way];
    ways.add_row({way[0] == 'a' ? "as run" : "exact", cell(of["tokens"]),
                  number_text(of["perplexity"], "%.3f"),
                  number_text(of["prefill_distance"], "%.1e")});
  }
  Table layers(
      {{"behind layer"}, {"max |x|, as run", kRight}, {"exact", kRight}, {"not finite", kRight}});
  const auto run = report["as_run"]["layers"].items(), exact = report["exact"]["layers"].items();
  for (std::size_t i = 0; i < run.size() && i < exact.size(); ++i) {
    layers.add_row({cell(run[i]["name"]), number_text(run[i]["largest"], "%.4g"),
                    number_text(exact[i]["largest"], "%.4g"), cell(run[i]["not_finite"])});
  }
  text += ways.text() + "\n" + layers.text();
  if (report["instruction_sets"].is_null()) return text;
  Table sets({{"instruction set"}, {"logits, exact", kRight}, {"as run", kRight}});
  for (const Json& set : report["instruction_sets"].items())
    sets.add_row(
        {cell(set["name"]), number_text(set["exact"], "%.1e"), number_text(set["as_run"], "%.1e")});
  return text + "\n" + sets.text();
}

}  // namespace pc::cli
