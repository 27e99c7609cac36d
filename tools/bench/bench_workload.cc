#include "tools/bench/bench_workload.h"

#include <limits>

#include "tools/bench/bench_text.h"
#include "tools/output/failure.h"

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

// Of a prompt that is this text; with no module all of its tokens are fresh.
std::uint64_t fresh_tokens(const promptcache::Schema& schema, std::string_view text,
                           bool has_module) try {
  const auto counts = promptcache::Prompt::from_text(schema, text).counts();
  return has_module ? counts.computed_tokens : counts.tokens;
} catch (const promptcache::Error& error) {
  if (error.status() != PC_CONTEXT_FULL) throw;
  return std::numeric_limits<std::uint64_t>::max();  // more than any that is looked for
}

}  // namespace

BenchWorkload::BenchWorkload(const promptcache::Engine& engine, std::uint32_t cached,
                             std::uint32_t fresh)
    : schema_(schema_of_tokens(engine, cached)) {
  const auto count = [&](std::string_view text) {
    return fresh_tokens(schema_, text, cached != 0);
  };
  text_ = text_of_tokens(fresh, count).text;
  fresh_ = static_cast<std::uint32_t>(count(text_));
  const auto counts = prompt().counts();
  if (cached != 0 && counts.computed_tokens == counts.tokens)
    throw Failure(kFailure,
                  "nothing of this model's prompts is kept, so there are no tokens before those "
                  "that are measured: --cached 0 -d 0 leaves these measures out");
  cached_ = static_cast<std::uint32_t>(counts.tokens) - fresh_;
}

}  // namespace pc::cli
