// Which modules prompts import together although none has seen the others: what a scaffold
// (docs/PML.md, 4.5) could be written for.
//
// Counted in memory, and added now and then to a record (runtime/schema/schema_record.h) of the
// kind "imports":
//
//   prompts 40
//   12 oslo lisbon europe/vienna
//
// Of processes that add at the same moment one may be lost: these are counts to look at. No text of
// a prompt is kept, only names that the schema has. Of many different sets, the rarest are
// forgotten: neither memory nor the record grows with prompts.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"  // Digest
#include "base/mutex.h"

namespace pc {

// Paths of modules, in document order.
using ImportSet = std::vector<std::string>;

struct ImportCounts {
  std::uint64_t n_prompts = 0;  // that imported several modules side by side
  std::map<ImportSet, std::uint64_t> sets;

  void add(const ImportCounts& more);
};

// None where there is no record.
ImportCounts recall_imports(const Digest& key, const std::string& cache_dir);

class ImportSets {
 public:
  // How often counts are written down, at most.
  static constexpr std::chrono::minutes kGrain{1};

  // cache_dir "": nothing is written down.
  ImportSets(const Digest& key, std::string cache_dir)
      : key_(key), cache_dir_(std::move(cache_dir)) {}
  ~ImportSets();  // writes down what is left
  ImportSets(const ImportSets&) = delete;
  ImportSets& operator=(const ImportSets&) = delete;

  // A prompt imported these. Precondition: two at least.
  void add(const ImportSet& set);

  // All that are known, those of other processes included.
  ImportCounts counts() const;

 private:
  void forget_rare() PC_REQUIRES(mutex_);
  void write_down() PC_REQUIRES(mutex_);

  const Digest key_;
  const std::string cache_dir_;
  mutable Mutex mutex_;
  ImportCounts new_ PC_GUARDED_BY(mutex_);  // not written down yet
  std::chrono::steady_clock::time_point written_ PC_GUARDED_BY(mutex_) =
      std::chrono::steady_clock::now();
};

// Sets that are worth a scaffold, the most frequent first: of at least four prompts, and a tenth of
// all; no more than three.
std::vector<std::pair<ImportSet, std::uint64_t>> frequent_sets(const ImportCounts& counts);

}  // namespace pc
