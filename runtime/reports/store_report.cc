#include "runtime/reports/store_report.h"

#include <algorithm>
#include <span>

#include "modules/format.h"
#include "runtime/json/json_writer.h"
#include "runtime/packed/packed_folder.h"
#include "runtime/packed/packed_weights.h"

namespace pc {
namespace {

// A number of each layer: one where all have the same.
void write_of_layers(JsonWriter& json, const char* key, std::span<const KvLayer> layers,
                     std::uint32_t KvLayer::*number) {
  json.key(key);
  const auto of = [number](const KvLayer& layer) { return layer.*number; };
  if (std::ranges::all_of(layers, [&](const KvLayer& l) { return of(l) == of(layers[0]); }))
    return void(json.value(of(layers[0])));
  json.begin_array();
  for (const KvLayer& layer : layers) json.value(of(layer));
  json.end_array();
}

// What every file has.
void begin_file(JsonWriter& json, const CacheEntry& entry) {
  json.begin_object().key("key").value(to_hex(entry.key)).key("bytes").value(entry.file_bytes);
  json.key("last_used_ms").value(entry.last_used_ns / 1'000'000);
  json.key("pinned").value(entry.pinned);
}

void write_module(JsonWriter& json, const ModuleStore& store, const CacheEntry& entry) {
  begin_file(json, entry);
  if (const auto module = store.inspect({entry.key}); module.ok()) {
    const ModuleFile& m = **module;
    json.key("tokens").value(m.tokens().size());
    json.key("kv_type").value(kv_type_name(m.geometry().type()));
    json.key("layers").value(m.geometry().n_layers());
    json.key("model").value(to_hex(m.header().causes.weights));
    json.key("backend").value(backend_of(m.header().causes));
  } else {
    json.key("why").value(module.error().message);
  }
  json.end_object();
}

void write_packed(JsonWriter& json, const PackedEntry& entry) {
  begin_file(json, entry);
  json.key("model");
  entry.state == PackedState::kCurrent ? json.value(to_hex(entry.weights)) : json.null();
  json.end_object();
}

void write_verdict(JsonWriter& json, const Digest& key, const Status& status) {
  json.begin_object().key("key").value(to_hex(key)).key("ok").value(status.ok());
  json.key("why").value(status.ok() ? std::string() : status.error().message).end_object();
}

void write_gc(JsonWriter& json, const EvictionReport& report) {
  json.key("removed_files").value(report.removed_files);
  json.key("removed_bytes").value(report.removed_bytes);
  json.key("in_use_files").value(report.in_use_files);
  json.key("pinned_files").value(report.pinned_files);
  json.key("left_bytes").value(report.left_bytes);
}

}  // namespace

Result<std::string> describe_store(const ModuleStore& store, const CacheFolder& packed) {
  PC_TRY(const std::vector<CacheEntry> entries, store.list());
  std::uint64_t bytes = 0, packed_bytes = 0;
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("dir").value(store.options().dir).key("files").begin_array();
  for (const CacheEntry& entry : entries) {
    bytes += entry.file_bytes;
    write_module(json, store, entry);
  }
  json.end_array().key("bytes").value(bytes).key("packed").begin_array();
  for (const PackedEntry& entry : list_packed(packed)) {
    packed_bytes += entry.file_bytes;
    write_packed(json, entry);
  }
  json.end_array().key("packed_bytes").value(packed_bytes).end_object();
  return text;
}

std::string show_module(const ModuleFile& module) {
  const ModuleCauses& causes = module.header().causes;
  std::string text;
  JsonWriter json(&text);
  json.begin_object()
      .key("key")
      .value(module.key().hex())
      .key("bytes")
      .value(module.bytes().size());
  json.key("version").value(module.header().version).key("tokens").value(module.tokens().size());
  json.key("kv_type").value(kv_type_name(causes.kv_type)).key("layers").value(causes.n_layers);
  write_of_layers(json, "kv_heads", module.geometry().layers(), &KvLayer::n_kv_heads);
  write_of_layers(json, "head_dim", module.geometry().layers(), &KvLayer::head_dim);
  json.key("runs").begin_array();
  for (const ModuleRun& run : module.runs()) {
    json.begin_object()
        .key("tokens")
        .value(run.n_tokens)
        .key("local_position")
        .value(run.local_position)
        .end_object();
  }
  json.end_array()
      .key("model")
      .value(to_hex(causes.weights))
      .key("tokenizer")
      .value(to_hex(causes.tokenizer));
  json.key("rope").value(to_hex(causes.rope)).key("attend").value(causes.attend);
  json.key("layout_version")
      .value(causes.layout_version)
      .key("backend")
      .value(backend_of(causes))
      .key("numerics_version")
      .value(causes.numerics_version);
  json.end_object();
  return text;
}

Result<std::string> verify_store(const ModuleStore& store, const CacheFolder& packed,
                                 const StoreKeys& keys, Progress progress) {
  std::uint64_t bad = 0, vanished = 0, n_done = 0;
  const std::uint64_t n_files = keys.modules.size() + keys.packed.size();
  const auto goes_on = [&] { return !progress || progress(n_done++, n_files); };
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("files").begin_array();
  // What another process has removed meanwhile is not damaged.
  const auto write = [&](const Digest& key, const Status& status) {
    const bool is_gone = !status.ok() && status.error().code == Code::kNotFound;
    (is_gone ? vanished : bad) += !status.ok();
    write_verdict(json, key, status);
  };
  for (const Digest& key : keys.modules) {
    if (!goes_on()) return cancelled();
    const auto module = store.verify({key});
    write(key, module.ok() ? ok() : Status(module.error()));
  }
  for (const Digest& key : keys.packed) {
    if (!goes_on()) return cancelled();
    const Parallel all;
    const Status status = verify_packed(packed, key, all.ready().ok() ? all : Parallel(1));
    // One of another version is not damaged, but nothing can be said of it.
    if (status.ok() || status.error().code != Code::kUnsupported) write(key, status);
  }
  json.end_array().key("bad").value(bad).key("vanished").value(vanished).end_object();
  return text;
}

std::string describe_pull(const PullReport& report) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("copied").value(report.n_copied);
  json.key("copied_bytes").value(report.copied_bytes).key("there").value(report.n_there);
  json.key("failed").begin_array();
  for (const auto& [key, why] : report.failed)
    json.begin_object().key("key").value(key.hex()).key("why").value(why).end_object();
  json.end_array().end_object();
  return text;
}

std::string describe_gc(const EvictionReport& modules, const EvictionReport& packed) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object();
  write_gc(json, modules);
  json.key("packed").begin_object();
  write_gc(json, packed);
  json.end_object().end_object();
  return text;
}

}  // namespace pc
