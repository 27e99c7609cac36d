// The C API's calls that carry modules from store to store, and vouch for them.

#include <string>
#include <utility>
#include <vector>

#include "modules/store_pull.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/reports/store_report.h"

namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using namespace pc::capi;

Result<std::vector<pc::PublicKey>> public_keys(const char* const* paths, std::size_t n) {
  std::vector<std::string> files;
  PC_CHECK_OK(read_strings(paths, n, "trust", &files));
  std::vector<pc::PublicKey> keys;
  for (const std::string& file : files) {
    PC_TRY(pc::PublicKey key, pc::PublicKey::read(file));
    keys.push_back(key);
  }
  return keys;
}

Result<std::vector<pc::ModuleKey>> module_keys(const char* const* keys, std::size_t n) {
  std::vector<pc::ModuleKey> out;
  for (std::size_t i = 0; keys && i < n; ++i) {
    const auto key = pc::from_hex(string_or_empty(keys[i]));
    if (!key)
      return pc::error(Code::kInvalidArgument,
                       "\"" + string_or_empty(keys[i]) + "\" is no key of 64 hexadecimal digits");
    out.push_back({*key});
  }
  return out;
}

}  // namespace

extern "C" {

pc_status pc_store_pull(pc_store* store, const char* from, const char* const* trust,
                        std::size_t n_trust, const char* const* keys, std::size_t n_keys,
                        pc_store_progress progress, void* user, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    PC_REQUIRE(from);
    PC_REQUIRE(json);
    PC_TRY(const auto trusted, public_keys(trust, n_trust));
    PC_TRY(const auto wanted, module_keys(keys, n_keys));
    pc::PullReport report;
    const StoreProgress tell{progress, user};
    if (!keys || n_keys > 0) {
      PC_TRY(report, pc::pull_modules(*store->store, from, trusted, wanted, tell));
    }
    return give(pc::describe_pull(report), json);
  });
}

pc_status pc_store_sign(pc_store* store, const char* private_key, const char* with,
                        pc_store_progress progress, void* user, std::uint64_t* listed,
                        pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(store);
    if (private_key && !*private_key)
      return pc::error(Code::kInvalidArgument,
                       "the name of the key that signs is empty: NULL signs nothing");
    const StoreProgress tell{progress, user};
    PC_TRY(const std::uint64_t n, pc::write_manifest(*store->store, string_or_empty(private_key),
                                                     string_or_empty(with), tell));
    if (listed) *listed = n;
    return pc::ok();
  });
}

pc_status pc_manifest_keys(const char* path, const char* const* trust, std::size_t n_trust,
                           char** keys, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(path);
    PC_REQUIRE(keys);
    PC_TRY(const auto trusted, public_keys(trust, n_trust));
    PC_TRY(const std::vector<pc::ModuleKey> listed, pc::manifest_keys(path, trusted));
    std::string lines;
    for (const pc::ModuleKey& key : listed) lines += key.hex() + "\n";
    return give(lines, keys);
  });
}

}  // extern "C"
