// What does making room cost in a store of many files?
//
//   eviction_bench [--files N] [--repeat 5]
//
// Without --files: 1,000, 10,000 and 100,000. Stores of links of 16 tokens of a tiny model, whose
// inodes and pages are in memory, last used ten seconds apart. Each time a sixty-fourth of the
// files goes, as where a store of many files makes room: by the stamps alone, as the folder orders
// files that are all worth the same; by what they are worth, in a process that has read the head of
// no file yet; and in one that did so before. Milliseconds of the processor, medians and ranges.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/runs.h"
#include "bench/traces/trace.h"
#include "modules/module_image.h"
#include "modules/module_store.h"

namespace pc::bench {
namespace {

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

// So many files behind number `from`, with their stamps. Not by way of a store, which would sum the
// folder each time.
void fill(const std::string& dir, const CacheFolder& folder, const ModuleIdentity& model,
          std::uint32_t from, std::uint32_t n_files) {
  for (std::uint32_t i = from; i < from + n_files; ++i) {
    const ModuleHandle module = must(must(ModuleImage::create(link(model, i))).seal());
    const Digest& key = module->key().digest;
    must(folder.publish(key, module->bytes(), Durability::kNone));
    folder.mark_used(key);
    const auto used = std::filesystem::file_time_type::clock::now() -
                      std::chrono::seconds(10) * ((std::uint64_t{i} * 7919) % 100'000);
    std::filesystem::last_write_time(folder.path_of(key), used);
    std::filesystem::last_write_time(dir + "/v3/used/" + to_hex(key), used);
  }
}

void print(const char* what, std::uint32_t n_files, const Series& series) {
  std::printf("%8u files  %-40s %8.1f ms  (%.1f .. %.1f)\n", n_files, what, series.median(),
              series.quantile(0), series.quantile(1));
  std::fflush(stdout);
}

class Measured {
 public:
  Measured(std::uint32_t n_files, std::uint32_t repeat) : n_files_(n_files), repeat_(repeat) {
    fill(scratch_.path(), folder_, model_, 0, n_files);
    next_ = n_files;
  }

  void run() {
    Series by_stamps, first, again;
    for (std::uint32_t i = 0; i < repeat_; ++i) {
      by_stamps.add(timed(
          [&](std::uint64_t target) { return folder_.evict_to(target, std::chrono::seconds(1)); }));
      const auto store = open_store(scratch_.path());
      for (Series* series : {&first, &again})
        series->add(timed([&](std::uint64_t target) { return store->gc(target); }));
    }
    print("by stamps alone", n_files_, by_stamps);
    print("by worth, the first time in a process", n_files_, first);
    print("by worth, again", n_files_, again);
  }

 private:
  // As many files as went come anew.
  template <class Evict>
  double timed(Evict evict) {
    const std::uint64_t n_bytes = n_files_ * stored_size(link(model_, 0)).bytes;
    const std::clock_t begin = std::clock();
    const EvictionReport report = must(evict(n_bytes - n_bytes / 64));
    const std::clock_t end = std::clock();
    if (report.removed_files == 0) die("no file was evicted");
    const auto n_gone = static_cast<std::uint32_t>(report.removed_files);
    fill(scratch_.path(), folder_, model_, next_, n_gone);
    next_ += n_gone;
    return 1e3 * static_cast<double>(end - begin) / CLOCKS_PER_SEC;
  }

  const std::uint32_t n_files_, repeat_;
  std::uint32_t next_ = 0;  // the number of the next file
  const ScratchDir scratch_;
  const ModuleIdentity model_ = made_up_identity(KvGeometry(1, 1, 8, KvType::kBf16));
  const CacheFolder folder_ =
      must(CacheFolder::open(scratch_.path(), kModuleTenant, CacheAccess::kMakeAll));
};

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
  for (const std::uint32_t n_files : sizes) Measured(n_files, repeat).run();
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  return pc::bench::main_checked(argc, argv);
}
