#include "tools/bench/bench_workload.h"

#include <limits>

#include "tools/bench/bench_text.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"

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

// Its modules are computed with the prompt; what was said is kept.
bool keeps_what_is_said(const promptcache::Engine& engine) {
  return parse_report(engine.describe())["recurrent_bytes"].number() > std::uint64_t{0};
}

}  // namespace

BenchWorkload::BenchWorkload(const promptcache::Engine& engine, std::uint32_t cached,
                             std::uint32_t fresh)
    : schema_(schema_of_tokens(engine, cached)) {
  const bool keeps = keeps_what_is_said(engine);
  const promptcache::Schema plain = promptcache::Schema::plain(engine);
  const auto count = [&](std::string_view text) {
    return fresh_tokens(keeps ? plain : schema_, text, cached != 0 && !keeps);
  };
  text_ = text_of_tokens(fresh, count).text;
  fresh_ = static_cast<std::uint32_t>(count(text_));
  const auto tokens = static_cast<std::uint32_t>(prompt().counts().tokens);
  cached_ = keeps && cached != 0 ? keep() : tokens - fresh_;
  fresh_ = tokens - cached_;
}

// Of a model whose layers carry states: as much as is found of such a conversation.
std::uint32_t BenchWorkload::keep() const {
  promptcache::SessionOptions options;
  options.max_tokens = 1;
  promptcache::Session session(prompt(), options);
  session.prefill();
  session.keep();
  promptcache::Session again(prompt(), options);
  again.prefill();
  const auto cached = static_cast<std::uint32_t>(again.stats().cached_tokens);
  if (cached == 0)
    throw Failure(kFailure,
                  "so few tokens of this model's conversations are not kept, so there are none "
                  "before those that are measured: ask for more, or for none (--cached 0 -d 0)");
  return cached;
}

}  // namespace pc::cli
