#include "tools/answers/answer.h"

#include <array>
#include <cstdio>

#include "tools/output/interrupt.h"
#include "tools/output/sizes.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

const char* finish_name(std::uint32_t finish) {
  constexpr std::array kNames = {"none", "eos", "stop", "length", "cancelled"};
  return finish < kNames.size() ? kNames[finish] : "unknown";
}

const char* finish_sentence(std::uint32_t finish) {
  constexpr std::array kSentences = {"not over", "the model ended its turn", "a stop string",
                                     "the longest allowed", "interrupted"};
  return finish < kSentences.size() ? kSentences[finish] : "-";
}

std::string one_decimal(double x) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.1f", x);
  return text.data();
}

std::string drafts_clause(const pc_session_stats& s) {
  if (s.drafted_tokens == 0) return "";
  return "; " + std::to_string(s.right_drafts) + " of " +
         format_count(s.drafted_tokens, "drafted token") + " drawn";
}

}  // namespace

promptcache::SessionOptions session_options(const Options& options, bool reuse,
                                            const std::vector<const char*>& stop) {
  promptcache::SessionOptions session;
  if (options.max_tokens) session.set_max_tokens(*options.max_tokens);
  session.no_reuse = reuse ? 0 : 1;
  session.temperature = options.temperature;
  session.top_k = options.top_k;
  if (options.top_p) session.set_top_p(*options.top_p);
  session.min_p = options.min_p;
  if (options.repeat_penalty) session.set_repetition_penalty(*options.repeat_penalty);
  session.presence_penalty = options.presence_penalty;
  session.frequency_penalty = options.frequency_penalty;
  session.seed = options.seed;
  if (options.max_draft) session.set_max_draft(*options.max_draft);
  session.overflow = options.overflow == "slide" ? PC_OVERFLOW_SLIDE : PC_OVERFLOW_STOP;
  session.repair = options.repair.empty() ? nullptr : options.repair.c_str();
  session.stop = stop.data();
  session.n_stop = stop.size();
  return session;
}

Answer generate(const promptcache::Prompt& prompt, const Options& options, bool reuse,
                const std::function<void(std::string_view)>& on_text) {
  std::vector<const char*> stop;
  for (const std::string& s : options.stop) stop.push_back(s.c_str());
  promptcache::Session session(prompt, session_options(options, reuse, stop));
  const Interruptible interruptible(session.get());
  Answer answer;
  session.generate([&](const pc_token& token) {
    if (token.id >= 0) answer.tokens.push_back(token.id);
    const std::string_view text(token.text, token.text_bytes);
    answer.text += text;
    if (!text.empty()) on_text(text);
  });
  answer.stats = session.stats();
  return answer;
}

double decode_tokens_per_second(const pc_session_stats& stats) {
  if (stats.generated_tokens < 2 || stats.decode_us == 0) return 0;
  return static_cast<double>(stats.generated_tokens - 1) * 1e6 /
         static_cast<double>(stats.decode_us);
}

std::string describe(const pc_session_stats& s) {
  const double share = s.prompt_tokens == 0 ? 0
                                            : 100.0 * static_cast<double>(s.cached_tokens) /
                                                  static_cast<double>(s.prompt_tokens);
  const double speed = decode_tokens_per_second(s);
  Table table({{}, {}});
  if (s.fell_back) table.add_row({"computed by", "the CPU: the plug-in had no memory for it"});
  table.add_row(
      {"prompt",
       format_count(s.prompt_tokens, "token") + ": " +
           std::to_string(s.cached_tokens - s.chained_tokens) + " from modules" +
           (s.chained_tokens ? ", " + std::to_string(s.chained_tokens) + " from a kept conversation"
                             : "") +
           " (" + one_decimal(share) + " %), " + std::to_string(s.computed_tokens) + " computed" +
           (s.repaired_tokens ? ", " + std::to_string(s.repaired_tokens) + " of them of modules"
                              : "")});
  table.add_row({"modules", std::to_string(s.modules_found) + " used, " +
                                std::to_string(s.modules_encoded) + " of them encoded first; " +
                                format_size(s.cached_bytes) + " used in place"});
  table.add_row({"TTFT", format_duration(s.ttft_us) + ": plan " + format_duration(s.plan_us) +
                             ", look-up " + format_duration(s.lookup_us) + ", encode " +
                             format_duration(s.encode_us) + ", prefill " +
                             format_duration(s.prefill_us)});
  table.add_row({"answer", format_count(s.generated_tokens, "token") +
                               (speed > 0 ? ", then " + one_decimal(speed) + " a second" : "") +
                               drafts_clause(s) + "; ended by: " + finish_sentence(s.finish)});
  return table.text();
}

Json to_json(const Answer& answer) {
  const pc_session_stats& s = answer.stats;
  Json tokens = Json::array();
  for (const std::int32_t token : answer.tokens) tokens.push(static_cast<std::uint32_t>(token));
  Json stats = Json::object();
  stats.set("prompt_tokens", s.prompt_tokens)
      .set("cached_tokens", s.cached_tokens)
      .set("chained_tokens", s.chained_tokens)
      .set("encoded_tokens", s.encoded_tokens)
      .set("computed_tokens", s.computed_tokens)
      .set("repaired_tokens", s.repaired_tokens)
      .set("generated_tokens", s.generated_tokens)
      .set("modules_found", s.modules_found)
      .set("modules_encoded", s.modules_encoded)
      .set("cached_bytes", s.cached_bytes)
      .set("plan_us", s.plan_us)
      .set("lookup_us", s.lookup_us)
      .set("encode_us", s.encode_us)
      .set("prefill_us", s.prefill_us)
      .set("ttft_us", s.ttft_us)
      .set("decode_us", s.decode_us)
      .set("drafted_tokens", s.drafted_tokens)
      .set("right_drafts", s.right_drafts)
      .set("dropped_tokens", s.dropped_tokens)
      .set("dropped_turns", s.dropped_turns)
      .set("decode_tokens_per_second", decode_tokens_per_second(s))
      .set("finish", finish_name(s.finish))
      .set("fell_back", s.fell_back != 0);
  return Json::object().set("text", answer.text).set("tokens", tokens).set("stats", stats);
}

}  // namespace pc::cli
