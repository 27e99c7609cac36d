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

}  // namespace

ExitCode encode(const Options& options) {
  const promptcache::Engine engine = open_engine(options, PC_CACHE_READ_WRITE);
  promptcache::Schema schema = load_schema(engine, options);
  const pc_encode_stats stats = encode_with_progress(schema, options.quiet);
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
