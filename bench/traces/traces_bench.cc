// Which files should a store lose first? A published trace against a simulated store, by policy and
// by budget.
//
//   traces_bench TRACE.jsonl [--budgets 1,2,5,10,25,50,100] [--policies lru,worth,...]
//                [--shape 22x4x64] [--rates 512:289.6,4096:234.7] [--longest 0] [--json FILE]
//
// Budgets are per cent of the trace's working set: the bytes of all its links. The shape is
// layers x K/V heads x dimensions of bf16 states, the rates are two lengths of a prefill and their
// tokens a second: by default both TinyLlama-1.1B's in Q4_0, from
// bench/results/amd-epyc-family-25-model-17.md. Requests of more than --longest tokens are left
// out. Of each run: tokens found, seconds of computing saved, the same where only what stands
// before the first hole counts, bytes written. The keys, the cut into links, the sizes and the
// store's own order are the product's code (bench/traces/).

#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"
#include "bench/traces/replay.h"
#include "runtime/json/json_writer.h"

namespace pc::bench {
namespace {

struct Options {
  std::string trace, budgets = "1,2,5,10,25,50,100", policies, shape = "22x4x64",
                     rates = "512:289.6,4096:234.7", json;
  std::uint32_t longest = 0;  // tokens of a request; 0: any
};

std::vector<std::string> parts(const std::string& text, char between) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, between);) all.push_back(one);
  return all;
}

double positive(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !(value > 0))
    die("'" + text + "' is not a number above 0");
  return value;
}

KvGeometry geometry_of(const std::string& shape) {
  const std::vector<std::string> sizes = parts(shape, 'x');
  if (sizes.size() != 3) die("--shape takes LAYERSxHEADSxDIMENSIONS, not " + shape);
  const auto size = [&](int i) { return static_cast<std::uint32_t>(positive(sizes[i])); };
  const KvGeometry geometry(size(0), size(1), size(2), KvType::kBf16);
  if (const Status fits = check_geometry(geometry); !fits.ok()) die(fits.error().message);
  return geometry;
}

PrefillRate rate_of(const std::string& text) {
  const std::vector<std::string> numbers = parts(text, ':');
  if (numbers.size() != 2) die("--rates takes TOKENS:RATE,TOKENS:RATE, not " + text);
  return {positive(numbers[0]), positive(numbers[1])};
}

Costs costs_of(const std::string& rates) {
  const std::vector<std::string> both = parts(rates, ',');
  if (both.size() != 2) die("--rates takes two of TOKENS:RATE, not " + rates);
  const PrefillRate one = rate_of(both[0]), other = rate_of(both[1]);
  if (one.n_tokens == other.n_tokens) die("--rates takes two lengths that differ");
  return Costs::of(one, other);
}

std::vector<PolicyKind> policies_of(const std::string& names) {
  if (names.empty()) return {policy_kinds().begin(), policy_kinds().end()};
  std::vector<PolicyKind> kinds;
  for (const std::string& name : parts(names, ',')) {
    const PolicyKind* kind = find_policy(name);
    if (!kind) die("no policy " + name);
    kinds.push_back(*kind);
  }
  return kinds;
}

double part(double of_it, double all) {
  return all > 0 ? 100 * of_it / all : 0;
}

void print(double budget, const PolicyKind& kind, const Outcome& o) {
  const auto tokens = static_cast<double>(o.tokens);
  std::printf("%7.1f %-16s %7.2f %7.2f %7.2f %7.2f %10.1f %9llu\n", budget, kind.name.data(),
              part(static_cast<double>(o.found_tokens), tokens),
              part(o.full_s - o.computed_s, o.full_s),
              part(static_cast<double>(o.leading_tokens), tokens),
              part(o.full_s - o.computed_behind_s, o.full_s),
              static_cast<double>(o.written_bytes) / 1e9, static_cast<unsigned long long>(o.holes));
  std::fflush(stdout);
}

void write(JsonWriter& json, double budget, const PolicyKind& kind, const Outcome& o) {
  json.begin_object().key("budget_percent").value(budget).key("policy").value(kind.name);
  json.key("tokens").value(o.tokens).key("found_tokens").value(o.found_tokens);
  json.key("leading_tokens").value(o.leading_tokens);
  json.key("full_s").value(o.full_s).key("computed_s").value(o.computed_s);
  json.key("computed_behind_s").value(o.computed_behind_s);
  json.key("written_bytes").value(o.written_bytes).key("removed_files").value(o.removed_files);
  json.key("refused_files").value(o.refused_files).key("listings").value(o.listings);
  json.key("holes").value(o.holes).end_object();
}

Trace trace_of(const Options& a) {
  std::vector<TraceLine> lines = must(read_trace(a.trace));
  if (a.longest > 0)
    std::erase_if(lines, [&](const TraceLine& line) { return line.n_tokens > a.longest; });
  return make_trace(lines, made_up_identity(geometry_of(a.shape)));
}

int main_checked(const Options& a) {
  const Costs costs = costs_of(a.rates);
  const std::vector<PolicyKind> kinds = policies_of(a.policies);
  const Trace trace = trace_of(a);
  std::printf(
      "%zu requests, %llu tokens, %zu links of %.1f GB; a token costs %.3f ms and %.4f us "
      "for each that it sees\n",
      trace.requests.size(), static_cast<unsigned long long>(trace.n_tokens()), trace.links.size(),
      static_cast<double>(trace.n_bytes()) / 1e9, 1e3 * costs.token_s, 1e6 * costs.depth_s);
  std::printf("%7s %-16s %7s %7s %7s %7s %10s %9s\n", "budget%", "policy", "found%", "saved%",
              "lead%", "saved%", "GB written", "holes");
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("requests").value(std::uint64_t{trace.requests.size()});
  json.key("links").value(std::uint64_t{trace.links.size()});
  json.key("working_set_bytes").value(trace.n_bytes()).key("token_s").value(costs.token_s);
  json.key("depth_s").value(costs.depth_s).key("runs").begin_array();
  for (const std::string& percent : parts(a.budgets, ',')) {
    const double budget = positive(percent);
    ReplayOptions options;
    options.budget_bytes =
        static_cast<std::uint64_t>(budget / 100 * static_cast<double>(trace.n_bytes()));
    for (const PolicyKind& kind : kinds) {
      const Outcome outcome = replay(trace, costs, kind, options);
      print(budget, kind, outcome);
      write(json, budget, kind, outcome);
    }
  }
  json.end_array().end_object();
  if (!a.json.empty()) std::ofstream(a.json) << text << "\n";
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  pc::bench::Options a;
  a.trace = pc::bench::Arguments(
                "traces_bench TRACE.jsonl [--budgets 1,10,50] [--policies lru,worth] "
                "[--shape 22x4x64] [--rates 512:289.6,4096:234.7] [--longest 0] [--json FILE]")
                .text("--budgets", &a.budgets)
                .text("--policies", &a.policies)
                .text("--shape", &a.shape)
                .text("--rates", &a.rates)
                .number("--longest", &a.longest)
                .text("--json", &a.json)
                .parse(argc, argv);
  return pc::bench::main_checked(a);
}
