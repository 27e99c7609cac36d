#include "tools/answers/check_answers.h"

#include <cstdio>
#include <cstdlib>

#include "tools/output/interrupt.h"
#include "tools/output/progress.h"
#include "tools/output/report_cells.h"
#include "tools/output/sizes.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

// Shows how far the check has come, and lets Ctrl-C stop it.
struct Watch {
  Progress progress;
  Interruptible interruptible;

  static int show(void* watch, std::uint32_t done, std::uint32_t total) {
    auto* const self = static_cast<Watch*>(watch);
    self->progress.show(done, total, "answers");
    return self->interruptible.requested() ? 1 : 0;
  }
};

std::string with_digits(double value, int digits, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f%s", digits, value, unit);
  return text;
}

double number(const Json& value) {
  return std::strtod(value.text().c_str(), nullptr);
}

std::string percent(const Json& share, int digits) {
  return with_digits(100.0 * number(share), digits, " %");
}

std::string name_of(const Json& way) {
  return (way["slots"].truth() ? "slots, " : "") + cell(way["repair"]);
}

std::string table_of(const Json& report) {
  using Align = Table::Align;
  Table table({{"way"},
               {"computed anew", Align::kRight},
               {"kept", Align::kRight},
               {"same tokens", Align::kRight},
               {"same first", Align::kRight},
               {"same answers", Align::kRight},
               {"divergence", Align::kRight},
               {"first token", Align::kRight},
               {"faster", Align::kRight}});
  for (const Json& way : report["ways"].items())
    table.add_row({name_of(way), percent(way["anew"], 1), percent(way["kept"], 0),
                   percent(way["same_tokens"], 1), percent(way["same_first"], 0),
                   percent(way["same_answers"], 0), with_digits(number(way["divergence"]), 3, ""),
                   format_duration(way["ttft_us"].number().value_or(0)),
                   with_digits(number(way["faster"]), 1, "x")});
  return table.text();
}

// Is there a way that passes and computes less than all anew?
bool reuse_passes(const Json& report) {
  for (const Json& way : report["ways"].items())
    if (way["passes"].truth() && !way["slots"].truth() && cell(way["repair"]) != "all") return true;
  return false;
}

// What to write in the schema where that is better than any repair of it as it stands.
std::string advice_of(const Json& report) {
  if (!report["slots_are_best"].truth()) return "";
  return "better: write attend=\"slots\" repair=\"" + cell(report["slots_verdict"]) +
         "\" in the schema, with a <stand-in> or several that look like its modules\n";
}

std::string verdict_of(const Json& report) {
  const std::string least = percent(report["least_kept"], 0);
  std::string text = "verdict: " + cell(report["verdict"]);
  if (reuse_passes(report))
    text += ", the fastest that keeps at least " + least + " of the answers";
  else
    text += ", since nothing less keeps " + least +
            " of the answers; put what belongs together into one module or a scaffold";
  return text +
         (report["kept"].truth() ? "\nrepair=\"auto\" does so from now on\n"
                                 : "\nIt could not be written into the cache directory, so "
                                   "repair=\"auto\" does not know "
                                   "it; name it as the schema's repair=.\n") +
         advice_of(report);
}

}  // namespace

Json check_answers(const promptcache::Schema& schema,
                   const std::vector<promptcache::Prompt>& prompts, const Options& options) {
  Watch watch{Progress(options.quiet, "answering"), Interruptible()};
  promptcache::AnswersOptions asked;
  asked.prompts = options.made_prompts;
  asked.answer_tokens = options.compared_tokens;
  asked.progress = Watch::show;
  asked.progress_user = &watch;
  return parse_report(promptcache::check_answers(schema, prompts, asked));
}

std::string answers_text(const Json& report) {
  const std::uint64_t n_exact = report["exact_prompts"].number().value_or(0);
  const std::uint64_t n = report["prompts"].number().value_or(0) - n_exact;
  if (n == 0)
    return "\nEvery prompt is exact: its modules have seen all that stands before them, and no "
           "repair "
           "is needed.\n";
  return "\nanswers to " + format_count(n, "prompt") + ", " +
         format_count(report["compared_tokens"].number().value_or(0), "token") +
         ", beside full prefills (first token after " +
         format_duration(report["full_ttft_us"].number().value_or(0)) + ")" +
         (n_exact ? "; " + std::to_string(n_exact) + " more are exact" : "") + "\n\n" +
         table_of(report) + "\n" + verdict_of(report);
}

}  // namespace pc::cli
