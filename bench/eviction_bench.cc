// What does making room cost in a store of many files?
//
//   eviction_bench [--files N] [--repeat 5]
//
// Without --files: 1,000, 10,000 and 100,000. Stores of links of 16 tokens of a tiny model,
// published as ever but for their durability, whose inodes and pages are in memory. Each time room
// is made for one file: by the stamps alone, as the folder orders files that are all worth the
// same; by what they are worth, in a process that has to read the head of each file first; and in
// one that did so before. Milliseconds, medians and ranges.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/runs.h"
#include "bench/traces/trace.h"
#include "modules/module_image.h"
#include "modules/module_store.h"

namespace pc::bench {
namespace {

using Clock = std::chrono::steady_clock;

ModuleIdentity link(const ModuleIdentity& model, std::uint32_t i) {
  ModuleIdentity identity = model;
  identity.attend = kLinkAttend;
  identity.context.fill(1);
  identity.runs = {{std::vector<std::int32_t>(16, static_cast<std::int32_t>(i)),
                    static_cast<std::int32_t>(i % 100'000), true}};
  return identity;
}

std::unique_ptr<ModuleStore> open_store(const std::string& dir) {
  return must(ModuleStore::open(
      {.dir = dir, .budget_bytes = std::uint64_t{1} << 60, .durability = Durability::kNone}));
}

void fill(ModuleStore& store, const ModuleIdentity& model, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i < to; ++i)
    must(store.publish(must(must(ModuleImage::create(link(model, i))).seal())));
}

// Makes room for one file more. Milliseconds.
template <class Evict>
double timed(std::uint64_t n_files, std::uint64_t file_bytes, Evict evict) {
  const auto begin = Clock::now();
  const EvictionReport report = must(evict((n_files - 1) * file_bytes));
  const std::chrono::duration<double, std::milli> ms = Clock::now() - begin;
  if (report.removed_files != 1) die("not one file was evicted");
  return ms.count();
}

void print(const char* what, std::uint32_t n_files, const Series& series) {
  std::printf("%8u files  %-40s %8.1f ms  (%.1f .. %.1f)\n", n_files, what, series.median(),
              series.quantile(0), series.quantile(1));
  std::fflush(stdout);
}

void measure(std::uint32_t n_files, std::uint32_t repeat) {
  const ScratchDir scratch;
  const ModuleIdentity model = made_up_identity(KvGeometry(1, 1, 8, KvType::kBf16));
  const std::uint64_t file_bytes = stored_size(link(model, 0)).bytes;
  std::uint32_t next = n_files;  // a file for each that went
  fill(*open_store(scratch.path()), model, 0, n_files);
  const CacheFolder folder =
      must(CacheFolder::open(scratch.path(), kModuleTenant, CacheAccess::kWrite));
  Series by_stamps, first, again;
  const std::chrono::seconds patience(1);
  for (std::uint32_t i = 0; i < repeat; ++i) {
    by_stamps.add(timed(n_files, file_bytes,
                        [&](std::uint64_t target) { return folder.evict_to(target, patience); }));
    const auto store = open_store(scratch.path());
    const auto gc = [&](std::uint64_t target) { return store->gc(target); };
    fill(*store, model, next, next + 1), ++next;
    first.add(timed(n_files, file_bytes, gc));
    fill(*store, model, next, next + 1), ++next;
    again.add(timed(n_files, file_bytes, gc));
    fill(*store, model, next, next + 1), ++next;
  }
  print("by stamps alone", n_files, by_stamps);
  print("by worth, the first time in a process", n_files, first);
  print("by worth, again", n_files, again);
}

int main_checked(int argc, char** argv) {
  std::vector<std::uint32_t> sizes{1000, 10'000, 100'000};
  std::uint32_t repeat = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--files")
      sizes = {static_cast<std::uint32_t>(std::max(2, std::atoi(argv[i + 1])))};
    else if (name == "--repeat")
      repeat = static_cast<std::uint32_t>(std::max(1, std::atoi(argv[i + 1])));
    else
      die("eviction_bench [--files N] [--repeat 5]");
  }
  for (const std::uint32_t n_files : sizes) measure(n_files, repeat);
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(argc, argv);
}
