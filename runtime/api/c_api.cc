// The C API: a shim that wraps, checks and translates (c_api_prompt.cc has the calls on a prompt,
// c_api_modules.cc those that encode and hold modules, c_api_session.cc those on a session,
// c_api_store.cc those on a store, c_api_texts.cc those on whole texts).

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"  // n_lost_mappings
#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/api/c_api_text.h"
#include "runtime/engine/engine.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/model_probe.h"
#include "runtime/reports/model_report.h"
#include "runtime/reports/model_verify.h"
#include "runtime/reports/reports.h"
#include "runtime/scheduler/log.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"

#ifndef PC_VERSION
#define PC_VERSION "unknown"
#endif

static_assert(PC_NOT_FINITE == static_cast<int>(pc::Code::kNotFinite));
static_assert(PC_INTERNAL == static_cast<int>(pc::Code::kInternal));
static_assert(PC_CONTEXT_FULL == static_cast<int>(pc::Code::kContextFull));
static_assert(PC_PML_SYNTAX == static_cast<int>(pc::Code::kPmlSyntax));
static_assert(PC_OPEN_READ_WEIGHTS == static_cast<int>(pc::OpenStep::kReadWeights));
static_assert(PC_OPEN_PACK_WEIGHTS == static_cast<int>(pc::OpenStep::kPackWeights));
static_assert(PC_OPEN_CHECK_PACKED == static_cast<int>(pc::OpenStep::kCheckPacked));
static_assert(PC_CACHE_OFF == static_cast<int>(pc::CacheMode::kOff));
static_assert(PC_PRECISION_EXACT == static_cast<int>(pc::Precision::kExact));
static_assert(PC_PRECISION_DETERMINISTIC == static_cast<int>(pc::Precision::kDeterministic));
static_assert(PC_COPY_NEVER == static_cast<int>(pc::TierCopy::kNever));
static_assert(PC_KV_F32 == static_cast<int>(pc::KvType::kF32));
static_assert(PC_KV_BF16 == static_cast<int>(pc::KvType::kBf16));
static_assert(PC_KV_Q8 == static_cast<int>(pc::KvType::kQ8));
static_assert(PC_KV_Q4 == static_cast<int>(pc::KvType::kQ4));

static_assert(PC_MAX_TEXT_BYTES == pc::kMaxTextBytes);

// Handles wrap; they never inherit.
namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using namespace pc::capi;

Result<pc::EngineOptions> engine_options(const pc_engine_options* options) {
  PC_REQUIRE(options);
  PC_TRY(const pc_engine_options o, read_options(options));
  if (!o.model_path || !*o.model_path)
    return pc::error(Code::kInvalidArgument,
                     "model_path is missing: name a model's folder or file");
  if (o.cache_mode > PC_CACHE_OFF) return pc::error(Code::kInvalidArgument, "unknown cache_mode");
  if (o.kv_type > PC_KV_Q4) return pc::error(Code::kInvalidArgument, "unknown kv_type");
  pc::EngineOptions engine;
  engine.model_path = o.model_path;
  engine.cache_dir = string_or_empty(o.cache_dir);
  engine.cache_mode = static_cast<pc::CacheMode>(o.cache_mode);
  if (o.precision > PC_PRECISION_DETERMINISTIC)
    return pc::error(Code::kInvalidArgument, "unknown precision");
  engine.precision = static_cast<pc::Precision>(o.precision);
  if (engine.precision == pc::Precision::kExact) engine.kv_type = pc::KvType::kF32;
  if (o.kv_type != PC_KV_DEFAULT) engine.kv_type = static_cast<pc::KvType>(o.kv_type);
  if (o.cache_bytes) engine.cache_bytes = o.cache_bytes;
  engine.name_space = string_or_empty(o.cache_namespace);
  PC_CHECK_OK(read_strings(o.cache_from, o.n_cache_from, "cache_from", &engine.cache_from));
  PC_CHECK_OK(read_strings(o.cache_trust, o.n_cache_trust, "cache_trust", &engine.cache_trust));
  if (o.cache_copy > PC_COPY_NEVER) return pc::error(Code::kInvalidArgument, "unknown cache_copy");
  engine.cache_copy = static_cast<pc::TierCopy>(o.cache_copy);
  engine.chat_template = string_or_empty(o.chat_template);
  constexpr std::int64_t kLastTime = 253'402'300'799;  // of the year 9999
  if (o.chat_time < 0 || o.chat_time > kLastTime)
    return pc::error(Code::kInvalidArgument, "chat_time is beyond the years 1970 to 9999");
  PC_CHECK_OK(check_given(o.given, PC_GIVEN_CHAT_TIME));
  if (o.chat_time || o.given & PC_GIVEN_CHAT_TIME) engine.chat_time = o.chat_time;
  engine.backend = string_or_empty(o.backend);
  engine.n_threads = o.n_threads;
  engine.context_tokens = o.context_tokens;
  engine.require_backend = o.require_backend != 0;
  engine.require_store = o.require_store != 0;
  if (o.text_progress) {
    engine.text_progress = [call = o.text_progress, user = o.text_progress_user](
                               std::uint64_t done, std::uint64_t total) {
      return call(user, done, total) == 0;
    };
  }
  if (o.progress) {
    engine.progress = [call = o.progress, user = o.progress_user](
                          pc::OpenStep step, std::uint64_t done, std::uint64_t total) {
      return call(user, static_cast<std::uint32_t>(step), done, total) == 0;
    };
  }
  return engine;
}

Status in_vocabulary(const pc::Engine& engine, std::int32_t token) {
  const std::uint32_t vocab_size = engine.model().desc.vocab_size;
  if (token >= 0 && static_cast<std::uint32_t>(token) < vocab_size) return pc::ok();
  return pc::error(Code::kInvalidArgument, "token " + std::to_string(token) +
                                               " is outside the model's vocabulary of " +
                                               std::to_string(vocab_size));
}

}  // namespace

extern "C" {

const char* pc_version(void) {
  return PC_VERSION;
}

const char* pc_status_name(pc_status status) {
  if (status == PC_DONE) return "done";
  if (status == PC_PENDING) return "pending";
  return pc::code_name(static_cast<Code>(status)).data();
}

void pc_free(void* memory) {
  std::free(memory);
}

void pc_set_log(pc_log_sink sink, void* user, std::int32_t level) {
  pc::set_log(sink, user, static_cast<pc::LogLevel>(level));
}

pc_status pc_guard_files(pc_error* error) {
  return guarded(error, [] { return pc::guard_mappings(); });
}

pc_status pc_build_describe(char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(json);
    return give(pc::describe_build(), json);
  });
}

// ---------------------------------------------------------------- engine

void pc_engine_options_init(pc_engine_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

pc_status pc_engine_open(const pc_engine_options* options, pc_engine** engine, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_TRY(const pc::EngineOptions o, engine_options(options));
    PC_TRY(auto opened, pc::Engine::open(o));
    *engine = new pc_engine{std::move(opened)};
    return pc::ok();
  });
}

void pc_engine_close(pc_engine* engine) {
  delete engine;
}

pc_status pc_engine_get_facts(const pc_engine* engine, pc_engine_facts* facts, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(facts);
    const pc::Engine& e = *engine->engine;
    pc_engine_facts f{};
    f.context_tokens = e.context_tokens();
    f.vocab_size = e.model().desc.vocab_size;
    f.kv_token_bytes = e.geometry().state_bytes(1) / pc::kKvBlockTokens;
    f.n_parameters = e.model().n_parameters;
    f.weight_bytes = e.model().weight_bytes;
    f.bos = e.text_encoder().bos.value_or(-1);
    f.has_chat_format = e.text_encoder().chat.has_value();
    f.store_in_use = e.store() != nullptr;
    f.backend_fell_back = e.fell_back();
    const pc::FimTokens& fim = e.tokenizer().facts().fim;
    f.fim_prefix = fim.prefix.value_or(-1);
    f.fim_suffix = fim.suffix.value_or(-1);
    f.fim_middle = fim.middle.value_or(-1);
    f.fim_pad = fim.pad.value_or(-1);
    f.fim_repo = fim.repo.value_or(-1);
    f.fim_file = fim.file.value_or(-1);
    f.n_dimensions = e.model().desc.d_model;
    f.pooling = static_cast<std::uint32_t>(e.model().pooling.pooling);
    write_stats(f, facts);
    return pc::ok();
  });
}

pc_status pc_engine_get_cache_counts(const pc_engine* engine, pc_cache_counts* counts,
                                     pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(counts);
    using pc::MissReason;
    const pc::ModuleCounts& of = engine->engine->counts();
    const pc::ModuleStore* store = engine->engine->store();
    const pc::StoreCounts files = store ? store->counts() : pc::StoreCounts();
    pc_cache_counts all{};
    all.held = of.held();
    all.found = of.found();
    all.not_encoded = of.encoded(MissReason::kNotEncoded);
    all.corrupt = of.encoded(MissReason::kCorrupt);
    all.other_version = of.encoded(MissReason::kVersion);
    all.mismatch = of.encoded(MissReason::kMismatch);
    all.unreadable = of.encoded(MissReason::kUnreadable);
    all.no_store = of.encoded(MissReason::kDisabled);
    all.stored = of.stored();
    all.not_stored = of.not_stored();
    all.mapped_bytes = of.mapped_bytes();
    all.copied_bytes = of.copied_bytes();
    all.evicted_files = files.evicted_files;
    all.evicted_bytes = files.evicted_bytes;
    all.set_aside_files = files.set_aside_files;
    all.lost_mappings = pc::n_lost_mappings();
    for (const pc::TierReport& tier : store ? store->tiers() : std::vector<pc::TierReport>()) {
      all.found_behind += tier.n_found;
      all.found_behind_bytes += tier.found_bytes;
      all.failed_behind += tier.n_failed;
    }
    write_stats(all, counts);
    return pc::ok();
  });
}

int pc_engine_ends_turn(const pc_engine* engine, std::int32_t token) {
  return engine && engine->engine->ends_turn(token);
}

pc_status pc_engine_get_token(const pc_engine* engine, std::int32_t token, pc_token_facts* facts,
                              pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(facts);
    PC_CHECK_OK(in_vocabulary(*engine->engine, token));
    const std::string_view bytes = engine->engine->tokenizer().bytes(token);
    pc_token_facts f{};
    f.bytes = bytes.data();
    f.n_bytes = bytes.size();
    f.is_control = engine->engine->tokenizer().is_hidden(token);
    f.ends_turn = engine->engine->ends_turn(token);
    const std::string_view spelling = engine->engine->tokenizer().spelling(token);
    f.spelling = spelling.data();
    f.n_spelling = spelling.size();
    f.is_added = engine->engine->tokenizer().is_added_text(token);
    write_stats(f, facts);
    return pc::ok();
  });
}

pc_status pc_engine_describe(const pc_engine* engine, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(json);
    return give(pc::describe_engine(*engine->engine), json);
  });
}

pc_status pc_model_inspect(const pc_engine_options* options, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(json);
    PC_TRY(const pc::EngineOptions o, engine_options(options));
    PC_TRY(const std::string text, pc::describe_model(o));
    return give(text, json);
  });
}

pc_status pc_model_verify(const pc_engine_options* options, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(json);
    PC_TRY(const pc::EngineOptions o, engine_options(options));
    PC_TRY(const std::string text, pc::verify_model(o));
    return give(text, json);
  });
}

pc_status pc_model_probe(const pc_engine_options* options, const char* text, std::size_t bytes,
                         char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(json);
    PC_TRY(const pc::EngineOptions o, engine_options(options));
    PC_TRY(const std::string report,
           pc::probe_model(o, text ? view_of(text, bytes) : pc::kProbeText));
    return give(report, json);
  });
}

pc_status pc_tokenize(const pc_engine* engine, const char* text, std::size_t bytes,
                      std::int32_t* tokens, std::size_t capacity, std::size_t* n_tokens,
                      pc_error* error) {
  return pc_tokenize_text(engine, text, bytes, 0, tokens, capacity, n_tokens, error);
}

pc_status pc_tokenize_text(const pc_engine* engine, const char* text, std::size_t bytes,
                           std::uint32_t flags, std::int32_t* tokens, std::size_t capacity,
                           std::size_t* n_tokens, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(text);
    PC_REQUIRE(n_tokens);
    if (!tokens && capacity != 0) return null_argument("tokens");
    PC_TRY(const auto rules, text_rules(flags));
    PC_TRY(const pc::Tokens ids, engine->engine->tokenize(view_of(text, bytes), rules));
    std::copy_n(ids.begin(), std::min(ids.size(), capacity), tokens);
    *n_tokens = ids.size();
    return pc::ok();
  });
}

pc_status pc_detokenize(const pc_engine* engine, const std::int32_t* tokens, std::size_t n_tokens,
                        char** text, std::size_t* n_bytes, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(text);
    if (!tokens && n_tokens != 0) return null_argument("tokens");
    std::string bytes, out;
    pc::Utf8Stream utf8;
    for (std::size_t i = 0; i < n_tokens; ++i) {
      PC_CHECK_OK(in_vocabulary(*engine->engine, tokens[i]));
      bytes.clear();
      engine->engine->tokenizer().append_bytes(tokens[i], &bytes, pc::Tokenizer::Controls::kSpell);
      utf8.append(bytes, &out);
    }
    utf8.finish(&out);
    PC_CHECK_OK(give(out, text));
    if (n_bytes) *n_bytes = out.size();
    return pc::ok();
  });
}

// ---------------------------------------------------------------- schema

pc_status pc_schema_load(const pc_engine* engine, const char* path, pc_schema** schema,
                         pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(path);
    PC_REQUIRE(schema);
    PC_TRY(auto loaded, pc::LoadedSchema::load(engine->engine, path, engine->name_space));
    *schema = new pc_schema{std::move(loaded)};
    return pc::ok();
  });
}

pc_status pc_schema_parse(const pc_engine* engine, const char* pml, std::size_t bytes,
                          const char* base_dir, pc_schema** schema, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(pml);
    PC_REQUIRE(schema);
    PC_TRY(auto loaded, pc::LoadedSchema::parse(engine->engine, view_of(pml, bytes),
                                                string_or_empty(base_dir), engine->name_space));
    *schema = new pc_schema{std::move(loaded)};
    return pc::ok();
  });
}

pc_status pc_schema_plain(const pc_engine* engine, pc_schema** schema, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(schema);
    PC_TRY(auto loaded, pc::LoadedSchema::parse(engine->engine, "<schema name=\"plain\"/>",
                                                std::string(), engine->name_space));
    *schema = new pc_schema{std::move(loaded)};
    return pc::ok();
  });
}

void pc_schema_close(pc_schema* schema) {
  delete schema;
}

pc_status pc_schema_get_counts(const pc_schema* schema, pc_schema_counts* counts, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(counts);
    const pc::SchemaCounts c = pc::count_schema(*schema->schema);
    write_stats(pc_schema_counts{0, c.modules, c.scaffolds, c.tokens, c.stored_bytes}, counts);
    return pc::ok();
  });
}

pc_status pc_schema_describe(const pc_schema* schema, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(json);
    return give(pc::describe_schema(*schema->schema), json);
  });
}

}  // extern "C"
