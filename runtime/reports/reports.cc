#include "runtime/reports/reports.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/parallel.h"
#include "modules/module_image.h"  // stored_size
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/state_map.h"
#include "runtime/cpu/products/onednn_products.h"  // gemm_description
#include "runtime/json/json_writer.h"
#include "runtime/prompt/link_search.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/model_report.h"  // dtype_name
#include "runtime/reports/schema_remarks.h"
#include "simd/kernels.h"

#ifndef PC_VERSION
#define PC_VERSION "unknown"
#endif

namespace pc {
namespace {

std::string hex(const Digest& digest) {
  return to_hex(digest);
}

void write_isa(JsonWriter& json) {
  const simd::Kernels* selected = simd::selected_kernels();
  json.key("isa").begin_object().key("selected").value(selected ? selected->name : "none");
  json.key("supported").begin_array();
  for (const simd::Kernels* table : simd::supported_kernels()) json.value(table->name);
  json.end_array().key("timed_on");
  (selected && selected->timed_on ? json.value(selected->timed_on) : json.null()).end_object();
}

std::set<std::string> weight_types(const pc_model_desc& desc) {
  std::set<std::string> types = {dtype_name(desc.embedding.dtype)};
  for_each_matrix(desc, [&](const pc_tensor& t) { types.insert(dtype_name(t.dtype)); });
  return types;
}

const char* cache_mode_name(CacheMode mode) {
  switch (mode) {
    case CacheMode::kReadWrite:
      return "read-write";
    case CacheMode::kReadOnly:
      return "read-only";
    case CacheMode::kOff:
      return "off";
  }
  return "unknown";
}

const char* precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFast:
      return "fast";
    case Precision::kExact:
      return "exact";
    case Precision::kDeterministic:
      return "deterministic";
  }
  return "unknown";
}

const char* positions_name(pml::Positions p) {
  return p == pml::Positions::kCompact ? "compact" : "schema";
}

const char* attend_name(pml::Attend attend) {
  switch (attend) {
    case pml::Attend::kPrefix:
      return "prefix";
    case pml::Attend::kSelf:
      return "self";
    case pml::Attend::kSlots:
      return "slots";
    case pml::Attend::kSchema:
      return "schema";
  }
  return "unknown";
}

const char* run_kind_name(pml::RunKind kind) {
  switch (kind) {
    case pml::RunKind::kCached:
      return "cached";
    case pml::RunKind::kText:
      return "text";
    case pml::RunKind::kArgument:
      return "argument";
    case pml::RunKind::kRole:
      return "role";
    case pml::RunKind::kUncached:
      return "uncached";
  }
  return "unknown";
}

std::string text_of(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens)
    tokenizer.append_bytes(token, &text, Tokenizer::Controls::kSpell);
  return text;
}

}  // namespace

std::string describe_build() {
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("version").value(PC_VERSION).key("compiler").value("C++ " __VERSION__);
  write_isa(json);
  json.key("matrix").value(gemm_description());
  json.key("threads").value(Parallel().n_threads()).end_object();
  return text;
}

// Stores behind the store.
static void write_tiers(const ModuleStore& store, JsonWriter& json) {
  json.key("from").begin_array();
  for (const TierReport& tier : store.tiers()) {
    json.begin_object().key("dir").value(tier.dir).key("trouble").value(tier.trouble);
    json.key("signed").value(tier.is_signed).key("files").value(tier.n_files);
    json.key("found").value(tier.n_found).key("found_bytes").value(tier.found_bytes);
    json.key("failed").value(tier.n_failed);
    json.key("bytes_per_second").value(tier.bytes_per_second).end_object();
  }
  json.end_array();
}

std::string describe_engine(const Engine& engine) {
  const Model& model = engine.model();
  const pc_model_desc& desc = model.desc;
  const auto& chat = engine.text_encoder().chat;
  std::string text;
  JsonWriter json(&text);
  json.begin_object();
  json.key("path")
      .value(model.path)
      .key("architecture")
      .value(model.architecture)
      .key("family")
      .value(model.family);
  const pc_layer& first = desc.layers[0];
  json.key("layers")
      .value(desc.n_layers)
      .key("d_model")
      .value(desc.d_model)
      .key("heads")
      .value(first.n_heads);
  json.key("kv_heads")
      .value(first.n_kv_heads)
      .key("head_dim")
      .value(first.head_dim)
      .key("d_ffn")
      .value(desc.d_ffn);
  json.key("vocab_size")
      .value(desc.vocab_size)
      .key("context_tokens")
      .value(engine.context_tokens());
  json.key("parameters").value(model.n_parameters).key("weight_bytes").value(model.weight_bytes);
  json.key("tied_embeddings").value(desc.lm_head.data == desc.embedding.data);
  json.key("weight_types").begin_array();
  for (const std::string& type : weight_types(desc)) json.value(type);
  json.end_array();
  json.key("tokenizer").value(engine.tokenizer().facts().description);
  json.key("chat_template");
  chat ? json.value(chat->name) : json.null();
  json.key("kv_type").value(kv_type_name(engine.options().kv_type));
  json.key("precision").value(precision_name(engine.options().precision));
  json.key("kv_bytes_per_token").value(engine.geometry().state_bytes(1) / kKvBlockTokens);
  json.key("recurrent_bytes").value(n_state_numbers(desc) * sizeof(float));
  json.key("recurrent_map_bytes").value(long_map_numbers(desc) * sizeof(float));
  json.key("weights_digest").value(hex(model.weights_digest));
  json.key("tokenizer_digest").value(hex(engine.tokenizer().digest()));
  json.key("backend").value(engine.backend().name());
  write_isa(json);
  json.key("matrix").value(gemm_description());
  json.key("threads").value(Parallel(engine.options().n_threads).n_threads());
  json.key("cache").begin_object().key("mode").value(cache_mode_name(engine.options().cache_mode));
  if (const ModuleStore* store = engine.store()) {
    json.key("dir")
        .value(store->options().dir)
        .key("budget_bytes")
        .value(store->options().budget_bytes);
    json.key("writable").value(store->writable());
    write_tiers(*store, json);
  }
  json.end_object();
  json.key("remark").value(engine.remark()).end_object();
  return text;
}

namespace {

std::uint64_t recurrent_bytes(const SchemaModule& module) {
  return std::uint64_t{module.identity.n_recurrent} * sizeof(float);
}

void write_module(JsonWriter& json, const LoadedSchema& schema, std::uint32_t index,
                  const std::map<std::string, const SchemaModule*>& by_name) {
  const pml::Layout& layout = schema.layout();
  const pml::Module& module = layout.modules[index];
  const auto stored = by_name.find(module.path);
  json.begin_object().key("path").value(module.path).key("tokens").value(module.n_tokens);
  json.key("position").value(module.position).key("extent").value(module.extent);
  json.key("cache").value(module.cache).key("repair").value(pml::to_string(module.repair));
  json.key("union");
  module.union_id == pml::kNone ? json.null() : json.value(module.union_id);
  json.key("parameters").begin_array();
  for (const std::uint32_t slot : module.slots) {
    json.begin_object()
        .key("name")
        .value(layout.slots[slot].name)
        .key("len")
        .value(layout.slots[slot].len)
        .end_object();
  }
  json.end_array();
  if (stored != by_name.end()) {
    json.key("bytes").value(stored_size(stored->second->identity).bytes);
    json.key("recurrent_bytes").value(recurrent_bytes(*stored->second));
    json.key("key").value(key_of(stored->second->identity).hex());
  }
  json.end_object();
}

}  // namespace

std::string describe_schema(const LoadedSchema& schema) {
  const pml::Layout& layout = schema.layout();
  std::map<std::string, const SchemaModule*> by_name;
  std::uint64_t bytes = 0, recurrent = 0, tokens = 0;
  for (const auto& module : schema.modules()) {
    recurrent += recurrent_bytes(*module);
    if (!module->job.scaffold) by_name.emplace(module->job.name, module.get());
    bytes += stored_size(module->identity).bytes;
  }
  for (const pml::Module& module : layout.modules) tokens += module.n_tokens;
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("name").value(layout.schema);
  json.key("positions")
      .value(positions_name(layout.positions))
      .key("attend")
      .value(attend_name(layout.attend));
  json.key("relocates").value(schema.engine().model().relocates());
  json.key("tokens").value(tokens).key("extent").value(layout.extent).key("bytes").value(bytes);
  json.key("recurrent_bytes").value(recurrent);
  json.key("modules").begin_array();
  for (std::uint32_t i = 0; i < layout.modules.size(); ++i) write_module(json, schema, i, by_name);
  json.end_array().key("scaffolds").begin_array();
  for (const auto& module : schema.modules()) {
    if (!module->job.scaffold) continue;
    const StoredSize size = stored_size(module->identity);
    json.begin_object().key("name").value(module->job.name).key("tokens").value(size.tokens);
    json.key("bytes").value(size.bytes);
    json.key("recurrent_bytes").value(recurrent_bytes(*module));
    json.key("key").value(key_of(module->identity).hex()).end_object();
  }
  json.end_array().key("remarks").begin_array();
  for (const std::string& remark : schema_remarks(schema)) json.value(remark);
  if (const std::string why = schema.publish_remark(); !why.empty()) {
    json.value("modules are not kept on disk: " + why);
  }
  json.end_array().end_object();
  return text;
}

namespace {

// A job's look-up, once for all of its runs.
struct Found {
  Lookup lookup;
  bool held = false;
  const char* state() const { return held ? "memory" : lookup ? "hit" : "miss"; }
};

void write_lookup(JsonWriter& json, const Found& found) {
  json.key("state").value(found.state());
  if (found.lookup) return;
  json.key("reason").value(miss_name(found.lookup.miss)).key("why").value(found.lookup.why);
}

// The links of a prompt's own chain that the store keeps, and what it has of them.
struct FoundLink {
  Chain::Link link;
  Lookup lookup;
};

std::vector<FoundLink> find_links(const LoadedPrompt& prompt, std::span<const PlacedRun> runs) {
  std::vector<FoundLink> links;
  const std::vector<Anew> anew = leading_tokens(runs);
  FoundChain found = find_links(prompt, {true, anew, chain_known_until(prompt, runs)});
  for (std::size_t i = 0; i < found.lookups.size(); ++i)
    if (found.lookups[i] || found.lookups[i].miss != MissReason::kNone)
      links.push_back({found.chain.links()[i], std::move(found.lookups[i])});
  return links;
}

// How many tokens of [begin, end) the store's links have.
std::uint64_t chained_tokens(const std::vector<FoundLink>& links, Position begin, Position end) {
  std::uint64_t n = 0;
  for (const auto& [link, lookup] : links) {
    const Position from = std::max(begin, link.position), to = std::min(end, link.end());
    if (lookup && from < to) n += static_cast<std::uint64_t>(to - from);
  }
  return n;
}

void write_link(JsonWriter& json, const LoadedPrompt& prompt, const FoundLink& found) {
  const ModuleIdentity identity = Chain::identity(found.link, prompt.schema->identity());
  const bool is_there =
      static_cast<bool>(found.lookup);  // perhaps as the beginning of a longer one
  json.begin_object().key("position").value(found.link.position);
  json.key("tokens").value(found.link.tokens.size());
  write_lookup(json, {found.lookup});
  json.key("bytes").value(is_there ? found.lookup.module->bytes().size()
                                   : stored_size(identity).bytes);
  json.key("key")
      .value((is_there ? found.lookup.module->key() : key_of(identity)).hex())
      .end_object();
}

void write_run(JsonWriter& json, const LoadedPrompt& prompt, const PlacedRun& placed,
               const std::vector<Found>& found, const std::vector<FoundLink>& links) {
  const LoadedSchema& schema = *prompt.schema;
  const pml::PlanRun& run = *placed.run;
  const auto n = static_cast<std::uint32_t>(run.tokens.size());
  json.begin_object().key("position").value(run.position).key("tokens").value(n);
  json.key("kind").value(run_kind_name(run.kind)).key("label").value(run.label);
  if (run.kind == pml::RunKind::kCached) {
    const SchemaModule& module = *prompt.modules[run.job];
    write_lookup(json, found[run.job]);
    // Of layers that carry states a module that is computed anew is not attached (is_attached).
    const bool is_text =
        !placed.exact && n_anew({&placed, 1}) == n && schema.engine().model().is_recurrent();
    json.key("bytes").value(is_text ? 0 : schema.engine().attached_bytes(n));
    json.key("key").value(key_of(module.identity).hex());
    json.key("scaffold").value(module.job.scaffold);
    if (module.job.n_stand_ins != 0) json.key("stand_ins").value(module.job.n_stand_ins);
    json.key("exact").value(placed.exact);
    if (!placed.exact) json.key("repair").value(pml::to_string(placed.repair));
  } else {
    const std::uint64_t chained =
        chained_tokens(links, run.position, run.position + static_cast<Position>(n));
    json.key("state").value(chained == 0 ? "fresh" : chained == n ? "chain" : "part chain");
    json.key("chained_tokens").value(chained);
    json.key("bytes").value(0).key("moved").value(run.moved);
  }
  json.key("text").value(text_of(schema.engine().tokenizer(), run.tokens)).end_object();
}

// Why a session of these runs would be refused; "" where it would not.
std::string unsettled_remark(const LoadedSchema& schema, std::span<const PlacedRun> runs) {
  const bool unsettled = std::ranges::any_of(runs, [](const PlacedRun& run) {
    return !run.exact && run.repair.kind == pml::Repair::Kind::kAuto;
  });
  if (!unsettled) return "";
  const Result<pml::Repair> verdict = schema.verdict();
  return verdict.ok() ? "" : verdict.error().message;
}

}  // namespace

std::string explain_prompt(const LoadedPrompt& prompt) {
  const LoadedSchema& schema = *prompt.schema;
  const std::vector<PlacedRun> runs = settled_runs(prompt);
  std::vector<Found> found(prompt.modules.size());
  std::uint64_t cached = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i].lookup = schema.peek(*prompt.modules[i], &found[i].held);
  for (const pml::PlanRun& run : prompt.plan.runs)
    if (run.kind == pml::RunKind::kCached) cached += run.tokens.size();
  const std::uint64_t all = prompt.plan.n_tokens();
  const std::vector<FoundLink> links = find_links(prompt, runs);
  const std::uint64_t chained = chained_tokens(links, 0, prompt.plan.end);
  const std::uint64_t repaired = n_anew(runs);
  cached += chained - repaired;
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("schema").value(prompt.plan.schema);
  json.key("positions").value(positions_name(schema.layout().positions));
  json.key("relocates").value(schema.engine().model().relocates());
  json.key("attend").value(attend_name(schema.layout().attend));
  json.key("repair").value(
      pml::to_string(prompt.written.repair.value_or(schema.layout().modules[pml::kRoot].repair)));
  json.key("prompt_tokens")
      .value(all)
      .key("cached_tokens")
      .value(cached)
      .key("chained_tokens")
      .value(chained)
      .key("repaired_tokens")
      .value(repaired)
      .key("computed_tokens")
      .value(all - cached);
  json.key("end")
      .value(prompt.plan.end)
      .key("context_tokens")
      .value(schema.engine().context_tokens());
  json.key("runs").begin_array();
  for (const PlacedRun& run : runs) write_run(json, prompt, run, found, links);
  json.end_array().key("chain").begin_array();
  for (const FoundLink& link : links) write_link(json, prompt, link);
  json.end_array().key("modules").begin_array();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SchemaModule& module = *prompt.modules[i];
    const StoredSize size = stored_size(module.identity);
    json.begin_object()
        .key("name")
        .value(module.job.name)
        .key("key")
        .value(key_of(module.identity).hex());
    write_lookup(json, found[i]);
    json.key("tokens").value(size.tokens).key("bytes").value(size.bytes);
    json.key("recurrent_bytes").value(recurrent_bytes(module)).end_object();
  }
  json.end_array().key("remarks").begin_array();
  for (const std::string& remark : prompt.plan.remarks) json.value(remark);
  if (const std::string why = unsettled_remark(schema, runs); !why.empty()) json.value(why);
  json.end_array().end_object();
  return text;
}

}  // namespace pc
