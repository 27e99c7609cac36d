#include "tools/serve/service/metrics.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::serve {
namespace {

TEST_CASE("the page says what was counted, as Prometheus reads it") {
  Metrics metrics;
  metrics.count_response("/v1/models", 200);
  metrics.count_response("/v1/models", 200);
  metrics.count_response("other", 404);
  Usage usage;
  usage.prompt_tokens = 100;
  usage.cached_tokens = 90;
  usage.generated_tokens = 7;
  usage.first_token_us = 200'000;
  metrics.count_answer(usage);
  metrics.count_abandoned();
  pc_cache_counts cache{};
  cache.found = 5;
  metrics.count_ended(cache);  // of a model that went
  const std::string page = metrics.page(
      {2, 3},
      {{.name = "a", .is_loaded = true, .n_loads = 2, .n_modules_waiting = 4, .cache = cache},
       {.name = "a \"b\"", .cache = {}}});
  for (const char* line :
       {"promptcache_responses_total{route=\"/v1/models\",status=\"200\"} 2\n",
        "promptcache_responses_total{route=\"other\",status=\"404\"} 1\n",
        "promptcache_prompt_tokens_total 100\n", "promptcache_cached_tokens_total 90\n",
        "promptcache_generated_tokens_total 7\n", "promptcache_abandoned_total 1\n",
        "promptcache_answers_running 2\n", "promptcache_answers_waiting 3\n",
        "promptcache_first_token_seconds_bucket{le=\"0.1\"} 0\n",
        "promptcache_first_token_seconds_bucket{le=\"0.25\"} 1\n",
        "promptcache_first_token_seconds_bucket{le=\"+Inf\"} 1\n",
        "promptcache_first_token_seconds_count 1\n", "promptcache_modules_waiting 4\n",
        "promptcache_model_loaded{model=\"a\"} 1\n",
        "promptcache_model_loaded{model=\"a \\\"b\\\"\"} 0\n",
        "promptcache_model_loads_total{model=\"a\"} 2\n",
        "promptcache_modules_total{outcome=\"found\"} 10\n"})
    CHECK(page.find(line) != std::string::npos);
}

}  // namespace
}  // namespace pc::serve
