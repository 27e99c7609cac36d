#include "tools/serve/answer/report.h"

namespace pc::serve {
namespace {

double milliseconds(std::uint64_t us) {
  return static_cast<double>(us) / 1000;
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

Json list_of(const std::vector<std::string>& strings) {
  Json list = Json::array();
  for (const std::string& string : strings) list.push(string);
  return list;
}

std::vector<std::string> both(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Json openai_usage(const Usage& usage) {
  return Json::object()
      .set("prompt_tokens", usage.prompt_tokens)
      .set("completion_tokens", usage.generated_tokens)
      .set("total_tokens", usage.prompt_tokens + usage.generated_tokens)
      .set("prompt_tokens_details", Json::object()
                                        .set("cached_tokens", usage.cached_tokens)
                                        .set("cache_write_tokens", usage.written_tokens))
      .set("completion_tokens_details",
           Json::object().set("reasoning_tokens", usage.thought_tokens));
}

Json timings(const Usage& usage) {
  const std::uint64_t computed = usage.prompt_tokens - usage.cached_tokens;
  const double prompt_ms = milliseconds(usage.prompt_us),
               predicted_ms = milliseconds(usage.decode_us);
  const auto n = static_cast<double>(computed), m = static_cast<double>(usage.generated_tokens);
  Json timings = Json::object()
                     .set("cache_n", usage.cached_tokens)
                     .set("prompt_n", computed)
                     .set("prompt_ms", prompt_ms)
                     .set("prompt_per_token_ms", ratio(prompt_ms, n))
                     .set("prompt_per_second", ratio(n * 1000, prompt_ms))
                     .set("predicted_n", usage.generated_tokens)
                     .set("predicted_ms", predicted_ms)
                     .set("predicted_per_token_ms", ratio(predicted_ms, m))
                     .set("predicted_per_second", ratio(m * 1000, predicted_ms));
  if (usage.drafted_tokens != 0)  // as llama.cpp's server calls them
    timings.set("draft_n", usage.drafted_tokens).set("draft_n_accepted", usage.right_drafts);
  return timings;
}

Json prompt_cache(const Usage& usage, const Question& question) {
  return Json::object()
      .set("mode", name_of(question.mode))
      .set("used", name_of(usage.reuse.mode))
      .set("exact", usage.approximate_tokens + usage.moved_tokens <= usage.repaired_tokens)
      .set("tokens", Json::object()
                         .set("prompt", usage.prompt_tokens)
                         .set("from_conversations", usage.chained_tokens)
                         .set("from_modules", usage.cached_tokens - usage.chained_tokens)
                         .set("approximate", usage.approximate_tokens + usage.moved_tokens)
                         .set("repaired", usage.repaired_tokens)
                         .set("computed", usage.prompt_tokens - usage.cached_tokens)
                         .set("written", usage.written_tokens))
      .set("dropped_messages", usage.reuse.n_dropped)
      .set("modules",
           Json::object().set("used", usage.modules).set("encoded", usage.modules_encoded))
      .set("first_token_ms", milliseconds(usage.first_token_us))
      .set("parts", usage.reuse.parts)
      .set("remarks", list_of(both(question.remarks, usage.reuse.remarks)))
      .set("ignored_fields", list_of(question.ignored));
}

}  // namespace pc::serve
