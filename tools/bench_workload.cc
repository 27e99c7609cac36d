#include "tools/bench_workload.h"

#include "tools/bench_text.h"

namespace pc::cli {
namespace {

promptcache::Schema schema_with(const promptcache::Engine& engine, std::string_view text) {
  return promptcache::Schema::parse(engine,
                                    "<schema name=\"bench\">" + std::string(text) + "</schema>");
}

promptcache::Schema schema_of_tokens(const promptcache::Engine& engine, std::uint32_t n) {
  if (n == 0) return promptcache::Schema::plain(engine);
  const BenchText text = text_of_tokens(
      n, [&](std::string_view some) { return schema_with(engine, some).counts().tokens; });
  return schema_with(engine, text.text);
}

}  // namespace

BenchWorkload::BenchWorkload(const promptcache::Engine& engine, std::uint32_t cached,
                             std::uint32_t fresh)
    : schema_(schema_of_tokens(engine, cached)) {
  const auto count = [&](std::string_view text) -> std::uint64_t {
    const auto counts = promptcache::Prompt::from_text(schema_, text).counts();
    return cached == 0 ? counts.tokens : counts.computed_tokens;
  };
  text_ = text_of_tokens(fresh, count).text;
  fresh_ = static_cast<std::uint32_t>(count(text_));
  cached_ = static_cast<std::uint32_t>(prompt().counts().tokens) - fresh_;
}

}  // namespace pc::cli
