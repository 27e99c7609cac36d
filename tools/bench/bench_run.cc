#include "tools/bench/bench_run.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <utility>

#include "tools/bench/bench_plan.h"
#include "tools/bench/bench_runner.h"
#include "tools/opening/open.h"

namespace pc::cli {
namespace {

// Of an engine that another one opened before made what every start makes, packed weights: it
// writes nothing, so that modules are in memory alone and none is left behind, however this ends. A
// namespace of its own keeps it from finding any. Of a model whose layers carry states what was
// said is kept, in files that go as others do.
promptcache::Engine open_to_measure(const Options& options, bool keeps) {
  Options again = options;
  again.cache_namespace = "promptcache bench";
  again.quiet = true;  // all was said
  return open_engine(again, keeps ? PC_CACHE_READ_WRITE : PC_CACHE_READ_ONLY);
}

// Of a model's largest matrices: "Q4_K+Q6_K".
std::string types_of(const Json& inspection) {
  std::string types;
  for (const Json& group : inspection["weights"].items()) {
    if (group["group"].text() != "feed-forward") continue;
    for (const Json& type : group["types"].items())
      types += (types.empty() ? "" : "+") + type.text();
  }
  std::transform(types.begin(), types.end(), types.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return types;
}

// Then packed weights have been verified, and stamped so where the store is written, and all that a
// token needs is in memory: nothing reads beside what is measured.
void settle(const promptcache::Engine& engine) {
  promptcache::SessionOptions once;
  once.max_tokens = 1;
  once.no_reuse = 1;
  const auto prompt = promptcache::Prompt::from_text(promptcache::Schema::plain(engine), "a");
  promptcache::Session(prompt, once).prefill();
}

BenchSubject subject_of(const promptcache::Engine& engine, const Json& inspection,
                        const Options& options) {
  const Json report = parse_report(engine.describe());
  const Json build = parse_report(promptcache::build_describe());
  const pc_engine_facts facts = engine.facts();
  BenchSubject s;
  s.build = build["version"].text();
  s.instruction_set = build["isa"]["selected"].text();
  s.compiler = build["compiler"].text();
  s.backend = report["backend"].text();
  s.model_path = options.model;
  s.model_type = report["family"].text() + " " + types_of(inspection);
  s.kv_type = report["kv_type"].text();
  s.precision = report["precision"].text();
  s.weight_bytes = facts.weight_bytes;
  s.n_parameters = facts.n_parameters;
  s.threads = static_cast<std::uint32_t>(report["threads"].number().value_or(1));
  s.facts = machine_facts("/");
  if (!options.bench.cpu_mask.empty()) s.cpu_mask = options.bench.cpu_mask;
  s.priority = options.bench.priority;
  s.warms_up = options.bench.warms_up;
  return s;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &utc)) std::strftime(text.data(), text.size(), "%FT%TZ", &utc);
  return text.data();
}

std::uint32_t count_tests(const auto& jobs) {
  std::size_t n = 0;
  for (const auto& job : jobs) n += job.tests.size();
  return static_cast<std::uint32_t>(n);
}

}  // namespace

std::vector<BenchRun::Job> BenchRun::jobs_of(const Options& options) {
  std::vector<Job> jobs;
  for (const BenchSetup& setup : bench_setups(options.bench)) {
    Job job{options, {}, {}};
    job.options.model = setup.model;
    job.options.kv_type = setup.kv_type;
    job.options.threads = setup.threads;
    job.inspection = parse_report(promptcache::model_inspect(engine_options(job.options)));
    const auto own = job.inspection["context_tokens"].number().value_or(0);
    const auto window = options.context != 0 ? options.context : static_cast<std::uint32_t>(own);
    job.tests = bench_cases(options.bench, window);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

BenchRun::BenchRun(const Options& options)
    : jobs_(jobs_of(options)),
      total_(count_tests(jobs_)),
      progress_(options.quiet, "measuring"),
      load_before_(load_average("/")) {}

void BenchRun::measure() {
  for (const Job& job : jobs_) measure(job);
}

BenchReports BenchRun::reports() const {
  BenchReports reports = reports_;
  std::erase_if(reports, [](const BenchReport& report) { return report.rows.empty(); });
  for (BenchReport& report : reports) {
    report.subject.load_before = load_before_;
    report.subject.load_after = load_average("/");
  }
  return reports;
}

void BenchRun::measure(const Job& job) {
  if (job.options.model != std::exchange(packed_, job.options.model))
    settle(open_engine(job.options, PC_CACHE_READ_WRITE));
  const bool keeps = job.inspection["recurrent_bytes"].number() > std::uint64_t{0};
  const promptcache::Engine engine = open_to_measure(job.options, keeps);
  if (job.options.bench.verbose) std::fprintf(stderr, "%s\n", engine.describe().c_str());
  settle(engine);
  reports_.push_back({subject_of(engine, job.inspection, job.options), {}});
  BenchSubject& subject = reports_.back().subject;
  if (!machines_.contains(subject.threads))
    machines_[subject.threads] = measure_machine(subject.threads);
  subject.machine = machines_[subject.threads];
  measure(engine, job, &reports_.back());
}

void BenchRun::measure(const promptcache::Engine& engine, const Job& job, BenchReport* report) {
  const BenchOptions& options = job.options.bench;
  const ModelBytes model = bytes_of_model(job.inspection);
  BenchRunner runner(engine, options.repetitions, options.warms_up);
  for (const BenchCase& test : job.tests) {
    progress_.show(done_, total_, name_of(test));
    runner.rest(options.delay);
    BenchRow row{runner.run(test), time_now(), {}};
    row.floor_seconds = floor_seconds(row.result.test, model, report->subject.machine);
    report->rows.push_back(std::move(row));
    progress_.show(++done_, total_, name_of(test));
  }
}

}  // namespace pc::cli
