#include "runtime/loaded_schema.h"

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/mapped_file.h"
#include "pml/plan_check.h"
#include "pml/prompt_parser.h"
#include "pml/resolve.h"
#include "pml/schema_parser.h"
#include "pml/source_file.h"
#include "runtime/progress.h"  // is_set, cancelled
#include "runtime/single_flight.h"

namespace pc {
namespace {

// How long a thread sleeps while another encodes the module that it needs:
// nothing against an encoding, which takes milliseconds at least.
constexpr std::chrono::milliseconds kSlotPoll{1};

// Turns the prompt's last token into a fresh one.
void free_last_token(pml::Plan* plan) {
  if (plan->runs.empty() || plan->runs.back().kind != pml::RunKind::kCached) return;
  pml::PlanRun last = plan->runs.back();
  const auto n = static_cast<Position>(last.tokens.size());
  last.kind = pml::RunKind::kUncached;
  last.position += n - 1;
  last.tokens.erase(last.tokens.begin(), last.tokens.end() - 1);
  plan->runs.back().tokens.pop_back();
  if (plan->runs.back().tokens.empty()) plan->runs.pop_back();
  plan->runs.push_back(std::move(last));
}

}  // namespace

LoadedSchema::LoadedSchema(std::shared_ptr<const Engine> engine, pml::Layout layout)
    : engine_(std::move(engine)),
      layout_(std::move(layout)),
      jobs_(pml::plan_encoding(layout_)),
      modules_(jobs_.size()) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    modules_[i].identity =
        identity_of(jobs_[i], engine_->base_identity(), engine_->model().relocates());
  }
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::parse(std::shared_ptr<const Engine> engine,
                                                          std::string_view text,
                                                          const std::string& base_dir) {
  const pml::ReadFileFn reader = base_dir.empty() ? pml::ReadFileFn() : pml::file_reader(base_dir);
  PC_TRY(pml::Schema schema, pml::parse_schema(text, reader));
  // Learned positions are in every state: each module keeps the schema's place.
  if (!engine->model().relocates()) schema.positions = pml::Positions::kSchema;
  PC_TRY(pml::Layout layout, pml::lay_out(schema, engine->text_encoder()));
  std::shared_ptr<LoadedSchema> loaded(new LoadedSchema(std::move(engine), std::move(layout)));
  PC_CHECK_OK(pml::check_jobs(loaded->layout_, loaded->jobs_));
  return loaded;
}

Result<std::shared_ptr<LoadedSchema>> LoadedSchema::load(std::shared_ptr<const Engine> engine,
                                                         const std::string& path) {
  PC_TRY(const MappedFile file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  std::string folder = std::filesystem::path(path).parent_path().string();
  return parse(std::move(engine), text, folder.empty() ? "." : folder);
}

Result<pml::Plan> LoadedSchema::plan(std::string_view prompt_pml) const {
  PC_TRY(const pml::Prompt prompt, pml::parse_prompt(prompt_pml));
  PC_TRY(pml::Plan plan, pml::resolve(prompt, layout_, jobs_, engine_->text_encoder()));
  PC_CHECK_OK(pml::check_plan(layout_, jobs_, plan));
  if (plan.runs.empty()) {
    return Error{Code::kPmlSemantic, "the prompt is empty: it imports no text and adds none", 1, 1};
  }
  free_last_token(&plan);
  return plan;
}

Lookup LoadedSchema::peek(std::uint32_t job, bool* held) const {
  const Slot& slot = modules_[job];
  {
    const std::unique_lock lock(*slot.mutex, std::try_to_lock);
    *held = lock.owns_lock() && slot.handle != nullptr;
    if (*held) return {slot.handle, MissReason::kNone, ""};
  }
  if (!engine_->store()) return {nullptr, MissReason::kDisabled, "no store is in use"};
  return engine_->store()->find(slot.identity);
}

std::string LoadedSchema::job_title(std::uint32_t job) const {
  const pml::EncodeJob& j = jobs_[job];
  if (j.scaffold) return j.name;
  return j.name.empty() ? "the schema's anonymous text" : "module \"" + j.name + "\"";
}

Status LoadedSchema::check_window(std::uint32_t job) const {
  const pml::JobRun& last = jobs_[job].runs.back();
  const auto end = static_cast<std::uint64_t>(last.position) + last.tokens.size();
  if (end <= engine_->context_tokens()) return ok();
  return error(Code::kContextFull,
               job_title(job) + " and what it sees take " + std::to_string(end) +
                   " positions, the context window has " +
                   std::to_string(engine_->context_tokens()) +
                   ": shorten it or the text before it, or let it see less (attend=)");
}

Result<AcquiredModule> LoadedSchema::acquire(std::uint32_t job, LazyEncoder& encoder,
                                             const volatile std::int32_t* cancel) {
  Slot& slot = modules_[job];
  std::unique_lock lock(*slot.mutex, std::defer_lock);
  while (!lock.try_lock()) {
    if (is_set(cancel)) return cancelled();
    std::this_thread::sleep_for(kSlotPoll);
  }
  if (slot.handle) return AcquiredModule{slot.handle, ModuleSource::kHeld, 0};
  PC_TRY(AcquiredModule acquired, find_or_encode(job, encoder, cancel));
  slot.handle = acquired.module;
  return acquired;
}

// Miss, lock, look again, compute, publish: across processes mostly one
// computes, and all end with one file.
Result<AcquiredModule> LoadedSchema::find_or_encode(std::uint32_t job, LazyEncoder& lazy,
                                                    const volatile std::int32_t* cancel) {
  const ModuleIdentity& identity = modules_[job].identity;
  FileLock flight;
  if (ModuleStore* store = engine_->store()) {
    if (Lookup found = store->find(identity))
      return AcquiredModule{found.module, ModuleSource::kStore, 0};
    PC_TRY(flight, wait_for_flight(*store, key_of(identity), cancel));
    if (Lookup found = store->find(identity))
      return AcquiredModule{found.module, ModuleSource::kStore, 0};
  }
  PC_TRY(Encoder* const encoder, lazy.get());
  const std::uint64_t before = encoder->tokens_computed();
  PC_TRY(ModuleHandle module, encoder->encode(jobs_[job], identity, cancel));
  AcquiredModule acquired = publish(module);
  acquired.tokens_computed = encoder->tokens_computed() - before;
  return acquired;
}

// The published file's mapping or, where publishing failed, the module itself.
AcquiredModule LoadedSchema::publish(const ModuleHandle& module) {
  AcquiredModule acquired{module, ModuleSource::kEncoded};
  if (!engine_->store() || !engine_->store()->writable()) return acquired;
  // States of weights that changed under us must not get the old ones' name.
  auto published =
      engine_->model().files_unchanged()
          ? engine_->store()->publish(module)
          : error(Code::kMismatch, "the files of " + engine_->model().path +
                                       " changed since they were opened; open the model again");
  if (published.ok()) {
    acquired.module = std::move(published).value();
    acquired.stored = true;
    return acquired;
  }
  const std::lock_guard lock(remark_mutex_);
  publish_remark_ = published.error().message;
  return acquired;
}

std::string LoadedSchema::publish_remark() const {
  const std::lock_guard lock(remark_mutex_);
  return publish_remark_;
}

Status LoadedSchema::encode_all(const Progress& done) {
  std::vector<const pml::EncodeJob*> all;
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    PC_CHECK_OK(check_window(job));
    all.push_back(&jobs_[job]);
  }
  LazyEncoder encoder(engine_->backend(), std::move(all));
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    PC_TRY(const AcquiredModule module, acquire(job, encoder, nullptr));
    if (!done(job + 1, jobs_[job].name, module)) return cancelled();
  }
  return ok();
}

}  // namespace pc
