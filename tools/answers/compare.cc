#include "tools/answers/compare.h"

#include <array>
#include <cstdio>

#include "tools/answers/answer.h"
#include "tools/opening/open.h"
#include "tools/output/sizes.h"
#include "tools/output/table.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

struct Comparison {
  Answer first, full, again;

  // Modules are attended as they were encoded, so that the answers of `full`
  // and `again` may differ for good reason; those of `first` and `again` may not.
  bool agrees() const { return full.text == again.text; }
  bool repeats() const { return first.tokens == again.tokens; }
  double speed_up() const {
    return again.stats.ttft_us == 0
               ? 0
               : static_cast<double>(full.stats.ttft_us) / static_cast<double>(again.stats.ttft_us);
  }
};

Table statistics(const Comparison& c) {
  using Align = Table::Align;
  Table table({{""},
               {"full prefill", Align::kRight},
               {"first reuse", Align::kRight},
               {"next reuse", Align::kRight}});
  const auto row = [&](const char* title, auto&& cell) {
    table.add_row({title, cell(c.full.stats), cell(c.first.stats), cell(c.again.stats)});
  };
  using Stats = const pc_session_stats&;
  row("TTFT", [](Stats s) { return format_duration(s.ttft_us); });
  row("  look-up", [](Stats s) { return format_duration(s.lookup_us); });
  row("  encode", [](Stats s) { return format_duration(s.encode_us); });
  row("  prefill", [](Stats s) { return format_duration(s.prefill_us); });
  row("tokens from modules", [](Stats s) { return std::to_string(s.cached_tokens); });
  row("tokens computed", [](Stats s) { return std::to_string(s.computed_tokens); });
  row("modules encoded", [](Stats s) { return std::to_string(s.modules_encoded); });
  row("answer tokens", [](Stats s) { return std::to_string(s.generated_tokens); });
  return table;
}

std::string text_report(const Comparison& c) {
  std::array<char, 64> speed_up;
  std::snprintf(speed_up.data(), speed_up.size(),
                "\nSpeed-up of the first token by reuse: %.1f times. ", c.speed_up());
  std::string out = statistics(c).text() + speed_up.data();
  out += c.agrees() ? "The answers agree:\n"
                    : "The answers differ.\nfull prefill:\n" + c.full.text + "\nreuse:\n";
  out += c.again.text + "\n";
  if (!c.repeats())
    out +=
        "The two answers with reuse differ from each other; the first was:\n" + c.first.text + "\n";
  return is_terminal(stdout) ? printable_lines(out) : out;
}

Json json_report(const Comparison& c) {
  return Json::object()
      .set("full_prefill", to_json(c.full))
      .set("first_reuse", to_json(c.first))
      .set("next_reuse", to_json(c.again))
      .set("agree", c.agrees())
      .set("reuse_repeats", c.repeats())
      .set("ttft_speed_up", c.speed_up());
}

}  // namespace

ExitCode compare(const promptcache::Prompt& prompt, const Options& options) {
  const auto silent = [](std::string_view) {};
  Comparison c;
  Options one_token = options;
  one_token.max_tokens = 1;
  c.first = generate(prompt, options, /*reuse=*/true, silent);
  generate(prompt, one_token, /*reuse=*/false, silent);
  c.full = generate(prompt, options, /*reuse=*/false, silent);
  c.again = generate(prompt, options, /*reuse=*/true, silent);
  print(options.json ? json_report(c).dump() + "\n" : text_report(c));
  return kSuccess;
}

}  // namespace pc::cli
