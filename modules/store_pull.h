// Modules of another store, copied into this one; and the list of a store's files, signed, by which
// somebody else can trust the copy.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "modules/module_store.h"

namespace pc {

struct PullReport {
  std::uint64_t n_copied = 0, copied_bytes = 0;
  std::uint64_t n_there = 0;                              // were there already
  std::vector<std::pair<ModuleKey, std::string>> failed;  // and why
};

// Copies these modules from the store in `from` (all that it has, where `keys` is empty), each
// verified whole and given its name at once, so that a pull which was ended goes on where it was;
// one that is here already need not be there.
// `trusted`: whose signature its list must have; empty: whoever is its owner is believed, who is to
// be this user or root. A module that cannot be had is reported, and the others are copied.
// Errors: kIo, kNotFound, where the other store cannot be listed, kIo, kBudget, where this one
// cannot take a file; kCancelled, where `progress`, which is told of files, stops it.
Result<PullReport> pull_modules(ModuleStore& store, const std::string& from,
                                const std::vector<PublicKey>& trusted,
                                std::span<const ModuleKey> keys, Progress progress = {});

// Writes the list of all the store's modules, every byte of which is verified, in its place in the
// store. private_key: the file of a key that signs it; "": nobody does. with: a manifest whose
// files are listed, too, and need not be here; of files that both have it is what counts; "": none.
// Gives the number of files listed. Errors: kMismatch, where private_key has not signed `with`;
// Manifest::read's and sign()'s; kCorrupt, of a damaged module; kIo; kCancelled.
Result<std::uint64_t> write_manifest(const ModuleStore& store, const std::string& private_key,
                                     const std::string& with, Progress progress = {});

// The keys in the list that a store's owner wrote to this file, sorted. kMismatch where `trusted`
// has keys and none of them signed it; Manifest::read's.
Result<std::vector<ModuleKey>> manifest_keys(const std::string& path,
                                             const std::vector<PublicKey>& trusted);

}  // namespace pc
