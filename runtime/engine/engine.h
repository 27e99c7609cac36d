// A loaded model with its tokenizer, its backend and its store: what schemas,
// prompts and sessions share.
//
// Immutable after open, shared by shared_ptr: everything made from an engine
// keeps it alive. Threads: const methods from any thread; the store has its
// own locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/progress.h"
#include "base/status.h"
#include "modules/module_key.h"
#include "modules/module_store.h"
#include "pml/turns/text_encoder.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/backend/precision.h"
#include "runtime/calls/shape/call_shape.h"
#include "runtime/chat/program/chat_clock.h"
#include "runtime/chat/turns/own_chat_format.h"
#include "runtime/chat/whole/whole_chat.h"
#include "runtime/constrain/grammar/constraint.h"
#include "runtime/engine/held_modules.h"
#include "runtime/engine/module_counts.h"
#include "runtime/model/model.h"
#include "runtime/scheduler/long_mutex.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

enum class CacheMode : std::uint32_t { kReadWrite = 0, kReadOnly = 1, kOff = 2 };

// What takes long when a model is opened.
enum class OpenStep : std::uint32_t {
  kReadWeights = 1,  // the first time: hashing and checking every byte of them
  kPackWeights = 2,  // the first time, where they are quantised
  // The first time since the machine started, in deterministic precision; else it is done while
  // answers are made already (runtime/packed/packed_check.h).
  kCheckPacked = 3,
};

// `done` bytes of `total`; returning false stops the opening. Called on the thread of
// Engine::open().
using OpenProgress = std::function<bool(OpenStep step, std::uint64_t done, std::uint64_t total)>;

// `done` bytes of `total` are tokenised; returning false stops that. Called while a long text is
// tokenised, on the thread that does it.
using TextProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

struct EngineOptions {
  std::string model_path;
  std::string cache_dir;  // "" = default_cache_dir()
  CacheMode cache_mode = CacheMode::kReadWrite;
  std::uint64_t cache_bytes = 8ull << 30;
  std::vector<std::string> cache_from;   // stores behind the store (TierOptions)
  std::vector<std::string> cache_trust;  // files of public keys
  TierCopy cache_copy = TierCopy::kAuto;
  std::string name_space;
  KvType kv_type = KvType::kBf16;
  Precision precision = Precision::kFast;
  // A format's name, or the path of a JSON file; "" = the model's own template.
  std::string chat_template;
  // What the model's template is told when it asks for the date, in seconds since
  // 1970 (UTC); none: what the clock shows then.
  std::optional<std::int64_t> chat_time;
  ChatClock chat_clock = {};
  std::string backend;           // "" = the CPU; else a plug-in's path
  bool require_store = false;    // a store that cannot be opened, or written as asked, is an error
  bool require_backend = false;  // no CPU in the place of a plug-in: an error
  std::uint32_t n_threads = 0;
  std::uint32_t context_tokens = 0;  // 0 = the model's own
  OpenProgress progress = nullptr;
  TextProgress text_progress = nullptr;
};

// $XDG_CACHE_HOME/promptcache, else ~/.cache/promptcache; an error where
// neither variable is set.
Result<std::string> default_cache_dir();

// Where digests are remembered with these options; written only where the store may be written.
DigestMemory digest_memory(const EngineOptions& options);

// kMismatch where the tokenizer has ids that the model has no row for.
Status check_vocabulary(const Tokenizer& tokenizer, const Model& model);

// kUnsupported where the model's heads do not fit states of this type.
Status check_states(const Model& model, KvType type);

// kInvalidArgument where the model was not made for so many tokens.
Status check_context(const Model& model, std::uint32_t context_tokens);

class Engine {
 public:
  // Errors name the file, the field or the option, and come before any weight is read where that is
  // possible; kCancelled where progress asked to stop, and then no unfinished file is left. Three
  // things are no errors, and remark() tells of them: a plug-in that cannot be used and is not
  // required (the CPU computes instead), a cache directory that cannot be used and is not required
  // (modules stay in memory), and weights that cannot be packed beside the store (they are used as
  // they are).
  static Result<std::shared_ptr<const Engine>> open(const EngineOptions& options);

  // As given to open(), without `progress`.
  const EngineOptions& options() const { return options_; }
  const Model& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  // The model as PML sees it. Its chat format, where that is the model's own template, renders with
  // the date of the day on which it is asked.
  const pml::TextEncoder& text_encoder() const { return text_encoder_; }
  // The same, but its chat format renders with today's date for ever.
  pml::TextEncoder text_encoder_of_today() const;
  // The model's own chat template, where that is what writes chats.
  const std::optional<WholeChat>& whole_chat() const { return whole_chat_; }
  std::string spelled_bos() const { return spelled(tokenizer_->bos()); }
  const BackendModel& backend() const { return *backend_; }
  Scheduler& scheduler() const { return *scheduler_; }  // of all who compute with this model
  ModuleStore* store() const { return store_.get(); }   // null: modules stay in memory
  HeldModules& held() const { return *held_; }
  ModuleCounts& counts() const { return *counts_; }

  // The user's callback for tokenising long texts; refers to nothing where there is none.
  Progress text_progress() const {
    return options_.text_progress ? Progress(options_.text_progress) : Progress();
  }

  // How tokenize() treats a text outside of all turns. controls: control tokens that the text
  // spells are those tokens; bos: BOS is put in front where the tokenizer adds one and the text
  // does not begin with it; opens: nothing but BOS stands before the text, so that the tokenizer's
  // rule for the start of a text holds; end: the tokens that the tokenizer puts behind a whole text
  // follow. Errors: Tokenizer::encode's.
  struct TextRules {
    bool controls = false, bos = false, opens = true, end = false;
  };
  Result<Tokens> tokenize(std::string_view text, TextRules rules) const;

  // kIo where the model's files are known to hold other bytes than when they were opened.
  Status check_weights() const;

  // Writes a module that this engine encoded into the store, where others find it, and returns it
  // mapped. Errors: ModuleStore::publish's, and kMismatch where the model's files were changed.
  // Precondition: there is a store.
  Result<ModuleHandle> publish(const ModuleHandle& module, CacheDraft* draft) const;

  std::uint32_t context_tokens() const { return context_tokens_; }
  // The window for messages: "40"; where the model's own window is longer, how to open it with
  // that.
  std::string context_words() const;
  KvGeometry geometry() const;
  // What a module's run of n_tokens takes where it is attached: keys, values, and its map of
  // recurrent layers' states.
  std::uint64_t attached_bytes(std::uint32_t n_tokens) const;

  // Every cause of a module's bytes except its pass (which tokens were computed, and where).
  const ModuleIdentity& base_identity() const { return base_identity_; }

  // Compiles grammars for the model's tokens, which it reads when it is first asked for.
  const constrain::Constrainer& constrainer() const;

  // How the model writes calls of tools, learned from its template when it is first asked for;
  // nothing where there are no calls that can be read.
  const std::optional<calls::CallShape>& call_shape() const;

  // Does this token end the model's turn?
  bool ends_turn(TokenId token) const;

  // Does the CPU compute in a plug-in's place?
  bool fell_back() const { return fell_back_; }

  // Is it a plug-in that computes?
  bool is_on_plug_in() const;

  // An engine on the CPU for sessions that the plug-in has no memory for: it borrows this engine's
  // model, tokenizer, chat format and store, and has states of its own. It is opened when first
  // asked for, and kept; it keeps this engine alive. cancel: non-zero ends the opening with
  // kCancelled. kIo as check_weights(). Precondition: is_on_plug_in().
  Result<std::shared_ptr<const Engine>> on_cpu(const volatile std::int32_t* cancel) const;

  // What the user should know about how the engine opened; "" if nothing.
  const std::string& remark() const { return remark_; }

 private:
  Engine() = default;
  Status open_text(const EngineOptions& options);
  Status open_chat(const EngineOptions& options);
  pml::ChatFormat with_bos(pml::ChatFormat chat) const;
  Status run_template(const std::string& text, const std::string& name);
  std::string spelled(std::optional<TokenId> token) const;
  bool chat_writes_bos() const;
  Status open_backend(const EngineOptions& options);
  Status open_store(const EngineOptions& options);
  void name_states();
  void find_turn_ends();
  void add_turn_end();
  void end_in_channels();
  void add_remark(const std::string& remark);

  EngineOptions options_;
  std::shared_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  pml::TextEncoder text_encoder_;  // borrows the engine that opened it
  std::optional<WholeChat> whole_chat_;
  std::optional<OwnChatFormat> own_chat_;        // with whole_chat_
  std::unique_ptr<const BackendModel> backend_;  // borrows model_
  std::unique_ptr<Scheduler> scheduler_;         // borrows backend_
  std::shared_ptr<ModuleStore> store_;
  std::shared_ptr<HeldModules> held_;
  std::shared_ptr<ModuleCounts> counts_ = std::make_shared<ModuleCounts>();
  ModuleIdentity base_identity_;
  std::vector<TokenId> turn_ends_;  // sorted
  std::uint32_t context_tokens_ = 0;
  bool fell_back_ = false;
  std::string remark_;
  mutable std::once_flag reads_vocabulary_, learns_calls_;
  mutable std::optional<calls::CallShape> call_shape_;
  mutable std::optional<constrain::Constrainer> constrainer_;
  mutable LongMutex cpu_mutex_;  // held while it is opened
  mutable std::shared_ptr<const Engine> cpu_ PC_GUARDED_BY(cpu_mutex_);
};

// The remark of an engine whose weights are more than the memory; "" of another. Both in bytes.
std::string too_large(std::uint64_t weight_bytes, std::uint64_t memory_bytes);

}  // namespace pc
