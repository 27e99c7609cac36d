#include "tools/serve/service/metrics.h"

#include <algorithm>
#include <cstdio>

namespace pc::serve {
namespace {

class Page {
 public:
  void describe(const char* name, const char* type, const char* help) {
    text_ += std::string("# HELP promptcache_") + name + " " + help + "\n# TYPE promptcache_" +
             name + " " + type + "\n";
  }
  void value(const std::string& name, double value, const std::string& labels = {}) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    text_ +=
        "promptcache_" + name + (labels.empty() ? "" : "{" + labels + "}") + " " + digits + "\n";
  }
  void count(const char* name, const char* help, std::uint64_t n) {
    describe(name, "counter", help);
    value(name, static_cast<double>(n));
  }
  void gauge(const char* name, const char* help, std::size_t n) {
    describe(name, "gauge", help);
    value(name, static_cast<double>(n));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string label(const char* name, const std::string& value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return std::string(name) + "=\"" + escaped + "\"";
}

// lost_mappings is the process's already.
void add(const pc_cache_counts& more, pc_cache_counts* sum) {
  using Count = std::uint64_t pc_cache_counts::*;
  for (const Count count :
       {&pc_cache_counts::held, &pc_cache_counts::found, &pc_cache_counts::not_encoded,
        &pc_cache_counts::corrupt, &pc_cache_counts::other_version, &pc_cache_counts::mismatch,
        &pc_cache_counts::unreadable, &pc_cache_counts::no_store, &pc_cache_counts::found_behind,
        &pc_cache_counts::found_behind_bytes, &pc_cache_counts::failed_behind,
        &pc_cache_counts::evicted_files, &pc_cache_counts::set_aside_files})
    sum->*count += more.*count;
  sum->lost_mappings = std::max(sum->lost_mappings, more.lost_mappings);
}

void add_models(const std::vector<ModelGauges>& models, Page* page) {
  std::size_t n_modules_waiting = 0;
  for (const ModelGauges& model : models) n_modules_waiting += model.n_modules_waiting;
  page->gauge("modules_waiting", "Prompts that are encoded or computed when nobody waits.",
              n_modules_waiting);
  page->describe("model_loaded", "gauge", "Is this model in memory?");
  for (const ModelGauges& model : models)
    page->value("model_loaded", model.is_loaded, label("model", model.name));
  page->describe("model_loads_total", "counter", "How often this model was loaded.");
  for (const ModelGauges& model : models)
    page->value("model_loads_total", static_cast<double>(model.n_loads),
                label("model", model.name));
}

void add_cache(const pc_cache_counts& cache, Page* page) {
  const std::pair<const char*, std::uint64_t> outcomes[] = {
      {"held", cache.held},
      {"found", cache.found},
      {"not_encoded", cache.not_encoded},
      {"corrupt", cache.corrupt},
      {"other_version", cache.other_version},
      {"mismatch", cache.mismatch},
      {"unreadable", cache.unreadable},
      {"no_store", cache.no_store},
  };
  page->describe("modules_total", "counter", "Modules asked for, by how they were come by.");
  for (const auto& [outcome, n] : outcomes)
    page->value("modules_total", static_cast<double>(n), label("outcome", outcome));
  page->count(
      "modules_found_behind_total",
      "Look-ups that stores of --cache-from answered; a module may be looked up more than once.",
      cache.found_behind);
  page->count("modules_found_behind_bytes_total", "Bytes of those.", cache.found_behind_bytes);
  page->count("modules_failed_behind_total", "Listed in such a store, and not to be had.",
              cache.failed_behind);
  page->count("evicted_files_total", "Files removed for the budget.", cache.evicted_files);
  page->count("set_aside_files_total", "Damaged files moved out of the way.",
              cache.set_aside_files);
  page->count("lost_mappings_total", "Files that were cut short while in use.",
              cache.lost_mappings);
}

}  // namespace

void Metrics::count_response(const std::string& route, int status) {
  const MutexLock lock(mutex_);
  ++responses_[{route, status}];
}

void Metrics::count_answer(const Usage& usage) {
  const MutexLock lock(mutex_);
  ++n_answers_;
  total_.prompt_tokens += usage.prompt_tokens;
  total_.cached_tokens += usage.cached_tokens;
  total_.written_tokens += usage.written_tokens;
  total_.generated_tokens += usage.generated_tokens;
  total_.drafted_tokens += usage.drafted_tokens;
  total_.right_drafts += usage.right_drafts;
  const double seconds = static_cast<double>(usage.first_token_us) / 1e6;
  first_token_seconds_ += seconds;
  for (std::size_t i = 0; i < kBuckets.size(); ++i)
    if (seconds <= kBuckets[i]) {
      ++first_tokens_[i];
      break;
    }
}

void Metrics::count_abandoned() {
  const MutexLock lock(mutex_);
  ++n_abandoned_;
}

void Metrics::count_prepared(std::uint64_t n_tokens) {
  const MutexLock lock(mutex_);
  ++n_prepared_;
  n_prepared_tokens_ += n_tokens;
}

void Metrics::count_prepared_used(std::uint64_t n_tokens) {
  const MutexLock lock(mutex_);
  ++n_used_;
  n_used_tokens_ += n_tokens;
}

void Metrics::count_ended(const pc_cache_counts& cache) {
  const MutexLock lock(mutex_);
  add(cache, &ended_);
}

std::string Metrics::page(const Gauges& gauges, const std::vector<ModelGauges>& models) const {
  const MutexLock lock(mutex_);
  Page page;
  page.describe("responses_total", "counter", "Responses, by route and status.");
  for (const auto& [key, n] : responses_)
    page.value("responses_total", static_cast<double>(n),
               label("route", key.first) + "," + label("status", std::to_string(key.second)));
  page.count("abandoned_total", "Answers whose client left before their end.", n_abandoned_);
  page.count("prompt_tokens_total", "Tokens of prompts.", total_.prompt_tokens);
  page.count("cached_tokens_total", "Of these, tokens that were not computed.",
             total_.cached_tokens);
  page.count("written_tokens_total", "Tokens that the store was given.", total_.written_tokens);
  page.count("generated_tokens_total", "Tokens of answers.", total_.generated_tokens);
  page.count("drafted_tokens_total", "Tokens that were computed before they were drawn.",
             total_.drafted_tokens);
  page.count("right_drafts_total", "Of these, tokens that were drawn.", total_.right_drafts);
  page.count("prepared_turns_total", "Next turns that were made ready while nobody waited.",
             n_prepared_);
  page.count("prepared_tokens_total", "Tokens that were computed for these.", n_prepared_tokens_);
  page.count("prepared_turns_used_total", "Of these turns, those whose conversation went on.",
             n_used_);
  page.count("prepared_tokens_used_total", "Tokens that were computed for those.", n_used_tokens_);
  page.gauge("answers_running", "Answers that are being made.", gauges.n_running);
  page.gauge("answers_waiting", "Requests that wait for their turn.", gauges.n_waiting);
  add_models(models, &page);
  page.describe("first_token_seconds", "histogram", "From the start of an answer's work.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    char end[16];
    std::snprintf(end, sizeof end, "%g", kBuckets[i]);
    below += first_tokens_[i];
    page.value("first_token_seconds_bucket", static_cast<double>(below), label("le", end));
  }
  page.value("first_token_seconds_bucket", static_cast<double>(n_answers_), label("le", "+Inf"));
  page.value("first_token_seconds_sum", first_token_seconds_);
  page.value("first_token_seconds_count", static_cast<double>(n_answers_));
  pc_cache_counts cache = ended_;
  for (const ModelGauges& model : models) add(model.cache, &cache);
  add_cache(cache, &page);
  return page.text();
}

}  // namespace pc::serve
