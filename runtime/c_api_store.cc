// The C API's calls on a store: the directory of module files, without a model.

#include <optional>
#include <utility>
#include <vector>

#include "modules/module_store.h"
#include "runtime/c_api_support.h"
#include "runtime/engine.h"  // default_cache_dir
#include "runtime/reports.h"

struct pc_store {
  std::unique_ptr<pc::ModuleStore> store;
};

namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using namespace pc::capi;

Result<pc::ModuleKey> find_key(const pc::ModuleStore& store, std::string_view prefix) {
  PC_TRY(const std::vector<pc::StoreEntry> entries, store.list());
  std::optional<pc::ModuleKey> found;
  for (const pc::StoreEntry& entry : entries) {
    if (prefix.empty() || !entry.key.hex().starts_with(prefix)) continue;
    if (found)
      return pc::error(Code::kInvalidArgument,
                       "more than one module file begins with \"" + std::string(prefix) + "\"");
    found = entry.key;
  }
  if (!found)
    return pc::error(Code::kNotFound, "no module file begins with \"" + std::string(prefix) + "\"");
  return *found;
}

}  // namespace

extern "C" {

pc_status pc_store_open(const char* dir, std::uint32_t cache_mode, pc_store** store,
                        pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    if (cache_mode > PC_CACHE_READ_ONLY)
      return pc::error(Code::kInvalidArgument, "a store is opened read-write or read-only");
    pc::StoreOptions options;
    options.dir = string_or_empty(dir);
    if (options.dir.empty()) {
      PC_TRY(options.dir, pc::default_cache_dir());
    }
    // Looked for first: opening to write would create what a typing error names.
    options.read_only = true;
    PC_TRY(auto found, pc::ModuleStore::open(options));
    options.read_only = cache_mode == PC_CACHE_READ_ONLY;
    PC_TRY(auto opened, pc::ModuleStore::open(std::move(options)));
    *store = new pc_store{std::move(opened)};
    return pc::ok();
  });
}

void pc_store_close(pc_store* store) {
  delete store;
}

pc_status pc_store_describe(const pc_store* store, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(json);
    PC_TRY(const std::string text, pc::describe_store(*store->store));
    return give(text, json);
  });
}

pc_status pc_store_show(const pc_store* store, const char* key, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    PC_REQUIRE(json);
    PC_TRY(const pc::ModuleKey found, find_key(*store->store, key));
    PC_TRY(const pc::ModuleHandle module, store->store->inspect(found));
    return give(pc::show_module(*module), json);
  });
}

pc_status pc_store_verify(const pc_store* store, const char* key, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(json);
    std::optional<pc::ModuleKey> only;
    if (key) {
      PC_TRY(only, find_key(*store->store, key));
    }
    PC_TRY(const std::string text, pc::verify_store(*store->store, only));
    return give(text, json);
  });
}

pc_status pc_store_remove(pc_store* store, const char* key, std::uint64_t* removed,
                          pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    std::vector<pc::ModuleKey> keys;
    if (key) {
      PC_TRY(const pc::ModuleKey found, find_key(*store->store, key));
      keys.push_back(found);
    } else {
      PC_TRY(const std::vector<pc::StoreEntry> entries, store->store->list());
      for (const pc::StoreEntry& entry : entries) keys.push_back(entry.key);
    }
    std::uint64_t n = 0;
    for (const pc::ModuleKey& k : keys) {
      const Status gone = store->store->remove(k);
      // Of all files, one may be removed by another process meanwhile.
      if (!gone.ok() && (key || gone.error().code != Code::kNotFound)) return gone;
      n += gone.ok();
    }
    if (removed) *removed = n;
    return pc::ok();
  });
}

pc_status pc_store_gc(pc_store* store, std::uint64_t target_bytes, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(json);
    PC_TRY(const pc::GcReport report, store->store->gc(target_bytes));
    return give(pc::describe_gc(report), json);
  });
}

}  // extern "C"
