// A schema laid out for an engine's model, with the modules that prompts use.
//
// Owner; immutable but for the modules it gathers. Which module is which, and what it is made of,
// stays known; its states belong to those who compute with them, and to the engine as long as
// that holds them (runtime/engine/held_modules.h). A module in another context
// (pml/layout/contexts.h) is another one: those of the schema as it stands live as long as it,
// those of turns and orders that prompts came with as long as somebody uses them, and the latest of
// them a while longer (runtime/schema/known_modules.h). Threads: all methods from any thread; one
// thread encodes a module, others that need it wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "modules/module_store.h"
#include "pml/layout/encode_plan.h"
#include "pml/layout/layout.h"
#include "pml/plan/plan.h"
#include "pml/syntax/prompt.h"
#include "runtime/engine/engine.h"
#include "runtime/schema/encoder.h"
#include "runtime/schema/import_sets.h"
#include "runtime/schema/known_modules.h"

namespace pc {

// Where a module came from.
enum class ModuleSource { kHeld, kStore, kEncoded };

struct AcquiredModule {
  ModuleHandle module;
  ModuleSource source = ModuleSource::kHeld;
  std::uint64_t tokens_computed = 0;  // kEncoded
  bool stored = false;                // kEncoded: published, so that others find it
};

class LoadedSchema {
 public:
  // base_dir: the folder for src=; "" makes every src= an error. name_space: the namespace of the
  // schema's modules and of the links that its conversations keep; none: the engine's.
  static Result<std::shared_ptr<LoadedSchema>> parse(
      std::shared_ptr<const Engine> engine, std::string_view pml, const std::string& base_dir,
      const std::optional<std::string>& name_space = {});
  static Result<std::shared_ptr<LoadedSchema>> load(
      std::shared_ptr<const Engine> engine, const std::string& path,
      const std::optional<std::string>& name_space = {});
  // A schema that was made for one conversation (pml/turns/chat_pieces.h); nobody uses the names of
  // its modules. offers_stand_ins: what is encoded of them may stand in for modules of other
  // conversations (runtime/schema/chat_stand_ins.h).
  static Result<std::shared_ptr<LoadedSchema>> of(std::shared_ptr<const Engine> engine,
                                                  pml::Schema schema,
                                                  const std::optional<std::string>& name_space,
                                                  bool offers_stand_ins = false);

  // The same schema for the engine's CPU (Engine::on_cpu), made once. It has this schema's verdict,
  // and does not count imports.
  Result<std::shared_ptr<LoadedSchema>> on_cpu(const volatile std::int32_t* cancel) const;

  // The same as if it said attend="slots" (pml::in_slots), another schema with a verdict of its
  // own; null where there is none.
  std::shared_ptr<LoadedSchema> in_slots() const;

  const Engine& engine() const { return *engine_; }
  std::shared_ptr<const Engine> shared_engine() const { return engine_; }
  const pml::Layout& layout() const { return layout_; }
  // Its chat format renders with the date on which the schema was loaded, for prompts as well: they
  // must read as the modules that they import do.
  const pml::TextEncoder& text_encoder() const { return text_encoder_; }
  // Every cause of a module's bytes except its pass (which tokens were computed, and where).
  const ModuleIdentity& identity() const { return identity_; }
  // The modules of the schema by itself, without a prompt; scaffolds last. They live as long as the
  // schema.
  using Modules = std::vector<std::shared_ptr<SchemaModule>>;
  const Modules& modules() const { return known_.kept(); }

  // The repair of the module of a cached run, by the schema: the module's own or an inherited one.
  const pml::Repair& repair_of(const pml::PlanRun& run) const {
    return layout_.modules[layout_.pieces[run.piece].module].repair;
  }

  // A module's own text, without parameters and nested modules.
  std::string own_text(std::uint32_t module) const;

  // Counts which modules prompts import side by side (LoadedPrompt::side_by_side).
  ImportSets& import_sets() const { return import_sets_; }

  // The repair where a module says it itself, and not "auto"; none where only the schema does.
  std::optional<pml::Repair> own_repair(const pml::PlanRun& run) const;

  // What repair="auto" stands for: what a check of answers (runtime/checks/answer_check.h) chose
  // for schemas of this name with this engine's model and states. kNotFound: nothing yet.
  Result<pml::Repair> verdict() const;
  // True: written into the cache directory, for every process. False: that cannot be written, and
  // the verdict is this schema object's alone.
  bool set_verdict(const pml::Repair& repair);

  // When a prompt's modules, all of them, are used as they were encoded together
  // (docs/PML.md, 4.5).
  enum class Together { kNever, kWhereFound, kAlways };

  // A prompt's plan. The last token is fresh, whatever the layout says: its
  // logits are where the answer begins, and they are not stored.
  Result<pml::Plan> plan(const pml::Prompt& prompt, Together together);

  // The plan of a prompt that is these tokens, behind the schema's own text. Where the schema has
  // no text, nothing is put before the tokens, not even BOS. Errors: kInvalidArgument for no
  // tokens, for an id that the model does not have, and for more than pml::kMaxLayoutTokens;
  // kUnsupported where the schema has turns, since bare text cannot follow those.
  Result<pml::Plan> plan(std::span<const TokenId> tokens) const;

  // Does the schema have text that is in every prompt? BOS alone is no text.
  bool has_own_text() const;

  // The modules of a plan's jobs, [plan.jobs]; prompts that need one at once share it.
  Modules modules_of(const pml::Plan& plan);

  // What acquire() would find now; computes and pins nothing, and does not wait
  // for a thread that is encoding the module.
  Lookup peek(SchemaModule& module, bool* held) const;

  // Can this module be encoded at all? Asked before any work. kContextFull, naming the module and
  // both numbers, where its encoding pass is longer than the context window; kBudget where its file
  // would be larger than the whole store may be (EngineOptions::cache_bytes).
  Status check_size(const SchemaModule& module) const;
  // The same of modules that are encoded together, which are a second copy: kBudget also where that
  // would be more than a quarter of the store.
  Status check_share(const SchemaModule& together) const;

  // The module as the engine holds it, or found in the store, or encoded now and, where there is a
  // store, published.
  Result<AcquiredModule> acquire(SchemaModule& module, Encoder& encoder,
                                 const volatile std::int32_t* cancel);

  // Makes modules ready that will be used soon, without encoding any: finds them in the store and
  // has their bytes read ahead, `next` before `others`. The engine holds those of `next` longest.
  Status prefetch(const Modules& next, const Modules& others) const;
  // The other members of the unions that these modules are members of, which the next prompt may
  // choose in their place ("Prompt Cache", section 3.2.3). Where there are many, some of them.
  Modules siblings_of(const Modules& modules) const;

  // Acquires these modules. `done` is called after each, and `waiting`, where there is one,
  // every HelperThread::kTick while `name` is waited for or encoded. Either cancels by returning
  // false; modules that are done stay. Both are called on this thread, and must not throw.
  using Progress =
      std::function<bool(std::uint32_t n_done, const std::string& name, const AcquiredModule&)>;
  using Waiting = std::function<bool(std::uint32_t n_done, const std::string& name)>;
  Status encode(const Modules& modules, const Progress& done, const Waiting& waiting = nullptr);

  // Why modules are not kept on disk although there is a store: the latest
  // failure to publish one; "" if none.
  std::string publish_remark() const;

 private:
  LoadedSchema(std::shared_ptr<const Engine> engine, pml::TextEncoder text_encoder,
               pml::Layout layout, const std::optional<std::string>& name_space,
               bool counts_imports);
  Digest record_key() const;
  Result<AcquiredModule> find_or_encode(const SchemaModule& module, Encoder& encoder,
                                        const volatile std::int32_t* cancel);
  Result<AcquiredModule> publish(const EncodedModule& encoded);
  void offer(const SchemaModule& module) const;

  std::shared_ptr<const Engine> engine_;
  pml::TextEncoder text_encoder_;
  pml::Layout layout_;
  ModuleIdentity identity_;
  KnownModules known_;  // borrows layout_ and identity_
  mutable ImportSets import_sets_;
  bool offers_stand_ins_ = false;
  mutable Mutex verdict_mutex_;
  std::optional<pml::Repair> verdict_ PC_GUARDED_BY(verdict_mutex_);  // that no record has
  mutable Mutex cpu_mutex_;
  mutable std::shared_ptr<LoadedSchema> cpu_ PC_GUARDED_BY(cpu_mutex_);
  mutable Mutex remark_mutex_;
  std::string publish_remark_ PC_GUARDED_BY(remark_mutex_);
};

// "module \"europe/paris\"", or what the anonymous text is called.
std::string job_title(const pml::EncodeJob& job);

}  // namespace pc
