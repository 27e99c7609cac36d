#include <string>

#include "tools/exchange/selection.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/interrupt.h"
#include "tools/output/json.h"
#include "tools/output/progress.h"
#include "tools/output/sizes.h"

namespace pc::cli {
namespace {

// encode: the call, given what is told of its progress.
template <class Encode>
pc_encode_stats with_progress(const Encode& encode, bool quiet) {
  Progress progress(quiet);
  const Interruptible interruptible;
  return encode([&](std::uint32_t done, std::uint32_t total, const char* module) {
    progress.show(done, total, module);
    return !interruptible.requested();
  });
}

pc_encode_stats encode_schema(promptcache::Schema& schema, bool quiet) {
  return with_progress([&](auto progress) { return schema.encode(progress); }, quiet);
}

pc_encode_stats encode_prompt(const promptcache::Prompt& prompt, const Options& options) {
  return with_progress(
      [&](auto progress) {
        return options.together ? prompt.encode_together(progress) : prompt.encode(progress);
      },
      options.quiet);
}

void add(const pc_encode_stats& more, pc_encode_stats* sum) {
  sum->modules_encoded += more.modules_encoded;
  sum->tokens_computed += more.tokens_computed;
  sum->bytes_stored += more.bytes_stored;
  sum->microseconds += more.microseconds;
}

using Keys = ModuleKeys;

// How many of these modules the store holds now.
std::uint32_t count_stored(const Keys& keys, const Options& options) {
  Keys stored;
  const promptcache::Store store = open_store(options, PC_CACHE_READ_ONLY);
  collect_keys(parse_report(store.describe())["files"], &stored);
  std::uint32_t n = 0;
  for (const std::string& key : keys) n += stored.count(key) != 0;
  return n;
}

// A module that cannot be stored is still good for the process that encoded
// it; for this verb, which is about storing, that is a failure.
void require_stored(const Keys& keys, const Options& options) {
  const std::uint32_t stored = count_stored(keys, options);
  if (stored == keys.size()) return;
  throw Failure(kModelOrStore,
                "only " + std::to_string(stored) + " of " + format_count(keys.size(), "module") +
                    " are stored: the store cannot be written, or --cache-size is less than the "
                    "schema takes; `promptcache check` says how much that is");
}

// The schema's modules as they stand, or those of the prompts that are named.
pc_encode_stats encode_what_is_asked(promptcache::Schema& schema, const Options& options,
                                     Keys* keys) {
  if (options.prompts.empty()) {
    const pc_encode_stats stats = encode_schema(schema, options.quiet);
    const Json report = parse_report(schema.describe());
    for (const char* kind : {"modules", "scaffolds"}) collect_keys(report[kind], keys);
    return stats;
  }
  pc_encode_stats sum{};
  for (const std::string& path : options.prompts) {
    const Document document = read_document(path);
    const promptcache::Prompt prompt = parse_prompt(schema, document);
    if (!options.quiet) print_remarks(prompt, document.name);
    add(encode_prompt(prompt, options), &sum);
    // What is together is found by prompts that are made once it is there.
    const promptcache::Prompt made = parse_prompt(schema, document);
    collect_keys(parse_report(made.explain())["modules"], keys);
  }
  sum.modules = static_cast<std::uint32_t>(keys->size());
  return sum;
}

}  // namespace

ExitCode encode(const Options& options) {
  Options storing = options;
  storing.require_cache = true;
  const promptcache::Engine engine = open_engine(storing, PC_CACHE_READ_WRITE);
  promptcache::Schema schema = load_schema(engine, options);
  Keys keys;
  const pc_encode_stats stats = encode_what_is_asked(schema, options, &keys);
  require_stored(keys, options);
  if (options.json) {
    print(Json::object()
              .set("modules", stats.modules)
              .set("modules_encoded", stats.modules_encoded)
              .set("tokens_computed", stats.tokens_computed)
              .set("bytes_stored", stats.bytes_stored)
              .set("microseconds", stats.microseconds)
              .dump() +
          "\n");
  } else if (!options.quiet) {
    print(std::to_string(stats.modules_encoded) + " of " + std::to_string(stats.modules) +
          " modules encoded: " + format_count(stats.tokens_computed, "token") + ", " +
          format_size(stats.bytes_stored) + ", " + format_duration(stats.microseconds) + "\n");
  }
  return kSuccess;
}

}  // namespace pc::cli
