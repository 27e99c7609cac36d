// What a check of answers chose for a model and a schema, kept from run to run: the repair that
// repair="auto" stands for. A record (runtime/schema/schema_record.h) of the kind "answers", with
// one line:
//
//   answers kept by leading:16
//
// (A line "repair leading:16" was written by checks that compared tokens, and is no verdict.)
//
// It stays until the next check: a verdict is about how a model bears reuse, and holds while the
// schema's texts change. Threads and processes: any.
#pragma once

#include <optional>
#include <string>

#include "base/hash.h"  // Digest
#include "pml/syntax/repair.h"

namespace pc {

// None where there is no record.
std::optional<pml::Repair> recall_verdict(const Digest& key, const std::string& cache_dir);

// False: it could not be written.
bool remember_verdict(const Digest& key, const pml::Repair& repair, const std::string& cache_dir);

}  // namespace pc
