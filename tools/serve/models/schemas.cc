#include "tools/serve/models/schemas.h"

#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

ApiError not_found(const std::string& name, const std::string& param) {
  return {404, "invalid_request_error",
          "there is no schema \"" + name + "\" here; POST /pml/schemas keeps one", param,
          "schema_not_found"};
}

ApiError no_room(const std::string& name, const std::string& most) {
  return {400, "invalid_request_error",
          "no room for schema \"" + name + "\": this server keeps " + most + "; delete another one",
          "schema", "schema_limit_exceeded"};
}

}  // namespace

void Schemas::keep(const std::string& name, Handle schema, std::string pml) {
  const MutexLock lock(mutex_);
  std::size_t n_others = 0, n_all_bytes = pml.size();
  for (const auto& [other, kept] : kept_) {
    if (other == name) continue;
    ++n_others;
    n_all_bytes += kept.pml.size();
  }
  if (n_others >= kMost) throw no_room(name, std::to_string(kMost) + " schemas");
  if (n_all_bytes > kMostBytes)
    throw no_room(name, std::to_string(kMostBytes >> 20) + " MiB of schemas");
  kept_[name] = {std::move(schema), std::move(pml)};
}

const Schemas::Handle& Schemas::made(Kept* kept, const Make& make) {
  if (!kept->schema) kept->schema = make(kept->pml);
  return *kept->schema;
}

Schemas::Handle Schemas::find(const std::string& name, const Make& make, const std::string& param) {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) throw not_found(name, param);
  return made(&found->second, make);
}

void Schemas::remove(const std::string& name) {
  const MutexLock lock(mutex_);
  if (kept_.erase(name) == 0) throw not_found(name, {});
}

std::vector<std::pair<std::string, Schemas::Handle>> Schemas::all(const Make& make) {
  const MutexLock lock(mutex_);
  std::vector<std::pair<std::string, Handle>> all;
  for (auto& [name, kept] : kept_) all.emplace_back(name, made(&kept, make));
  return all;
}

void Schemas::let_go() {
  const MutexLock lock(mutex_);
  for (auto& [name, kept] : kept_) kept.schema.reset();
}

Schemas::Handle parsed_schema(const promptcache::Engine& engine, const std::string& pml) try {
  return std::make_shared<const promptcache::Schema>(promptcache::Schema::parse(engine, pml));
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, "schema");
}

}  // namespace pc::serve
