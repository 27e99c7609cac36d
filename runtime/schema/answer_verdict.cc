#include "runtime/schema/answer_verdict.h"

#include <string_view>

#include "runtime/schema/schema_record.h"

namespace pc {
namespace {

constexpr std::string_view kKind = "answers", kRepair = "answers kept by ";

}  // namespace

std::optional<pml::Repair> recall_verdict(const Digest& key, const std::string& cache_dir) {
  const auto body = recall_record(kKind, key, cache_dir);
  if (!body || !body->starts_with(kRepair) || body->find('\n') != body->size() - 1)
    return std::nullopt;
  const auto repair =
      pml::parse_repair(body->substr(kRepair.size(), body->size() - kRepair.size() - 1));
  // "auto" would stand for itself.
  if (!repair.ok() || repair->kind == pml::Repair::Kind::kAuto) return std::nullopt;
  return *repair;
}

bool remember_verdict(const Digest& key, const pml::Repair& repair, const std::string& cache_dir) {
  return remember_record(kKind, key, std::string(kRepair) + pml::to_string(repair) + "\n",
                         cache_dir);
}

}  // namespace pc
