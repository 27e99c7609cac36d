// The C API's calls on a store: the directory of module files and of the packed
// weights beside them, without a model.

#include <string>
#include <utility>
#include <vector>

#include "modules/module_store.h"
#include "modules/module_transfer.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/engine/engine.h"  // default_cache_dir
#include "runtime/packed/packed_folder.h"
#include "runtime/reports/store_report.h"
#include "runtime/schema/chat_stand_ins.h"

namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using namespace pc::capi;

Result<pc::CacheFolder> packed_of(const pc::ModuleStore& store) {
  return pc::open_packed_folder(store.options().dir, store.writable());
}

// Of all files, or of the one whose name begins with `prefix`.
Result<pc::StoreKeys> keys_of(const pc::ModuleStore& store, const pc::CacheFolder& packed,
                              const char* prefix) {
  PC_TRY(const std::vector<pc::CacheEntry> modules, store.list());
  const auto wanted = [&](const pc::Digest& key) {
    return !prefix || (*prefix && pc::to_hex(key).starts_with(prefix));
  };
  pc::StoreKeys keys;
  for (const pc::CacheEntry& entry : modules)
    if (wanted(entry.key)) keys.modules.push_back(entry.key);
  for (const pc::PackedEntry& entry : pc::list_packed(packed))
    if (wanted(entry.key)) keys.packed.push_back(entry.key);
  const std::size_t n = keys.modules.size() + keys.packed.size();
  if (!prefix || n == 1) return keys;
  return n == 0
             ? pc::error(Code::kNotFound,
                         "no file of the store begins with \"" + std::string(prefix) + "\"")
             : pc::error(Code::kInvalidArgument, "more than one file of the store begins with \"" +
                                                     std::string(prefix) + "\"");
}

Result<pc::ModuleKey> module_of(const pc::ModuleStore& store, const char* key) {
  PC_TRY(const pc::CacheFolder packed, packed_of(store));
  PC_TRY(const pc::StoreKeys found, keys_of(store, packed, key));
  if (!found.modules.empty()) return pc::ModuleKey{found.modules.front()};
  return pc::error(Code::kInvalidArgument,
                   pc::to_hex(found.packed.front()) + " is no module but packed weights");
}

// key: NULL for all.
Status verify(const pc::ModuleStore& store, const char* key, pc::Progress progress, char** json) {
  PC_TRY(const pc::CacheFolder packed, packed_of(store));
  PC_TRY(const pc::StoreKeys keys, keys_of(store, packed, key));
  PC_TRY(const std::string report, pc::verify_store(store, packed, keys, progress));
  return give(report, json);
}

Status remove(pc::ModuleStore& store, const char* key, pc::Progress progress,
              std::uint64_t* removed) {
  PC_TRY(const pc::CacheFolder packed, packed_of(store));
  PC_TRY(const pc::StoreKeys keys, keys_of(store, packed, key));
  const std::uint64_t n_files = keys.modules.size() + keys.packed.size();
  std::uint64_t n = 0, n_seen = 0;
  const auto stops = [&] { return progress && !progress(n_seen++, n_files); };
  // Of all files, one may be removed by another process meanwhile.
  const auto fails = [&](const Status& gone) {
    n += gone.ok();
    return !gone.ok() && (key || gone.error().code != Code::kNotFound);
  };
  // Of what one asks for by name, one may not know that it is pinned.
  if (key && !keys.modules.empty() && store.is_pinned({keys.modules.front()}))
    return pc::error(Code::kInvalidArgument,
                     pc::to_hex(keys.modules.front()) + " is pinned: unpin it first");
  for (const pc::Digest& k : keys.modules) {
    if (stops()) return pc::cancelled();
    if (const Status gone = store.remove({k}); fails(gone)) return gone;
  }
  for (const pc::Digest& k : keys.packed) {
    if (stops()) return pc::cancelled();
    if (const Status gone = packed.remove(k); fails(gone)) return gone;
  }
  if (!key) {
    store.sweep();
    packed.sweep_unfinished();
    pc::forget_stand_ins(store.options().dir);
  }
  if (removed) *removed = n;
  return pc::ok();
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
    options.budget_bytes = pc::kNoBudget;  // engines have one
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
    PC_TRY(const pc::CacheFolder packed, packed_of(*store->store));
    PC_TRY(const std::string text, pc::describe_store(*store->store, packed));
    return give(text, json);
  });
}

pc_status pc_store_show(const pc_store* store, const char* key, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    PC_REQUIRE(json);
    PC_TRY(const pc::ModuleKey found, module_of(*store->store, key));
    PC_TRY(const pc::ModuleHandle module, store->store->inspect(found));
    return give(pc::show_module(*module), json);
  });
}

pc_status pc_store_verify(const pc_store* store, const char* key, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    PC_REQUIRE(json);
    return verify(*store->store, key, {}, json);
  });
}

pc_status pc_store_verify_all(const pc_store* store, pc_store_progress progress, void* user,
                              char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(json);
    const StoreProgress tell{progress, user};
    return verify(*store->store, nullptr, tell, json);
  });
}

pc_status pc_store_remove(pc_store* store, const char* key, std::uint64_t* removed,
                          pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    return remove(*store->store, key, {}, removed);
  });
}

pc_status pc_store_remove_all(pc_store* store, pc_store_progress progress, void* user,
                              std::uint64_t* removed, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    const StoreProgress tell{progress, user};
    return remove(*store->store, nullptr, tell, removed);
  });
}

pc_status pc_store_pin(pc_store* store, const char* key, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    PC_TRY(const pc::ModuleKey module, module_of(*store->store, key));
    return store->store->pin(module);
  });
}

pc_status pc_store_unpin(pc_store* store, const char* key, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(key);
    PC_TRY(const pc::ModuleKey module, module_of(*store->store, key));
    return store->store->unpin(module);
  });
}

pc_status pc_store_export(const pc_store* store, const char* const* keys, std::size_t n_keys,
                          const char* path, pc_store_progress progress, void* user,
                          pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(path);
    std::vector<pc::ModuleKey> modules;
    for (std::size_t i = 0; keys && i < n_keys; ++i) {
      PC_REQUIRE(keys[i]);
      PC_TRY(const pc::ModuleKey module, module_of(*store->store, keys[i]));
      modules.push_back(module);
    }
    if (!keys) {
      PC_TRY(const std::vector<pc::CacheEntry> all, store->store->list());
      for (const pc::CacheEntry& entry : all) modules.push_back({entry.key});
    }
    const StoreProgress tell{progress, user};
    return pc::export_modules(*store->store, modules, path, tell);
  });
}

pc_status pc_store_import(pc_store* store, const char* path, pc_store_progress progress, void* user,
                          char** keys, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(path);
    const StoreProgress tell{progress, user};
    PC_TRY(const std::vector<pc::ModuleKey> imported,
           pc::import_modules(*store->store, path, tell));
    std::string lines;
    for (const pc::ModuleKey& key : imported) lines += key.hex() + "\n";
    return keys ? give(lines, keys) : pc::ok();
  });
}

pc_status pc_store_gc(pc_store* store, std::uint64_t target_bytes, pc_store_progress progress,
                      void* user, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(json);
    const StoreProgress tell{progress, user};
    PC_TRY(const pc::EvictionReport report, store->store->gc(target_bytes, tell));
    PC_TRY(const pc::CacheFolder packed, packed_of(*store->store));
    return give(pc::describe_gc(report, pc::collect_packed(packed)), json);
  });
}

}  // extern "C"
