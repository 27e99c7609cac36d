#include "tools/bench/compare/comparison.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

using Rows = std::vector<ReportRow>;

// Fields that say how a row was measured, beside the numbers of its tokens.
constexpr const char* kModel[] = {"model_filename", "model_type", "model_size", "model_n_params"};
constexpr const char* kSettings[] = {
    "backends",   "n_threads",     "type_k",       "type_v",        "precision",
    "n_batch",    "n_ubatch",      "cpu_mask",     "cpu_strict",    "poll",
    "devices",    "n_gpu_layers",  "n_cpu_moe",    "split_mode",    "main_gpu",
    "flash_attn", "no_kv_offload", "tensor_split", "embeddings",    "tensor_buft_overrides",
    "load_mode",  "lazy_mode",     "use_mmap",     "no_op_offload", "no_host",
    "repack",     "fit_target",    "fit_min_ctx",  "prio",          "warmup"};
constexpr const char* kMachine[] = {"cpu_info", "gpu_info",     "n_cpus",
                                    "n_cores",  "n_sockets",    "kernel",
                                    "governor", "memory_bytes", "huge_pages"};
constexpr const char* kProgram[] = {"program", "isa", "compiler"};

std::string fact(const ReportRow& row, const std::string& field) {
  const auto found = row.facts.find(field);
  return found == row.facts.end() ? "" : found->second;
}

bool is_ours(const ReportRow& row) {
  return row.facts.contains("build_version");
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Models by the names of their files, since folders differ from machine to machine; by their whole
// paths where a report has two of one name.
Rows with_short_names(Rows rows) {
  std::map<std::string, std::set<std::string>> paths;  // of each name
  for (ReportRow& row : rows) {
    const auto path = row.facts.find("model_filename");
    if (path == row.facts.end()) continue;
    path->second = without_slashes(path->second);
    paths[last_part(path->second)].insert(path->second);
  }
  for (ReportRow& row : rows) {
    const auto path = row.facts.find("model_filename");
    if (path == row.facts.end()) continue;
    const std::string name = last_part(path->second);
    if (paths[name].size() == 1) path->second = name;
  }
  return rows;
}

// Each program has words of its own for what it is.
std::string value_of(const ReportRow& row, const std::string& field) {
  if (field != "program") return fact(row, field);
  return is_ours(row)
             ? "promptcache " + fact(row, "build_version")
             : "llama.cpp " + fact(row, "build_commit") + " (" + fact(row, "build_number") + ")";
}

std::set<std::string> values_of(const Rows& rows, const std::string& field) {
  std::set<std::string> values;
  for (const ReportRow& row : rows) values.insert(value_of(row, field));
  return values;
}

std::vector<std::string> varying(const Rows& a, const Rows& b) {
  std::vector<std::string> fields;
  const auto add = [&](const auto& names) {
    for (const char* const name : names)
      if (values_of(a, name).size() > 1 || values_of(b, name).size() > 1) fields.emplace_back(name);
  };
  add(kModel);
  add(kSettings);
  return fields;
}

std::string joined(const std::set<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : ", ") + value;
  return out;
}

// A field that one of both does not have says nothing of a difference.
void add_differences(const std::string& kind, const auto& fields, const Rows& a, const Rows& b,
                     const std::vector<std::string>& parameters, std::vector<Difference>* out) {
  for (const char* const field : fields) {
    if (std::find(parameters.begin(), parameters.end(), field) != parameters.end()) continue;
    const auto in_a = values_of(a, field), in_b = values_of(b, field);
    const bool of_one_program = is_ours(a.front()) == is_ours(b.front());
    if (field == std::string("model_type") && !of_one_program) continue;
    if (in_a != in_b && !in_a.contains("") && !in_b.contains(""))
      out->push_back({kind, field, joined(in_a), joined(in_b)});
  }
}

std::vector<Difference> differences_of(const Rows& a, const Rows& b,
                                       const std::vector<std::string>& parameters) {
  std::vector<Difference> differences;
  add_differences("machines", kMachine, a, b, parameters, &differences);
  add_differences("models", kModel, a, b, parameters, &differences);
  add_differences("programs", kProgram, a, b, parameters, &differences);
  add_differences("settings", kSettings, a, b, parameters, &differences);
  return differences;
}

double number(const ReportRow& row, const std::string& field) {
  double value = 0;
  const std::string text = fact(row, field);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Of the runs that are in a report, the busiest.
std::optional<Busy> busy(const Rows& rows) {
  std::optional<Busy> most;
  for (const ReportRow& row : rows) {
    const Busy now{number(row, "load_before"), number(row, "n_cpus")};
    if (now.n_cpus > 0 && now.load > now.n_cpus / 2 && now.load > (most ? most->load : 0))
      most = now;
  }
  return most;
}

// The same of rows that are alike.
std::string key_of(const ReportRow& row, const std::vector<std::string>& parameters) {
  std::string key = row.test;
  for (const std::string& value : parameter_values(row, parameters)) key += '\0' + value;
  return key;
}

// Each as often as it is there once, in the order of the first of them.
Rows gathered(const Rows& rows, const std::vector<std::string>& parameters) {
  Rows out;
  std::map<std::string, std::size_t> places;
  for (const ReportRow& row : rows) {
    const auto [place, is_new] = places.emplace(key_of(row, parameters), out.size());
    if (is_new) {
      out.push_back(row);
      continue;
    }
    Samples& seconds = out[place->second].seconds;
    seconds.insert(seconds.end(), row.seconds.begin(), row.seconds.end());
    if (seconds.size() > kMostSamples)
      throw Failure(kFailure, row.test + " has more than " + std::to_string(kMostSamples) +
                                  " samples in one report: compare parts of it");
  }
  return out;
}

// Rows of both that are alike become pairs; the others are kept beside them.
void pair_up(const Rows& a, const Rows& b, Comparison* c) {
  std::map<std::string, std::size_t> places;  // in b, of rows that are not in a pair
  for (const ReportRow& row : b) places.emplace(key_of(row, c->parameters), places.size());
  for (const ReportRow& row : a) {
    const auto place = places.find(key_of(row, c->parameters));
    if (place == places.end()) {
      c->only_a.push_back(row);
      continue;
    }
    RowPair pair;
    pair.a = row;
    pair.b = b[place->second];
    c->pairs.push_back(std::move(pair));
    places.erase(place);
  }
  for (const ReportRow& row : b)
    if (places.contains(key_of(row, c->parameters))) c->only_b.push_back(row);
}

void judge(std::vector<RowPair>* pairs) {
  std::vector<double> chances;
  for (RowPair& pair : *pairs) {
    // A speed is what a time goes into: that of b is a's time by b's.
    pair.speed = ratio_of(pair.b.seconds, pair.a.seconds);
    chances.push_back(rank_test(pair.a.seconds, pair.b.seconds));
  }
  chances = corrected(chances);
  const auto n = static_cast<double>(pairs->size());
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    RowPair& pair = (*pairs)[i];
    using Verdict = RowPair::Verdict;
    pair.chance = chances[i];
    if (pair.chance <= kLevel)
      pair.verdict = pair.speed.middle < 1 ? Verdict::kSlower : Verdict::kFaster;
    else if (least_chance(pair.a.seconds.size(), pair.b.seconds.size()) * n > kLevel)
      pair.verdict = Verdict::kTooFewSamples;
  }
}

std::size_t samples_needed(const std::vector<RowPair>& pairs) {
  const bool too_few = std::any_of(pairs.begin(), pairs.end(), [](const RowPair& pair) {
    return pair.verdict == RowPair::Verdict::kTooFewSamples;
  });
  if (!too_few) return 0;
  std::size_t n = 1;
  while (least_chance(n, n) * static_cast<double>(pairs.size()) > kLevel) ++n;
  return n;
}

}  // namespace

std::vector<std::string> parameter_values(const ReportRow& row,
                                          const std::vector<std::string>& parameters) {
  std::vector<std::string> values;
  for (const std::string& field : parameters) values.push_back(value_of(row, field));
  return values;
}

Comparison compare_reports(const Rows& before, const Rows& after) {
  const Rows a = with_short_names(before), b = with_short_names(after);
  Comparison c;
  c.parameters = varying(a, b);
  c.differences = differences_of(a, b, c.parameters);
  c.busy_a = busy(a);
  c.busy_b = busy(b);
  pair_up(gathered(a, c.parameters), gathered(b, c.parameters), &c);
  judge(&c.pairs);
  c.samples_needed = samples_needed(c.pairs);
  return c;
}

}  // namespace pc::cli
