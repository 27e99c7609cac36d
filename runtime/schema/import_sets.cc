#include "runtime/schema/import_sets.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "runtime/schema/schema_record.h"

namespace pc {
namespace {

constexpr std::string_view kKind = "imports", kPrompts = "prompts";
// Of a record; beyond, the rarest are forgotten. Above what a schema's prompts have, as a rule, and
// at 1 KiB a set within a record.
constexpr std::size_t kMostSets = 48;
constexpr std::size_t kMostSetBytes = 1024;
// In memory, between two times that they are written down, or where they cannot be: half of them
// stay then.
constexpr std::size_t kMostNewSets = 512;

constexpr std::uint64_t kLeastPrompts = 4, kLeastShare = 10;  // one in ten
constexpr std::size_t kMostFrequent = 3;

using Counted = std::pair<ImportSet, std::uint64_t>;

// By count, and among equals by name, so that reports do not change for nothing.
std::vector<Counted> by_count(const ImportCounts& counts) {
  std::vector<Counted> sets(counts.sets.begin(), counts.sets.end());
  std::ranges::stable_sort(sets, std::greater<>(), &Counted::second);
  return sets;
}

std::string line_of(const Counted& counted) {
  std::string line = std::to_string(counted.second);
  for (const std::string& path : counted.first) line += " " + path;
  return line + "\n";
}

std::string body_of(const ImportCounts& counts) {
  std::string body = line_of({{std::string(kPrompts)}, counts.n_prompts});
  std::size_t n_sets = 0;
  for (const Counted& counted : by_count(counts)) {
    const std::string line = line_of(counted);
    if (line.size() > kMostSetBytes) continue;
    if (n_sets++ == kMostSets) break;
    body += line;
  }
  return body;
}

// "12 oslo lisbon"; false where it is not of this form.
bool read_line(std::string_view line, Counted* counted) {
  const auto [end, failure] =
      std::from_chars(line.data(), line.data() + line.size(), counted->second);
  if (failure != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  counted->first.clear();
  while (!line.empty()) {
    if (line.front() != ' ') return false;
    line.remove_prefix(1);
    const std::size_t size = std::min(line.find(' '), line.size());
    if (size == 0) return false;
    counted->first.emplace_back(line.substr(0, size));
    line.remove_prefix(size);
  }
  return !counted->first.empty();
}

}  // namespace

void ImportCounts::add(const ImportCounts& more) {
  n_prompts += more.n_prompts;
  for (const auto& [set, n] : more.sets) sets[set] += n;
}

ImportCounts recall_imports(const Digest& key, const std::string& cache_dir) {
  ImportCounts counts;
  if (cache_dir.empty()) return counts;
  const auto body = recall_record(kKind, key, cache_dir);
  if (!body) return counts;
  for (std::size_t begin = 0; begin < body->size();) {
    const std::size_t end = std::min(body->find('\n', begin), body->size());
    Counted counted;
    if (!read_line(std::string_view(*body).substr(begin, end - begin), &counted)) return {};
    if (begin == 0)
      counts.n_prompts = counted.second;
    else
      counts.sets.insert(std::move(counted));
    begin = end + 1;
  }
  return counts;
}

ImportSets::~ImportSets() {
  const MutexLock lock(mutex_);
  if (new_.n_prompts == 0) return;
  try {
    write_down();
  } catch (const std::bad_alloc&) {  // the counts of a minute are lost
  }
}

void ImportSets::add(const ImportSet& set) {
  PC_EXPECT(set.size() >= 2);
  const MutexLock lock(mutex_);
  ++new_.n_prompts;
  ++new_.sets[set];
  if (new_.sets.size() > kMostNewSets) forget_rare();
  if (std::chrono::steady_clock::now() - written_ >= kGrain) write_down();
}

void ImportSets::forget_rare() {
  std::vector<Counted> sets = by_count(new_);
  sets.resize(kMostNewSets / 2);
  new_.sets = {sets.begin(), sets.end()};
}

// What cannot be written down is counted on.
void ImportSets::write_down() {
  written_ = std::chrono::steady_clock::now();
  if (cache_dir_.empty()) return;
  ImportCounts all = recall_imports(key_, cache_dir_);
  all.add(new_);
  if (remember_record(kKind, key_, body_of(all), cache_dir_)) new_ = {};
}

ImportCounts ImportSets::counts() const {
  ImportCounts all = recall_imports(key_, cache_dir_);
  const MutexLock lock(mutex_);
  all.add(new_);
  return all;
}

std::vector<Counted> frequent_sets(const ImportCounts& counts) {
  std::vector<Counted> frequent;
  for (Counted& counted : by_count(counts))
    if (frequent.size() < kMostFrequent && counted.second >= kLeastPrompts &&
        counted.second * kLeastShare >= counts.n_prompts)
      frequent.push_back(std::move(counted));
  return frequent;
}

}  // namespace pc
