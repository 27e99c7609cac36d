#include "runtime/schema/loaded_schema.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/mapped_file.h"
#include "base/progress.h"  // is_set, cancelled
#include "modules/module_image.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/schema_parser.h"
#include "pml/syntax/source_file.h"
#include "runtime/scheduler/helper_thread.h"
#include "runtime/scheduler/log.h"
#include "runtime/scheduler/single_flight.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/schema/answer_verdict.h"
#include "runtime/schema/chat_stand_ins.h"
#include "runtime/schema/schema_record.h"

namespace pc {
namespace {

// What past prompts' modules are made of, their tokens, may take so much of what modules may.
constexpr std::uint64_t kRecentShare = 8;

// The last run is text then. A job that no other run names goes.
void free_last_run(pml::Plan* plan) {
  const std::uint32_t job = plan->runs.back().job;
  plan->runs.back().kind = pml::RunKind::kUncached;
  const auto names = [job](const pml::PlanRun& run) {
    return run.kind == pml::RunKind::kCached && run.job == job;
  };
  if (std::ranges::any_of(plan->runs, names)) return;
  plan->jobs.erase(plan->jobs.begin() + job);
  for (pml::PlanRun& run : plan->runs)
    if (run.kind == pml::RunKind::kCached && run.job > job) --run.job;
}

// Turns the prompt's last token into a fresh one. whole: tokens of a run stand together or not at
// all.
void free_last_token(pml::Plan* plan, bool whole) {
  if (plan->runs.empty() || plan->runs.back().kind != pml::RunKind::kCached) return;
  if (whole) return free_last_run(plan);
  pml::PlanRun last = plan->runs.back();
  const auto n = static_cast<Position>(last.tokens.size());
  last.kind = pml::RunKind::kUncached;
  last.position += n - 1;
  last.tokens.erase(last.tokens.begin(), last.tokens.end() - 1);
  plan->runs.back().tokens.pop_back();
  if (plan->runs.back().tokens.empty()) plan->runs.pop_back();
  plan->runs.push_back(std::move(last));
}

ModuleIdentity in_name_space(ModuleIdentity identity,
                             const std::optional<std::string>& name_space) {
  if (name_space) identity.name_space = *name_space;
  return identity;
}

// Where records of schemas are written; "" = nowhere.
std::string records_dir(const Engine& engine) {
  return engine.store() && engine.store()->writable() ? engine.store()->options().dir : "";
}

// What is kept of a conversation of a model whose layers carry states is what was said, module or
// not: so it is exact, and takes few states.
void compute_always(pml::Schema* schema) {
  schema->cache = false;
  schema->attend = pml::Attend::kPrefix;
  schema->scaffolds.clear();
  schema->stand_ins.clear();
}

}  // namespace

LoadedSchema::LoadedSchema(std::shared_ptr<const Engine> engine, pml::TextEncoder text_encoder,
                           pml::Layout layout, const std::optional<std::string>& name_space,
                           bool counts_imports)
    : engine_(std::move(engine)),
      text_encoder_(std::move(text_encoder)),
      layout_(std::move(layout)),
      identity_(in_name_space(engine_->base_identity(), name_space)),
      known_({layout_, identity_, engine_->model().relocates(), engine_->model().desc},
             engine_->options().cache_bytes / kRecentShare),
      import_sets_(record_key(), counts_imports ? records_dir(*engine_) : "") {
  for (const pml::JobSpec& spec : pml::plan_encoding(layout_)) known_.keep(spec);
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::on_cpu(
    const volatile std::int32_t* cancel) const {
  PC_TRY(std::shared_ptr<const Engine> engine, engine_->on_cpu(cancel));
  const MutexLock lock(cpu_mutex_);
  if (!cpu_)
    cpu_.reset(
        new LoadedSchema(std::move(engine), text_encoder_, layout_, identity_.name_space, false));
  if (const auto repair = verdict(); repair.ok()) {
    const MutexLock verdict_lock(cpu_->verdict_mutex_);
    cpu_->verdict_ = *repair;
  }
  return cpu_;
}

std::shared_ptr<LoadedSchema> LoadedSchema::in_slots() const {
  if (!engine_->model().relocates()) return nullptr;
  auto slots = pml::in_slots(layout_);
  if (!slots) return nullptr;
  return std::shared_ptr<LoadedSchema>(
      new LoadedSchema(engine_, text_encoder_, std::move(*slots), identity_.name_space, false));
}

Digest LoadedSchema::record_key() const {
  return schema_record_key(identity_, layout_);
}

std::string LoadedSchema::own_text(std::uint32_t module) const {
  std::string text;
  for (const std::uint32_t index : layout_.modules[module].own) {
    const pml::Item& item = layout_.items[index];
    if (item.kind != pml::ItemKind::kPiece) continue;
    for (const TokenId token : layout_.pieces[item.index].tokens)
      engine_->tokenizer().append_bytes(token, &text);
  }
  return text;
}

std::optional<pml::Repair> LoadedSchema::own_repair(const pml::PlanRun& run) const {
  const pml::Module& module = layout_.modules[layout_.pieces[run.piece].module];
  if (!module.own_repair || module.repair.kind == pml::Repair::Kind::kAuto) return std::nullopt;
  return module.repair;
}

Result<pml::Repair> LoadedSchema::verdict() const {
  {
    const MutexLock lock(verdict_mutex_);
    if (verdict_) return *verdict_;
  }
  if (engine_->store())
    if (const auto kept = recall_verdict(record_key(), engine_->store()->options().dir))
      return *kept;
  return error(Code::kNotFound,
               "repair=\"auto\" of schema \"" + layout_.schema +
                   "\" has nothing to go by: there is no check of answers with this model, "
                   "backend, precision, type of states, positions= and attend=; run promptcache "
                   "check --answers, or name a repair");
}

bool LoadedSchema::set_verdict(const pml::Repair& repair) {
  const std::string dir = records_dir(*engine_);
  const bool kept = !dir.empty() && remember_verdict(record_key(), repair, dir);
  const MutexLock lock(verdict_mutex_);
  verdict_ = kept ? std::nullopt : std::optional(repair);
  return kept;
}

LoadedSchema::Modules LoadedSchema::modules_of(const pml::Plan& plan) {
  Modules modules;
  for (const pml::JobSpec& spec : plan.jobs) modules.push_back(known_.get(spec));
  return modules;
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::parse(
    std::shared_ptr<const Engine> engine, std::string_view text, const std::string& base_dir,
    const std::optional<std::string>& name_space) {
  const pml::ReadFileFn reader = base_dir.empty() ? pml::ReadFileFn() : pml::file_reader(base_dir);
  PC_TRY(pml::Schema schema, pml::parse_schema(text, reader));
  // States that are bound to their positions: each module keeps the schema's place.
  if (!engine->model().relocates()) schema.positions = pml::Positions::kSchema;
  if (!engine->model().relocates() && schema.attend == pml::Attend::kSlots)
    return Error{
        Code::kUnsupported,
        "attend=\"slots\" encodes modules behind stand-ins, elsewhere than they are used, "
        "where the model's states, bound to their positions, mean nothing; use attend=\"prefix\"",
        schema.place.line, schema.place.column};
  pml::TextEncoder encoder = engine->text_encoder_of_today();
  PC_TRY(pml::Layout layout, pml::lay_out(schema, encoder));
  return std::shared_ptr<LoadedSchema>(
      new LoadedSchema(std::move(engine), std::move(encoder), std::move(layout), name_space, true));
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::of(std::shared_ptr<const Engine> engine,
                                                       pml::Schema schema,
                                                       const std::optional<std::string>& name_space,
                                                       bool offers_stand_ins) {
  if (engine->model().is_recurrent()) compute_always(&schema);
  if (!engine->model().relocates()) schema.positions = pml::Positions::kSchema;
  pml::TextEncoder encoder = engine->text_encoder_of_today();
  PC_TRY(pml::Layout layout, pml::lay_out(schema, encoder));
  const std::shared_ptr<LoadedSchema> loaded(new LoadedSchema(
      std::move(engine), std::move(encoder), std::move(layout), name_space, false));
  loaded->offers_stand_ins_ = offers_stand_ins;
  return loaded;
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::load(
    std::shared_ptr<const Engine> engine, const std::string& path,
    const std::optional<std::string>& name_space) {
  PC_TRY(const MappedFile file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  std::string folder = std::filesystem::path(path).parent_path().string();
  return parse(std::move(engine), text, folder.empty() ? "." : folder, name_space);
}

Result<pml::Plan> LoadedSchema::plan(const pml::Prompt& prompt, Together together) {
  const auto is_stored = [&](const pml::JobSpec& job) {
    bool is_held = false;
    return bool{peek(*known_.look_at(job), &is_held)};
  };
  const auto always = [](const pml::JobSpec&) { return true; };
  pml::StoredStates stored;
  if (engine_->store()) stored.in_slot = is_stored;
  if (engine_->store() && together == Together::kWhereFound) stored.together = is_stored;
  if (together == Together::kAlways) stored.together = always;
  PC_TRY(pml::Plan plan, pml::resolve(prompt, layout_, text_encoder_, stored));
  PC_CHECK_OK(pml::check_plan(layout_, plan));
  if (plan.shift > 0 && !engine_->model().relocates()) {
    return Error{
        Code::kPmlSemantic,
        "a turn begins or ends where the schema leaves no room for that, and the model's "
        "states, bound to their positions, have no other place; write the turn in the schema",
        prompt.place.line, prompt.place.column};
  }
  if (plan.runs.empty()) {
    return Error{Code::kPmlSemantic, "the prompt is empty: it imports no text and adds none", 1, 1};
  }
  free_last_token(&plan, engine_->model().is_recurrent());
  return plan;
}

bool LoadedSchema::has_own_text() const {
  return std::ranges::any_of(layout_.pieces, [this](const pml::Piece& piece) {
    return piece.module == pml::kRoot && !(layout_.bos && piece.tokens == Tokens{*layout_.bos});
  });
}

static Status check_tokens(std::span<const TokenId> tokens, std::uint32_t vocab_size) {
  const auto bad = [](std::string what) { return error(Code::kInvalidArgument, std::move(what)); };
  if (tokens.empty()) return bad("the prompt is empty: it has no tokens");
  if (tokens.size() > pml::kMaxLayoutTokens)
    return bad("the prompt has more than " + std::to_string(pml::kMaxLayoutTokens) + " tokens");
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || static_cast<std::uint32_t>(tokens[i]) >= vocab_size)
      return bad("token " + std::to_string(i) + " of the prompt, " + std::to_string(tokens[i]) +
                 ", is outside the model's vocabulary of " + std::to_string(vocab_size));
  return ok();
}

Result<pml::Plan> LoadedSchema::plan(std::span<const TokenId> tokens) const {
  PC_CHECK_OK(check_tokens(tokens, engine_->model().desc.vocab_size));
  if (!layout_.turns.empty())
    return error(Code::kUnsupported, "schema \"" + layout_.schema +
                                         "\" has turns, and tokens stand in none: take a schema "
                                         "without <system>, <user> and <assistant>");
  pml::Prompt nothing;
  nothing.schema = layout_.schema;
  PC_TRY(pml::Plan plan, pml::resolve(nothing, layout_, engine_->text_encoder()));
  PC_CHECK_OK(pml::check_plan(layout_, plan));
  if (!has_own_text() && layout_.bos) {
    if (tokens.front() == *layout_.bos) {
      tokens = tokens.subspan(1);
    } else {
      plan.runs.clear();
      plan.jobs.clear();
      plan.end = 0;
    }
  }
  if (!tokens.empty()) {
    pml::PlanRun run;
    run.tokens.assign(tokens.begin(), tokens.end());
    run.position = plan.end;
    run.turn = pml::kNone;
    plan.end += static_cast<Position>(tokens.size());
    plan.runs.push_back(std::move(run));
  }
  free_last_token(&plan, engine_->model().is_recurrent());
  return plan;
}

Lookup LoadedSchema::peek(SchemaModule& module, bool* held) const {
  *held = false;
  if (module.mutex.try_lock()) {
    const LongMutexLock lock(module.mutex, std::adopt_lock);
    ModuleHandle handle = module.handle.lock();
    *held = handle && handle->is_current();
    if (*held) return {std::move(handle), MissReason::kNone, ""};
  }
  if (!engine_->store()) return {nullptr, MissReason::kDisabled, "no store is in use"};
  return engine_->store()->find(module.identity);
}

std::string job_title(const pml::EncodeJob& job) {
  if (job.scaffold) return job.name;
  return job.name.empty() ? "the schema's anonymous text" : "module \"" + job.name + "\"";
}

Status LoadedSchema::check_size(const SchemaModule& module) const {
  const pml::JobRun& last = module.job.runs.back();
  const auto end = static_cast<std::uint64_t>(last.position) + last.tokens.size();
  if (end > engine_->context_tokens())
    return error(Code::kContextFull,
                 job_title(module.job) + " and what it sees take " + std::to_string(end) +
                     " positions, the context window has " +
                     std::to_string(engine_->context_tokens()) +
                     ": shorten it or the text before it, or let it see less (attend=)");
  const std::uint64_t bytes = stored_size(module.identity).bytes,
                      budget = engine_->options().cache_bytes;
  if (bytes <= budget) return ok();
  return error(Code::kBudget, job_title(module.job) + " takes " + std::to_string(bytes) +
                                  " bytes, and all modules together may take " +
                                  std::to_string(budget) + ": allow more, or divide it");
}

Status LoadedSchema::check_share(const SchemaModule& together) const {
  constexpr std::uint64_t kShare = 4;
  PC_CHECK_OK(check_size(together));
  const std::uint64_t bytes = stored_size(together.identity).bytes,
                      budget = engine_->options().cache_bytes / kShare;
  if (bytes <= budget) return ok();
  return error(Code::kBudget, job_title(together.job) + " take " + std::to_string(bytes) +
                                  " bytes, and may take a quarter of what the store may hold, " +
                                  std::to_string(budget) + ": allow more");
}

Result<AcquiredModule> LoadedSchema::acquire(SchemaModule& module, Encoder& encoder,
                                             const volatile std::int32_t* cancel) {
  if (!module.mutex.lock(cancel)) return cancelled();
  const LongMutexLock lock(module.mutex, std::adopt_lock);
  AcquiredModule acquired{module.handle.lock()};
  if (acquired.module && !acquired.module->is_current()) {
    if (acquired.module->is_watched())
      log(LogLevel::kWarning, "the file of " + job_title(module.job) +
                                  " changed since it was opened; it is looked for again");
    engine_->held().drop(std::exchange(acquired.module, nullptr));
  }
  if (acquired.module) {
    engine_->counts().add_held();
  } else {
    PC_TRY(acquired, find_or_encode(module, encoder, cancel));
    module.handle = acquired.module;
    if (acquired.source == ModuleSource::kStore)
      engine_->counts().add_found(acquired.module->bytes().size());
    else
      offer(module);
  }
  engine_->held().hold(acquired.module);
  return acquired;
}

void LoadedSchema::offer(const SchemaModule& module) const {
  if (!offers_stand_ins_ || module.job.scaffold || module.job.subject == pml::kRoot) return;
  offer_stand_in(chat_stand_ins_key(identity_), own_text(module.job.subject),
                 records_dir(*engine_));
}

// Miss, lock, look again, compute, publish: across processes mostly one
// computes, and all end with one file.
Result<AcquiredModule> LoadedSchema::find_or_encode(const SchemaModule& wanted, Encoder& encoder,
                                                    const volatile std::int32_t* cancel) {
  const ModuleIdentity& identity = wanted.identity;
  FileLock flight;
  MissReason why = MissReason::kDisabled;
  if (ModuleStore* store = engine_->store()) {
    const Lookup looked_up = store->find(identity);
    if (looked_up) return AcquiredModule{looked_up.module, ModuleSource::kStore, 0};
    why = looked_up.miss;
    if (why != MissReason::kNotEncoded)
      log(LogLevel::kWarning,
          job_title(wanted.job) + " is not used from the store: " + looked_up.why);
    PC_TRY(flight, wait_for_flight(*store, key_of(identity), cancel));
    if (Lookup found = store->find(identity))
      return AcquiredModule{found.module, ModuleSource::kStore, 0};
  }
  const std::uint64_t before = encoder.tokens_computed();
  const Stopwatch watch;
  PC_TRY(const EncodedModule encoded, encoder.encode(wanted.job, identity, cancel));
  engine_->counts().add_encoded(why);
  if (ModuleStore* store = engine_->store())
    store->note_made(encoded.module->bytes().size(),
                     std::chrono::microseconds(watch.microseconds()));
  if (logs(LogLevel::kInfo))
    log(LogLevel::kInfo, "encoded " + job_title(wanted.job) + " of schema \"" + layout_.schema +
                             "\": " + std::to_string(encoder.tokens_computed() - before) +
                             " tokens computed in " + std::to_string(watch.microseconds() / 1000) +
                             " ms");
  PC_TRY(AcquiredModule acquired, publish(encoded));
  if (encoded.draft && !acquired.stored) encoder.forget();
  acquired.tokens_computed = encoder.tokens_computed() - before;
  return acquired;
}

// The published file's mapping or, where publishing failed, the module in memory.
Result<AcquiredModule> LoadedSchema::publish(const EncodedModule& encoded) {
  AcquiredModule acquired{encoded.module, ModuleSource::kEncoded};
  if (!engine_->store() || !engine_->store()->writable()) return acquired;
  auto published = engine_->publish(encoded.module, encoded.draft.get());
  if (published.ok()) {
    acquired.module = std::move(published).value();
    acquired.stored = true;
    engine_->counts().add_stored();
    return acquired;
  }
  {
    const MutexLock lock(remark_mutex_);
    publish_remark_ = published.error().message;
  }
  log(LogLevel::kWarning, "a module is used from memory alone: " + published.error().message);
  // What the system could not write, it may lose.
  if (encoded.draft) {
    auto copy = ModuleImage::copy(*encoded.module);
    PC_CHECK_OK(encoded.draft->check());
    PC_TRY(acquired.module, std::move(copy));
  }
  engine_->counts().add_not_stored(encoded.draft ? acquired.module->bytes().size() : 0);
  return acquired;
}

std::string LoadedSchema::publish_remark() const {
  const MutexLock lock(remark_mutex_);
  return publish_remark_;
}

LoadedSchema::Modules LoadedSchema::siblings_of(const Modules& modules) const {
  constexpr std::size_t kMost = 32;  // as many are mapped in a millisecond
  std::vector<std::uint32_t> own, subjects;
  for (const auto& module : modules)
    if (!module->job.scaffold) own.push_back(module->job.subject);
  for (const std::uint32_t member : own) {
    const std::uint32_t its_union = layout_.modules[member].union_id;
    if (its_union == pml::kNone) continue;
    for (std::uint32_t i = 0; i < layout_.modules.size() && subjects.size() < kMost; ++i)
      if (layout_.modules[i].union_id == its_union && std::ranges::find(own, i) == own.end())
        subjects.push_back(i);
  }
  return known_.of(subjects);
}

Status LoadedSchema::prefetch(const Modules& next, const Modules& others) const {
  std::vector<ResidentHandle> residents;
  for (const Modules* const modules : {&next, &others}) {
    for (const auto& module : *modules) {
      bool held = false;
      Lookup found = peek(*module, &held);
      if (!found) continue;
      PC_TRY(ResidentHandle resident, engine_->backend().resident(found.module));
      resident->prefetch();  // it is on its way when this returns
      if (modules == &next)
        residents.push_back(std::move(resident));
      else
        engine_->held().hold(found.module, resident);
    }
  }
  // Those used last are held longest.
  for (const ResidentHandle& resident : residents)
    engine_->held().hold(resident->handle(), resident);
  return ok();
}

Status LoadedSchema::encode(const Modules& modules, const Progress& done, const Waiting& waiting) {
  for (const auto& module : modules) PC_CHECK_OK(check_size(*module));
  Encoder encoder(engine_->scheduler(), engine_->store());
  std::optional<HelperThread> helper;
  if (waiting) helper.emplace();
  std::int32_t cancel = 0;
  std::uint32_t n_done = 0;
  for (const auto& module : modules) {
    Result<AcquiredModule> acquired = cancelled();
    const auto work = [&] { acquired = acquire(*module, encoder, &cancel); };
    const auto tick = [&] {
      if (!is_set(&cancel) && !waiting(n_done, module->job.name))
        __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    };
    helper ? helper->run(work, tick) : work();
    if (!acquired.ok()) return acquired.error();
    if (is_set(&cancel) || !done(++n_done, module->job.name, *acquired)) return cancelled();
  }
  return ok();
}

}  // namespace pc
