#include <set>
#include <string>

#include "tools/interrupt.h"
#include "tools/json.h"
#include "tools/open.h"
#include "tools/progress.h"
#include "tools/sizes.h"
#include "tools/verbs.h"

namespace pc::cli {
namespace {

pc_encode_stats encode_with_progress(promptcache::Schema& schema, bool quiet) {
  Progress progress(quiet);
  const Interruptible interruptible;
  return schema.encode([&](std::uint32_t done, std::uint32_t total, const char* module) {
    progress.show(done, total, module);
    return !interruptible.requested();
  });
}

// How many of the schema's modules and scaffolds the store holds now.
std::uint32_t count_stored(const promptcache::Schema& schema, const Options& options) {
  std::set<std::string> stored;
  const promptcache::Store store = open_store(options, PC_CACHE_READ_ONLY);
  for (const Json& file : Json::parse(store.describe())["files"].items())
    stored.insert(file["key"].text());
  const Json report = Json::parse(schema.describe());
  std::uint32_t n = 0;
  for (const char* kind : {"modules", "scaffolds"})
    for (const Json& module : report[kind].items()) n += stored.count(module["key"].text()) != 0;
  return n;
}

// A module that cannot be stored is still good for the process that encoded
// it; for this verb, which is about storing, that is a failure.
void require_stored(const promptcache::Schema& schema, const Options& options,
                    std::uint32_t modules) {
  const std::uint32_t stored = count_stored(schema, options);
  if (stored == modules) return;
  throw Failure(kModelOrStore,
                "only " + std::to_string(stored) + " of " + format_count(modules, "module") +
                    " are stored: the store cannot be written, or --cache-size is less than the "
                    "schema takes; `promptcache check` says how much that is");
}

}  // namespace

ExitCode encode(const Options& options) {
  const promptcache::Engine engine = open_engine(options, PC_CACHE_READ_WRITE);
  promptcache::Schema schema = load_schema(engine, options);
  const pc_encode_stats stats = encode_with_progress(schema, options.quiet);
  require_stored(schema, options, stats.modules);
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
