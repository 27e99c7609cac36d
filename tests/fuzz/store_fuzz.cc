// Fuzzes the directory of the store: what somebody, or a bad disk, may have left in it, and what
// the library makes of it.
//
// An input is a sequence of steps: some put a file, link, fifo or folder of any mode and time where
// the store has its modules, stamps, locks, quarantine, unfinished files or records of digests;
// the others use the store. However the directory looks, no call crashes or hangs, a module that is
// found has the bytes that its identity stands for, a digest that is recalled is the model's, and
// nothing outside the directory is touched.
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "modules/module_store.h"
#include "modules/module_transfer.h"
#include "runtime/model/remembered_digest.h"
#include "tests/modules/support.h"
#include "tests/support/fuzz_bytes.h"
#include "tests/support/fuzz_folder.h"
#include "tests/support/fuzz_tree.h"

namespace {

using pc::test::FuzzBytes;
using pc::test::FuzzFolder;
using pc::test::FuzzTree;
using pc::test::require;
using pc::test::Untouched;

constexpr int kMostSteps = 40;
constexpr std::uint32_t kModules = 3;

// What no input changes: modules, a model's file and what is outside of the store.
struct World {
  FuzzFolder folder;
  std::string outside = folder.path() + "/outside";
  std::vector<pc::ModuleIdentity> identities;
  std::vector<pc::ModuleHandle> modules;  // [kModules], in memory
  std::vector<std::string> bytes;         // [kModules], of their files
  pc::Checkpoint checkpoint;
  pc::Digest digest{};              // of its tensors
  std::string record, record_name;  // that the library has made of it

  World() {
    for (std::uint32_t i = 0; i < kModules; ++i) {
      identities.push_back(pc::test::identity(static_cast<std::int32_t>(i), pc::KvType::kBf16));
      modules.push_back(pc::test::make_module(identities.back()));
      const auto all = modules.back()->bytes();
      bytes.emplace_back(reinterpret_cast<const char*>(all.data()), all.size());
    }
    std::filesystem::create_directories(outside + "/folder");
    FuzzFolder::write(outside + "/file", "not the store's");
    FuzzFolder::write(outside + "/module", bytes[0]);
    make_record();
  }

 private:
  void make_record() {
    const std::string weights = outside + "/weights", cache = folder.path() + "/first";
    FuzzFolder::write(weights, std::string(64, '\0'));
    checkpoint.files.push_back(pc::MappedFile::open(weights).value());
    checkpoint.tensors["w"] = {"F32", {16}, checkpoint.files[0].bytes(), weights};
    // The file is younger than any clock's tick: as if it were not.
    digest = pc::tensor_digest(checkpoint, {cache, true, -1'000'000'000}).value();
    for (const auto& entry : std::filesystem::directory_iterator(cache + "/models")) {
      record_name = entry.path().filename().string();
      std::ifstream file(entry.path(), std::ios::binary);
      record.assign(std::istreambuf_iterator<char>(file), {});
    }
    require(!record.empty());
  }
};

World& world() {
  static World all;
  return all;
}

std::string key_text(std::uint32_t i) {
  return world().modules[i]->key().hex();
}

// ---- Steps that change the directory

std::string pick_name(FuzzBytes& in) {
  switch (in.below(9)) {
    case 0:
    case 1:
    case 2:
      return key_text(in.below(kModules)) + ".module";
    case 3:
      return key_text(in.below(kModules));
    case 4:
      return key_text(in.below(kModules)).substr(0, 2);
    case 5:
      return "gc";
    case 6:
      return "123.456." + std::to_string(in.below(4));
    case 7:
      return world().record_name;
    default:
      return FuzzTree::name_of(in.text());
  }
}

std::string pick_path(FuzzBytes& in) {
  constexpr std::array kFolders = {"v3/objects", "v3/used", "v3/locks", "v3/quarantine",
                                   "v3/tmp",     "models",  "v2",       "packed"};
  const std::uint32_t i = in.below(4 * kFolders.size());
  const std::string folder = kFolders[i / 4];
  return i % 4 == 3 ? folder : folder + "/" + pick_name(in);
}

std::string pick_target(FuzzBytes& in) {
  const std::string& outside = world().outside;
  switch (in.below(7)) {
    case 0:
      return outside + "/file";
    case 1:
      return outside + "/folder";
    case 2:
      return outside + "/module";
    case 3:
      return "../../../outside/file";
    case 4:
      return ".";
    case 5:
      return key_text(in.below(kModules)) + ".module";
    default:
      return "nothing";
  }
}

// Whole, changed in some bytes, or cut.
std::string pick_bytes(FuzzBytes& in) {
  const std::uint32_t kind = in.below(6);
  if (kind == 0) return std::string(in.text());
  std::string bytes = kind == 1 ? world().record : world().bytes[in.below(kModules)];
  for (std::uint32_t n = kind == 3 ? 1 + in.below(4) : 0; n > 0; --n)
    bytes[in.number(2) % bytes.size()] = static_cast<char>(in.byte());
  if (kind == 4) bytes.resize(in.number(2) % bytes.size());
  if (kind == 5) bytes += in.text();
  return bytes;
}

mode_t pick_mode(FuzzBytes& in) {
  constexpr std::array<mode_t, 8> kModes = {0400, 0400, 0600, 0644, 0666, 0000, 0777, 04755};
  return kModes[in.below(kModes.size())];
}

void change_tree(FuzzBytes& in, FuzzTree& tree) {
  const std::string path = pick_path(in);
  switch (in.below(8)) {
    case 0:
      return tree.link(path, pick_target(in));
    case 1:
      return tree.fifo(path);
    case 2:
      return tree.folder(path, in.below(4) == 0 ? 0777 : 0700);
    case 3:
      // A name of a lock would be one of a file that is in use: that is waited for.
      if (path.starts_with("v3/locks")) return;
      return tree.second_name(path, pick_path(in));
    case 4: {
      const std::string bytes = pick_bytes(in);
      tree.file(path, bytes, pick_mode(in), std::uint64_t{1} << in.below(43));
      return;
    }
    case 5:
      return tree.set_time(path, static_cast<std::int64_t>(in.number(8)));
    default: {
      const std::string bytes = pick_bytes(in);
      return tree.file(path, bytes, pick_mode(in));
    }
  }
}

// ---- Steps that use it

void check_module(const pc::ModuleHandle& module, std::uint32_t i) {
  const auto bytes = module->bytes();
  require(bytes.size() == world().bytes[i].size());
  require(std::memcmp(bytes.data(), world().bytes[i].data(), bytes.size()) == 0);
}

void find(pc::ModuleStore& store, std::uint32_t i) {
  const pc::Lookup found = store.find(world().identities[i]);
  require(static_cast<bool>(found) == (found.miss == pc::MissReason::kNone));
  require(static_cast<bool>(found) == found.why.empty());
  if (found) check_module(found.module, i);
}

void publish(pc::ModuleStore& store, std::uint32_t i, bool in_draft) {
  const auto draft = in_draft ? store.draft(world().bytes[i].size()) : nullptr;
  const pc::ModuleHandle module =
      draft ? pc::test::make_module(world().identities[i], draft) : world().modules[i];
  const auto published = store.publish(module, draft.get());
  if (published.ok())
    check_module(*published, i);
  else
    require(!published.error().message.empty());
}

void list(const pc::ModuleStore& store) {
  const auto entries = store.list();
  if (!entries.ok()) return;
  for (const pc::CacheEntry& entry : *entries) {
    const pc::ModuleKey key{entry.key};
    (void)store.inspect(key);
    const auto verified = store.verify(key);
    for (std::uint32_t i = 0; i < kModules; ++i)
      if (verified.ok() && key == world().modules[i]->key()) check_module(*verified, i);
  }
}

void transfer(pc::ModuleStore& store, FuzzBytes& in, const FuzzTree& tree) {
  const std::uint32_t i = in.below(kModules);
  const std::string file = world().folder.path() + "/transferred";
  if (in.below(2) == 0) {
    const auto keys = pc::import_modules(store, tree.root() + "/" + pick_path(in));
    require(keys.ok() || !keys.error().message.empty());
    return;
  }
  if (pc::export_modules(store, std::array{world().modules[i]->key()}, file).ok())
    require(std::filesystem::file_size(file) == world().bytes[i].size());
  std::filesystem::remove(file);
}

void remember(FuzzBytes& in, const std::string& dir) {
  const pc::DigestMemory memory{dir, in.below(2) == 0, -1'000'000'000};
  if (in.below(2) == 0) {
    const auto known = pc::recall_digest(world().checkpoint.files, memory);
    require(!known || *known == world().digest);
  } else {
    require(pc::tensor_digest(world().checkpoint, memory).value() == world().digest);
  }
}

using Store = std::unique_ptr<pc::ModuleStore>;

Store open(FuzzBytes& in, const std::string& dir) {
  auto store = pc::ModuleStore::open({.dir = dir,
                                      .read_only = in.below(4) == 0,
                                      .budget_bytes = in.below(2) == 0 ? 1u << 30 : 20'000u,
                                      .durability = pc::Durability::kNone});
  if (store.ok()) return std::move(store).value();
  require(!store.error().message.empty());
  return nullptr;
}

void use(FuzzBytes& in, const FuzzTree& tree, Store& store) {
  const std::uint32_t step = in.below(10);
  if (!store || step == 0) store = open(in, tree.root());
  if (!store) return;
  const std::uint32_t i = in.below(kModules);
  switch (step) {
    case 1:
    case 2:
      return find(*store, i);
    case 3:
      return publish(*store, i, false);
    case 4:
      return publish(*store, i, true);
    case 5:
      return list(*store);
    case 6:
      (void)store->gc(in.number(2));
      return;
    case 7:
      (void)store->remove(world().modules[i]->key());
      return;
    case 8:
      return transfer(*store, in, tree);
    case 9:
      (void)store->lock(world().modules[i]->key(), std::chrono::milliseconds(0));
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string& outside = world().outside;
  const Untouched untouched[] = {Untouched(outside), Untouched(outside + "/file"),
                                 Untouched(outside + "/folder"), Untouched(outside + "/module"),
                                 Untouched(outside + "/weights")};
  FuzzBytes in(data, size);
  FuzzTree tree(world().folder.path() + "/store");
  Store store;
  for (int i = 0; i < kMostSteps && !in.empty(); ++i) {
    const std::uint32_t step = in.below(16);
    if (step < 7)
      change_tree(in, tree);
    else if (step == 7)
      remember(in, tree.root());
    else
      use(in, tree, store);
  }
  for (const Untouched& each : untouched) require(each.holds());
  return 0;
}
