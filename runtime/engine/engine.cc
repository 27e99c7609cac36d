#include "runtime/engine/engine.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/mapped_file.h"
#include "pml/turns/chat_template.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/state_map.h"
#include "runtime/backend/states_shape.h"
#include "runtime/chat/program/chat_template_file.h"
#include "runtime/chat/turns/own_chat_format.h"
#include "runtime/engine/backend_loader.h"
#include "runtime/scheduler/log.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"

namespace pc {
namespace {

// Beyond any machine this runs on; OpenMP ends the process when it cannot
// start the threads it is asked for.
constexpr std::uint32_t kMaxThreads = 512;

// A backend's name, and how it is asked for.
constexpr const char* kCpu = "cpu";

// Nobody's modules must leave the store, which evicts no mapped file, most of its budget.
constexpr std::uint64_t kHeldShare = 8;

// pc_pack_options::progress for an OpenProgress.
std::int32_t tell(void* user, std::uint32_t step, std::uint64_t done, std::uint64_t total) {
  const OpenStep named = step == PC_PACK_SUM ? OpenStep::kCheckPacked : OpenStep::kPackWeights;
  return (*static_cast<const OpenProgress*>(user))(named, done, total) ? 0 : 1;
}

}  // namespace

Result<std::string> default_cache_dir() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') {
    return std::string(cache) + "/promptcache";
  }
  if (const char* home = std::getenv("HOME"); home && *home == '/') {
    return std::string(home) + "/.cache/promptcache";
  }
  return error(Code::kInvalidArgument,
               "no directory for the module files: neither XDG_CACHE_HOME nor HOME is set; name "
               "one, or turn the cache off");
}

DigestMemory digest_memory(const EngineOptions& options) {
  DigestMemory memory;
  memory.cache_dir = options.cache_dir;
  if (memory.cache_dir.empty()) {
    if (auto dir = default_cache_dir(); dir.ok()) memory.cache_dir = std::move(dir).value();
  }
  memory.writable = options.cache_mode == CacheMode::kReadWrite;
  return memory;
}

Status check_vocabulary(const Tokenizer& tokenizer, const Model& model) {
  const std::uint32_t rows = model.desc.vocab_size;
  if (tokenizer.vocab_size() <= rows) return ok();
  return error(Code::kMismatch, "the tokenizer in " + model.path + " has " +
                                    std::to_string(tokenizer.vocab_size()) +
                                    " tokens, the model only " + std::to_string(rows) +
                                    ": they do not belong together");
}

Status check_states(const Model& model, KvType type) {
  for (const pc_layer& layer : model.layers) {
    if (kv_type_fits(type, layer.head_dim)) continue;
    return error(Code::kUnsupported, std::string("states of type ") + kv_type_name(type) +
                                         " want a head_dim that is a multiple of " +
                                         std::to_string(kv_type_unit(type)) + ", and that of " +
                                         model.path + " is " + std::to_string(layer.head_dim) +
                                         "; bf16 takes it");
  }
  return ok();
}

std::string Engine::context_words() const {
  const std::uint32_t own = model_->context_tokens;
  return std::to_string(context_tokens_) +
         (own > context_tokens_ ? " (the model's own " + std::to_string(own) + ": --context)" : "");
}

Status check_context(const Model& model, std::uint32_t context_tokens) {
  if (context_tokens <= model.context_tokens) return ok();
  return error(Code::kInvalidArgument, "a context of " + std::to_string(context_tokens) +
                                           " tokens is beyond the model's own of " +
                                           std::to_string(model.context_tokens));
}

std::string too_large(std::uint64_t weight_bytes, std::uint64_t memory_bytes) {
  if (weight_bytes <= memory_bytes) return "";
  const auto mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  return "the model's " + mib(weight_bytes) + " of weights are more than the " + mib(memory_bytes) +
         " of this machine's memory: they are read from the disk again and again, of a "
         "mixture the experts that a token needs";
}

Result<std::shared_ptr<const Engine>> Engine::open(const EngineOptions& options) {
  if (options.n_threads > kMaxThreads) {
    return error(Code::kInvalidArgument, "n_threads is " + std::to_string(options.n_threads) +
                                             "; it may be 1 to " + std::to_string(kMaxThreads) +
                                             ", or 0 for as many as this process may use");
  }
  const Stopwatch watch;
  std::shared_ptr<Engine> engine(new Engine);
  engine->options_ = options;
  engine->options_.progress = nullptr;
  PC_TRY(engine->model_, bind_model(options.model_path, options.context_tokens));
  PC_CHECK_OK(check_context(*engine->model_, options.context_tokens));
  PC_CHECK_OK(check_states(*engine->model_, options.kv_type));
  // Weights that are not known yet take seconds to read and to pack: first whatever may refuse.
  // Those that are known are on their way from the disk while the tokenizer is made, and seldom to
  // be packed again.
  const bool known =
      recall_digest(engine->model_->checkpoint.files, digest_memory(options)).has_value();
  if (!known) PC_CHECK_OK(engine->open_text(options));
  PC_CHECK_OK(engine->open_store(options));
  engine->held_ = std::make_shared<HeldModules>(engine->store_ && engine->store_->writable()
                                                    ? options.cache_bytes / kHeldShare
                                                    : options.cache_bytes);
  PC_CHECK_OK(check_backend_name(options.backend));
  const auto reading = [&](std::uint64_t done, std::uint64_t total) {
    return !options.progress || options.progress(OpenStep::kReadWeights, done, total);
  };
  PC_CHECK_OK(digest_model(digest_memory(options),
                           {.n_threads = options.n_threads, .progress = reading},
                           engine->model_.get()));
  PC_CHECK_OK(engine->open_backend(options));
  if (known) PC_CHECK_OK(engine->open_text(options));
  PC_CHECK_OK(engine->check_weights());
  engine->find_turn_ends();
  engine->context_tokens_ =
      options.context_tokens ? options.context_tokens : engine->model_->context_tokens;

  engine->name_states();
  if (logs(LogLevel::kInfo))
    log(LogLevel::kInfo, "opened " + options.model_path + " on " + engine->backend_->name() +
                             " in " + std::to_string(watch.microseconds() / 1000) + " ms");
  if (!engine->remark_.empty()) log(LogLevel::kWarning, engine->remark_);
  return std::shared_ptr<const Engine>(std::move(engine));
}

bool Engine::is_on_plug_in() const {
  return std::string_view(backend_->name()) != kCpu;
}

Result<std::shared_ptr<const Engine>> Engine::on_cpu(const volatile std::int32_t* cancel) const {
  PC_EXPECT(is_on_plug_in());
  if (!cpu_mutex_.lock(cancel)) return cancelled();  // another was opening it
  const LongMutexLock lock(cpu_mutex_, std::adopt_lock);
  PC_CHECK_OK(check_weights());
  if (cpu_) return cpu_;
  std::shared_ptr<Engine> cpu(new Engine);
  cpu->options_ = options_;
  cpu->options_.backend = kCpu;
  cpu->model_ = model_;
  cpu->tokenizer_ = tokenizer_;
  cpu->text_encoder_ = text_encoder_;
  cpu->whole_chat_ = whole_chat_;
  cpu->own_chat_ = own_chat_;
  cpu->store_ = store_;
  cpu->held_ = held_;
  cpu->counts_ = counts_;
  cpu->turn_ends_ = turn_ends_;
  cpu->context_tokens_ = context_tokens_;
  EngineOptions options = cpu->options_;  // the weights may have to be packed for it
  options.progress = [cancel](OpenStep, std::uint64_t, std::uint64_t) { return !is_set(cancel); };
  PC_CHECK_OK(cpu->open_backend(options));
  PC_CHECK_OK(check_weights());
  cpu->name_states();
  if (!cpu->remark_.empty()) log(LogLevel::kWarning, cpu->remark_);
  cpu_ = std::move(cpu);
  return cpu_;
}

// Every cause of a module's bytes but its pass.
void Engine::name_states() {
  ModuleIdentity& identity = base_identity_;
  identity.weights = model_->weights_digest;
  identity.tokenizer = tokenizer_->digest();
  identity.rope = model_->rope_digest;
  identity.backend = backend_->name();
  identity.numerics_version = backend_->numerics_version();
  if (options_.precision == Precision::kExact) identity.numerics_version |= kExactNumerics;
  if (options_.precision == Precision::kDeterministic)
    identity.numerics_version |= kDeterministicNumerics;
  identity.geometry = geometry();
  identity.n_recurrent = static_cast<std::uint32_t>(n_state_numbers(model_->desc));
  identity.name_space = options_.name_space;
}

Status Engine::check_weights() const {
  if (model_->files_sound()) return ok();
  return error(Code::kIo, "the files of " + model_->path +
                              " were written to, or cannot be read any more, since they were "
                              "opened; open the model again");
}

Result<ModuleHandle> Engine::publish(const ModuleHandle& module, CacheDraft* draft) const {
  PC_EXPECT(store_);
  // States of weights that changed under us must not get the old ones' name.
  if (!model_->files_unchanged())
    return error(Code::kMismatch, "the files of " + model_->path +
                                      " changed since they were opened; open the model again");
  return store_->publish(module, draft);
}

KvGeometry Engine::geometry() const {
  return states_shape(model_->desc, options_.kv_type);
}

std::uint64_t Engine::attached_bytes(std::uint32_t n_tokens) const {
  return geometry().state_bytes(kv_blocks(n_tokens)) +
         StateMapShape(model_->desc, n_tokens).n_numbers() * sizeof(float);
}

// The tokenizer, and through it what PML asks of a model.
Status Engine::open_text(const EngineOptions& options) {
  PC_TRY(tokenizer_, load_tokenizer(options.model_path));
  PC_CHECK_OK(check_vocabulary(*tokenizer_, *model_));
  const Tokenizer* tokenizer = tokenizer_.get();
  text_encoder_.placeholder = tokenizer->placeholder();
  PC_CHECK_OK(open_chat(options));
  const bool add_bos = tokenizer->add_bos();
  if (add_bos) text_encoder_.bos = tokenizer->bos();
  text_encoder_.encode = [this, behind_bos = add_bos && chat_writes_bos()](
                             std::span<const pml::TextSpan> spans, bool opens) {
    return tokenizer_->encode_spans(spans, opens, behind_bos, text_progress());
  };
  std::optional<pml::ChatFormat>& chat = text_encoder_.chat;
  if (chat) chat = with_bos(*std::move(chat));
  return ok();
}

Result<Tokens> Engine::tokenize(std::string_view text, TextRules rules) const {
  const pml::TextSpan span{text, rules.controls};
  PC_TRY(std::vector<Tokens> spans,
         tokenizer_->encode_spans({&span, 1}, rules.opens,
                                  /*chat_writes_bos=*/false, text_progress()));
  Tokens tokens = std::move(spans[0]);
  const std::optional<TokenId>& bos = text_encoder_.bos;
  if (rules.bos && bos && (tokens.empty() || tokens.front() != *bos))
    tokens.insert(tokens.begin(), *bos);
  if (rules.end) {
    const Tokens& end = tokenizer_->facts().text_end;
    tokens.insert(tokens.end(), end.begin(), end.end());
  }
  return tokens;
}

// A format that spells BOS where its chat begins with one and the tokenizer puts none in front.
pml::ChatFormat Engine::with_bos(pml::ChatFormat chat) const {
  if (tokenizer_->add_bos() || !tokenizer_->bos()) return chat;
  return pml::spell_bos(std::move(chat), spelled(*tokenizer_->bos()));
}

// The chat format that the user asks for, else that of the model's own template.
Status Engine::open_chat(const EngineOptions& options) {
  const std::string& asked = options.chat_template;
  if (is_chat_program_file(asked)) {
    PC_TRY(const std::string text, read_chat_program(asked));
    const Status run = run_template(text, asked);
    return run.ok() ? ok() : error(Code::kInvalidArgument, asked + ": " + run.error().message);
  }
  if (!asked.empty()) {
    PC_TRY(pml::ChatTemplate chat, choose_chat_template(asked));
    text_encoder_.chat =
        pml::chat_format(pml::with_eos(std::move(chat), spelled(tokenizer_->eos())));
    return ok();
  }
  const std::string& own = tokenizer_->facts().chat_template;
  if (own.empty()) return ok();
  if (const Status run = run_template(own, kOwnChatFormat); !run.ok())
    add_remark("the model's chat template cannot be used, so role elements need --chat-template: " +
               run.error().message);
  return ok();
}

// From now on this template writes chats.
Status Engine::run_template(const std::string& text, const std::string& name) {
  ChatTokens tokens{spelled(tokenizer_->bos()), spelled(tokenizer_->eos()), {}};
  if (tokenizer_->unk()) tokens.others.emplace("unk_token", spelled(tokenizer_->unk()));
  PC_TRY(const ChatProgram program, ChatProgram::parse(text, std::move(tokens)));
  const ChatClock clock =
      options_.chat_time ? ChatClock::at(*options_.chat_time) : options_.chat_clock;
  whole_chat_.emplace(program, clock);
  own_chat_.emplace(program, clock, name);
  text_encoder_.chat = own_chat_->running();
  return ok();
}

pml::TextEncoder Engine::text_encoder_of_today() const {
  pml::TextEncoder encoder = text_encoder_;
  if (own_chat_) encoder.chat = with_bos(own_chat_->today());
  return encoder;
}

// How the tokenizer spells a control token; "" for none.
std::string Engine::spelled(std::optional<TokenId> token) const {
  std::string text;
  if (token) tokenizer_->append_bytes(*token, &text, Tokenizer::Controls::kSpell);
  return text;
}

// Where the tokenizer begins a text with BOS: is the BOS of a chat its format's own? A format
// other than the model's template has that of the tokenizer. Some templates want a system's
// turn first.
bool Engine::chat_writes_bos() const {
  if (!text_encoder_.chat) return false;
  if (!whole_chat_) return true;  // those of the table that have a BOS do
  const auto& turns = text_encoder_.chat->turns;
  auto chat = turns(std::array{pml::Role::kUser});
  if (!chat.ok()) chat = turns(std::array{pml::Role::kSystem, pml::Role::kUser});
  return chat.ok() && chat->bos;
}

Status Engine::open_backend(const EngineOptions& options) {
  pc_pack_options pack{};
  const bool packs = store_ && store_->has_dir();
  if (packs) {
    pack.cache_dir = store_->options().dir.c_str();
    pack.writable = store_->writable();
    std::ranges::copy(model_->weights_digest, pack.weights);
    pack.progress = options.progress ? tell : nullptr;
    pack.user = const_cast<OpenProgress*>(&options.progress);
  }
  const auto open = [&](const std::string& name) -> Result<BackendModel> {
    PC_TRY(const pc_backend_v1* table, find_backend(name));
    // A device is given all weights; the CPU reads most of them from their packed file.
    for (const MappedFile& file : model_->checkpoint.files)
      if (!name.empty() && name != kCpu) expect_all(file.bytes());
    return BackendModel::open(table, model_->desc, options.kv_type, options.precision,
                              options.n_threads, packs ? &pack : nullptr);
  };
  auto backend = open(options.backend);
  const bool plug_in = !options.backend.empty() && options.backend != kCpu;
  const auto is = [&](Code code) { return !backend.ok() && backend.error().code == code; };
  if (!backend.ok() && plug_in && !options.require_backend && !is(Code::kInvalidArgument) &&
      !is(Code::kCancelled)) {
    fell_back_ = true;
    add_remark("using the CPU: " + backend.error().message);
    backend = open(kCpu);
  }
  if (!backend.ok()) return std::move(backend).error();
  backend_ = std::make_unique<const BackendModel>(std::move(backend).value());
  scheduler_ = std::make_unique<Scheduler>(*backend_, model_->checkpoint.files);
  add_remark(backend_->remark());
  add_remark(too_large(model_->weight_bytes, machine_memory_bytes()));
  // A model that is read for the first time was touched all over; what is needed comes back.
  for (const MappedFile& file : model_->checkpoint.files) file.let_go();
  return ok();
}

static Result<TierOptions> tier_options(const EngineOptions& options) {
  TierOptions tiers{.dirs = options.cache_from, .copy = options.cache_copy};
  for (const std::string& path : options.cache_trust) {
    PC_TRY(PublicKey key, PublicKey::read(path));
    tiers.trusted.push_back(key);
  }
  tiers.remark = [](const std::string& sentence) { log(LogLevel::kWarning, sentence); };
  return tiers;
}

Status Engine::open_store(const EngineOptions& options) {
  if (options.cache_mode == CacheMode::kOff) {
    if (options.cache_from.empty()) return ok();
    return error(Code::kInvalidArgument,
                 "stores behind the store (cache_from) need a store: let the cache mode be "
                 "read-only at least");
  }
  PC_TRY(TierOptions tiers, tier_options(options));
  const auto open = [&]() -> Result<std::unique_ptr<ModuleStore>> {
    StoreOptions store;
    store.tiers = tiers;
    store.dir = options.cache_dir;
    if (store.dir.empty()) {
      auto dir = default_cache_dir();
      if (!dir.ok() && tiers.dirs.empty()) return std::move(dir).error();
      if (dir.ok()) store.dir = std::move(dir).value();
    }
    store.read_only = options.cache_mode == CacheMode::kReadOnly;
    store.budget_bytes = options.cache_bytes;
    return ModuleStore::open(std::move(store));
  };
  auto opened = open();
  // Without a store everything is computed, and answered.
  if (!opened.ok()) {
    if (options.require_store) return std::move(opened).error();
    add_remark("modules are not kept on disk: " + opened.error().message);
    return ok();
  }
  store_ = std::move(opened).value();
  for (const std::string& trouble : store_->tier_remarks()) {
    if (options.require_store) return error(Code::kIo, trouble);
    add_remark(trouble);
  }
  const std::string& why = store_->why_not_writable();
  if (why.empty()) return ok();
  if (options.require_store) return error(Code::kIo, why);
  add_remark("new modules are not kept on disk: " + why);
  return ok();
}

void Engine::add_remark(const std::string& remark) {
  if (!remark.empty()) remark_ += (remark_.empty() ? "" : "; ") + remark;
}

// The ids that the model's files name, and the control token with which the
// chat format ends the assistant's turn, which some files forget.
void Engine::find_turn_ends() {
  turn_ends_ = model_->eos;
  const TokenizerFacts& facts = tokenizer_->facts();
  if (facts.eos) turn_ends_.push_back(*facts.eos);
  turn_ends_.insert(turn_ends_.end(), facts.turn_ends.begin(), facts.turn_ends.end());
  add_turn_end();
  end_in_channels();
  std::sort(turn_ends_.begin(), turn_ends_.end());
}

// An answer in channels (gpt-oss) is several messages, each of which ends as a turn does. The whole
// ends otherwise: it returns, or calls a tool.
void Engine::end_in_channels() {
  const auto control = [this](std::string_view spelling) {
    const auto token = tokenizer_->token_to_id(spelling);
    return token && tokenizer_->is_hidden(*token) ? token : std::nullopt;
  };
  const auto returns = control("<|return|>"), calls = control("<|call|>"),
             ends = control("<|end|>");
  if (!returns || !calls || !ends || !control("<|channel|>")) return;
  std::erase(turn_ends_, *ends);
  turn_ends_.insert(turn_ends_.end(), {*returns, *calls});
}

void Engine::add_turn_end() {
  if (!text_encoder_.chat) return;
  const auto chat = text_encoder_.chat->turns(std::array{pml::Role::kUser, pml::Role::kAssistant});
  if (!chat.ok()) return;
  const auto close = text_encoder_.one({chat->turns[1].close, true}, false);
  if (!close.ok() || close->empty()) return;
  std::string bytes;
  tokenizer_->append_bytes(close->front(), &bytes);
  if (bytes.empty()) turn_ends_.push_back(close->front());
}

bool Engine::ends_turn(TokenId token) const {
  return std::binary_search(turn_ends_.begin(), turn_ends_.end(), token);
}

}  // namespace pc
