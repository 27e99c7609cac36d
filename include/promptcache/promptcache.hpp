// promptcache for C++17: move-only owners over promptcache.h, nothing else.
//
// Every failure is thrown as promptcache::Error; reports are JSON in a
// std::string. What promptcache.h says about threads, lifetimes and defaults
// holds here too: handles keep what they need alive and may end in any order;
// all but Session may be used by many threads, and Session::cancel from any.
// A moved-from object may only be assigned to or destroyed.
//
//   promptcache::EngineOptions options;
//   options.model_path = "models/city-guide";
//   promptcache::Engine engine(options);
//   auto schema = promptcache::Schema::load(engine, "guide.pml");
//   promptcache::Prompt prompt(schema, "<prompt schema=\"guide\">Hello</prompt>");
//   promptcache::Session(prompt).generate(
//       [](const pc_token& token) { std::fwrite(token.text, 1, token.text_bytes, stdout); });
#ifndef PROMPTCACHE_PROMPTCACHE_HPP_
#define PROMPTCACHE_PROMPTCACHE_HPP_

#include <promptcache/promptcache.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace promptcache {

class Error : public std::runtime_error {
 public:
  Error(pc_status status, const pc_error& error)
      : std::runtime_error(error.message),
        status_(status),
        line_(error.line),
        column_(error.column) {}

  pc_status status() const noexcept { return status_; }
  std::uint32_t line() const noexcept { return line_; }      // of the PML; 0: not about a place
  std::uint32_t column() const noexcept { return column_; }  // in bytes, 1-based

 private:
  pc_status status_;
  std::uint32_t line_, column_;
};

namespace detail {

inline void check(pc_status status, const pc_error& error) {
  if (status != PC_OK) throw Error(status, error);
}

// function(args..., &error), which may fail.
template <auto function, class... Args>
void call(Args... args) {
  pc_error error{};
  check(function(args..., &error), error);
}

// function(args..., &out, &error): what it puts out.
template <class Out, auto function, class... Args>
Out make(Args... args) {
  Out out{};
  call<function>(args..., &out);
  return out;
}

// function(args..., &out, &error), which fills as much as `out` says that it has.
template <class Out, auto function, class... Args>
Out filled(Args... args) {
  Out out{};
  out.struct_size = sizeof out;
  call<function>(args..., &out);
  return out;
}

template <auto close>
struct Closer {
  template <class T>
  void operator()(T* handle) const noexcept {
    close(handle);
  }
};

// The same for a text that the caller frees.
template <auto function, class... Args>
std::string text(Args... args) {
  return std::unique_ptr<char, Closer<pc_free>>(make<char*, function>(args...)).get();
}

// The same for one that may hold NULs.
template <auto function, class... Args>
std::string sized_text(Args... args) {
  char* text = nullptr;
  std::size_t bytes = 0;
  call<function>(args..., &text, &bytes);
  return std::string(std::unique_ptr<char, Closer<pc_free>>(text).get(), bytes);
}

template <class Handle, auto close>
class Owner {
 public:
  explicit Owner(Handle* handle) : handle_(handle) {}
  Handle* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<Handle, Closer<close>> handle_;
};

template <class Options, auto init>
struct Initialised : Options {
  Initialised() { init(this); }
};

// As C takes them. Borrows the strings.
class Names {
 public:
  Names() = default;
  explicit Names(const std::vector<std::string>& names) {
    auto pointers = std::make_shared<std::vector<const char*>>();
    for (const std::string& name : names) pointers->push_back(name.c_str());
    pointers_ = std::move(pointers);
  }
  const char* const* data() const { return pointers_ ? pointers_->data() : nullptr; }
  std::size_t size() const { return pointers_ ? pointers_->size() : 0; }

 private:
  std::shared_ptr<const std::vector<const char*>> pointers_;  // a copy's are these, too
};

inline const char* or_null(const std::string& s) {
  return s.empty() ? nullptr : s.c_str();
}
inline const char* data(std::string_view s) {
  return s.empty() ? "" : s.data();
}

}  // namespace detail

// JSON: version, compiler, instruction sets, matrix library, threads.
inline std::string build_describe() {
  return detail::text<pc_build_describe>();
}

// Files that are cut short become errors of requests, not signals.
inline void guard_files() {
  detail::call<pc_guard_files>();
}

// The strings they point to must live until the engine or the session is open; `progress`
// of an engine's must not throw.
struct EngineOptions : detail::Initialised<pc_engine_options, pc_engine_options_init> {
  EngineOptions& set_cache_from(const std::vector<std::string>& dirs) {
    from_ = detail::Names(dirs);
    cache_from = from_.data(), n_cache_from = from_.size();
    return *this;
  }
  EngineOptions& set_cache_trust(const std::vector<std::string>& key_files) {
    trust_ = detail::Names(key_files);
    cache_trust = trust_.data(), n_cache_trust = trust_.size();
    return *this;
  }

 private:
  detail::Names from_, trust_;
};
struct SessionOptions : detail::Initialised<pc_session_options, pc_session_options_init> {
  // What is set so is meant, 0 too.
  SessionOptions& set_max_tokens(std::uint32_t n) noexcept {
    max_tokens = n;
    return mean(PC_GIVEN_MAX_TOKENS);
  }
  SessionOptions& set_top_p(float p) noexcept {
    top_p = p;
    return mean(PC_GIVEN_TOP_P);
  }
  SessionOptions& set_repetition_penalty(float penalty) noexcept {
    repetition_penalty = penalty;
    return mean(PC_GIVEN_REPETITION_PENALTY);
  }
  // So many of the likeliest beside each of the prompt's tokens, from number `from` on.
  SessionOptions& set_prompt_logprobs(std::uint32_t n, std::uint32_t from = 0) noexcept {
    prompt_logprobs = n, prompt_logprobs_from = from;
    return mean(PC_GIVEN_PROMPT_LOGPROBS);
  }
  SessionOptions& set_max_draft(std::uint32_t n) noexcept {
    max_draft = n;
    return mean(PC_GIVEN_MAX_DRAFT);
  }

 private:
  SessionOptions& mean(pc_session_given bit) noexcept {
    given |= static_cast<std::uint32_t>(bit);
    return *this;
  }
};

using TextsOptions = detail::Initialised<pc_texts_options, pc_texts_options_init>;

// Reports on a model's files, without an engine: what it is, and whether it is whole.
inline std::string model_inspect(const pc_engine_options& options) {
  return detail::text<pc_model_inspect>(&options);
}
inline std::string model_verify(const pc_engine_options& options) {
  return detail::text<pc_model_verify>(&options);
}

// An empty text: the library's own.
inline std::string model_probe(const pc_engine_options& options, std::string_view text = {}) {
  return detail::text<pc_model_probe>(&options, text.empty() ? nullptr : text.data(), text.size());
}

class Engine : public detail::Owner<pc_engine, pc_engine_close> {
 public:
  explicit Engine(const pc_engine_options& options)
      : Owner(detail::make<pc_engine*, pc_engine_open>(&options)) {}

  // For another user: shares all but modules.
  Engine in_namespace(const std::string& name) const {
    return Engine(detail::make<pc_engine*, pc_engine_in_namespace>(get(), name.c_str()));
  }

  std::string describe() const { return detail::text<pc_engine_describe>(get()); }  // JSON
  pc_engine_facts facts() const {
    return detail::filled<pc_engine_facts, pc_engine_get_facts>(get());
  }
  pc_cache_counts cache_counts() const {
    return detail::filled<pc_cache_counts, pc_engine_get_cache_counts>(get());
  }
  // The bytes of modules that it let go of.
  std::uint64_t trim() const { return detail::make<std::uint64_t, pc_engine_trim>(get()); }
  bool ends_turn(std::int32_t token) const { return pc_engine_ends_turn(get(), token) != 0; }
  // Its bytes live as long as the engine.
  pc_token_facts token(std::int32_t token) const {
    return detail::filled<pc_token_facts, pc_engine_get_token>(get(), token);
  }

  // flags: of pc_text_flags.
  std::vector<std::int32_t> tokenize(std::string_view text, std::uint32_t flags = 0) const {
    std::vector<std::int32_t> tokens(text.size() + 1);  // a guess; asked again where it is short
    for (std::size_t n = 0;;) {
      detail::call<pc_tokenize_text>(get(), detail::data(text), text.size(), flags, tokens.data(),
                                     tokens.size(), &n);
      const bool complete = n <= tokens.size();
      tokens.resize(n);
      if (complete) return tokens;
    }
  }
  std::string detokenize(const std::int32_t* tokens, std::size_t n) const {
    return detail::sized_text<pc_detokenize>(get(), tokens, n);
  }
  // What the model's template makes of a conversation; its JSON as Prompt::from_chat takes it.
  std::string render_chat(std::string_view json) const {
    return detail::sized_text<pc_chat_render>(get(), detail::data(json), json.size());
  }
  // An answer's message with "tool_calls", in JSON, as this model's template wants it.
  std::string called(std::string_view message) const {
    return detail::text<pc_chat_called>(get(), detail::data(message), message.size());
  }

  // See pc_embed: [texts, dimensions].
  std::vector<float> embed(const std::vector<std::vector<std::int32_t>>& texts,
                           const pc_texts_options& options) const {
    const std::size_t width =
        options.n_dimensions != 0 ? options.n_dimensions : facts().n_dimensions;
    std::vector<float> vectors(texts.size() * width);
    const auto views = views_of(texts);
    detail::call<pc_embed>(get(), views.data(), views.size(), &options, vectors.data());
    return vectors;
  }
  // See pc_score: [texts, wanted].
  std::vector<float> score(const std::vector<std::vector<std::int32_t>>& texts,
                           const std::vector<std::int32_t>& wanted,
                           const pc_texts_options& options) const {
    std::vector<float> logits(texts.size() * wanted.size());
    const auto views = views_of(texts);
    detail::call<pc_score>(get(), views.data(), views.size(), wanted.data(), wanted.size(),
                           &options, logits.data());
    return logits;
  }

 private:
  using Owner::Owner;

  static std::vector<pc_text_tokens> views_of(const std::vector<std::vector<std::int32_t>>& texts) {
    std::vector<pc_text_tokens> views;
    views.reserve(texts.size());
    for (const std::vector<std::int32_t>& text : texts) views.push_back({text.data(), text.size()});
    return views;
  }
};

// done, total, module, as of pc_encode_progress; false cancels, and encode() throws PC_CANCELLED.
using EncodeProgress = std::function<bool(std::uint32_t, std::uint32_t, const char*)>;

namespace detail {

// Keeps exceptions of a progress function on this side of the C calls.
struct ProgressRelay {
  EncodeProgress progress;
  std::exception_ptr thrown = nullptr;

  static int show(void* user, std::uint32_t done, std::uint32_t total, const char* module) {
    auto* const relay = static_cast<ProgressRelay*>(user);
    try {
      return relay->progress(done, total, module) ? 0 : 1;
    } catch (...) {
      relay->thrown = std::current_exception();
      return 1;
    }
  }
};

template <auto Encode, class Handle>
pc_encode_stats encode(Handle handle, EncodeProgress progress) {
  ProgressRelay relay{std::move(progress)};
  pc_encode_stats stats{};
  stats.struct_size = sizeof stats;
  pc_error error{};
  const pc_status status =
      Encode(handle, relay.progress ? ProgressRelay::show : nullptr, &relay, &stats, &error);
  if (relay.thrown) std::rethrow_exception(relay.thrown);
  check(status, error);
  return stats;
}

template <auto Hold, class Handle>
pc_pin* pin(Handle handle, EncodeProgress progress) {
  ProgressRelay relay{std::move(progress)};
  pc_pin* held = nullptr;
  pc_error error{};
  const pc_status status =
      Hold(handle, relay.progress ? ProgressRelay::show : nullptr, &relay, &held, &error);
  if (relay.thrown) std::rethrow_exception(relay.thrown);
  check(status, error);
  return held;
}

}  // namespace detail

// Holds modules: of a prompt or of a schema.
class Pin : public detail::Owner<pc_pin, pc_pin_close> {
 private:
  friend class Prompt;
  friend class Schema;
  using Owner::Owner;
};

class Schema : public detail::Owner<pc_schema, pc_schema_close> {
 public:
  using Progress = EncodeProgress;

  static Schema load(const Engine& engine, const std::string& path) {
    return Schema(detail::make<pc_schema*, pc_schema_load>(engine.get(), path.c_str()));
  }
  // base_dir is where src= is read; empty: src= is an error.
  static Schema parse(const Engine& engine, std::string_view pml,
                      const std::string& base_dir = {}) {
    return Schema(detail::make<pc_schema*, pc_schema_parse>(engine.get(), detail::data(pml),
                                                            pml.size(), detail::or_null(base_dir)));
  }

  // One without modules or text, for plain prompts.
  static Schema plain(const Engine& engine) {
    return Schema(detail::make<pc_schema*, pc_schema_plain>(engine.get()));
  }

  std::string describe() const { return detail::text<pc_schema_describe>(get()); }  // JSON
  pc_schema_counts counts() const {
    return detail::filled<pc_schema_counts, pc_schema_get_counts>(get());
  }

  // What progress throws, encode throws.
  Pin pin(Progress progress = nullptr) const {
    return Pin(detail::pin<pc_schema_pin>(get(), std::move(progress)));
  }
  pc_encode_stats encode(Progress progress = nullptr) const {
    return detail::encode<pc_schema_encode>(get(), std::move(progress));
  }

 private:
  using Owner::Owner;
};

// A turn of a chat: a text, or parts, each of which is text or a module of the schema.
struct Argument {
  std::string name, value;
};
struct Part {
  std::string text;
  std::string module = {};  // a path; empty: text
  std::vector<Argument> arguments = {};
};
struct Message {
  std::string role, content;
  std::vector<Part> parts = {};  // where there are any, content does not count
};

namespace detail {

// Messages as the C calls want them. Borrows the messages.
class MessageViews {
 public:
  explicit MessageViews(const std::vector<Message>& messages)
      : parts_(messages.size()), arguments_(messages.size()) {
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const Message& message = messages[m];
      arguments_[m].resize(message.parts.size());
      for (std::size_t p = 0; p < message.parts.size(); ++p) add(message.parts[p], m, p);
      const bool whole = message.parts.empty();
      views_.push_back({message.role.c_str(), whole ? message.content.data() : nullptr,
                        message.content.size(), whole ? nullptr : parts_[m].data(),
                        parts_[m].size()});
    }
  }
  const pc_message* data() const { return views_.data(); }
  std::size_t size() const { return views_.size(); }

 private:
  void add(const Part& part, std::size_t m, std::size_t p) {
    for (const Argument& a : part.arguments)
      arguments_[m][p].push_back({a.name.c_str(), a.value.data(), a.value.size()});
    const bool is_text = part.module.empty();
    parts_[m].push_back({is_text ? part.text.data() : nullptr, part.text.size(),
                         is_text ? nullptr : part.module.c_str(), arguments_[m][p].data(),
                         arguments_[m][p].size()});
  }

  std::vector<pc_message> views_;
  std::vector<std::vector<pc_part>> parts_;
  std::vector<std::vector<std::vector<pc_argument>>> arguments_;
};

}  // namespace detail

using ChatOptions = detail::Initialised<pc_chat_options, pc_chat_options_init>;

// A whole conversation in the text that the model's template writes.
class Chat : public detail::Owner<pc_chat, pc_chat_close> {
 public:
  Chat(const Engine& engine, const std::vector<pc_chat_message>& messages,
       const pc_chat_options& options = ChatOptions())
      : Owner(detail::make<pc_chat*, pc_chat_write>(engine.get(), messages.data(), messages.size(),
                                                    &options)) {}
  // Of JSON.
  Chat(const Engine& engine, std::string_view json)
      : Owner(detail::make<pc_chat*, pc_chat_read>(engine.get(), detail::data(json), json.size())) {
  }
  std::string text() const { return detail::sized_text<pc_chat_text>(get()); }
};

class Prompt : public detail::Owner<pc_prompt, pc_prompt_close> {
 public:
  Prompt(const Schema& schema, std::string_view pml)
      : Owner(detail::make<pc_prompt*, pc_prompt_parse>(schema.get(), detail::data(pml),
                                                        pml.size())) {}
  // Without XML: text is taken as it stands.
  Prompt(const Schema& schema, const std::vector<Message>& messages)
      : Prompt(schema, detail::MessageViews(messages)) {}
  static Prompt from_text(const Schema& schema, std::string_view text) {
    return Prompt(detail::make<pc_prompt*, pc_prompt_from_text>(schema.get(), detail::data(text),
                                                                text.size()));
  }

  // By pc_text_flags.
  static Prompt from_raw_text(const Schema& schema, std::string_view text, std::uint32_t flags) {
    return Prompt(detail::make<pc_prompt*, pc_prompt_from_raw_text>(
        schema.get(), detail::data(text), text.size(), flags));
  }
  static Prompt from_tokens(const Schema& schema, const std::vector<std::int32_t>& tokens) {
    return Prompt(detail::make<pc_prompt*, pc_prompt_from_tokens>(schema.get(), tokens.data(),
                                                                  tokens.size()));
  }

  // A whole conversation, with tools. which: of pc_chat_modules.
  explicit Prompt(const Chat& chat, std::uint32_t which = PC_CHAT_MODULES)
      : Owner(detail::make<pc_prompt*, pc_chat_prompt>(chat.get(), which)) {}
  // The same of JSON.
  static Prompt from_chat(const Engine& engine, std::string_view json) {
    return Prompt(detail::make<pc_prompt*, pc_prompt_from_chat>(engine.get(), detail::data(json),
                                                                json.size()));
  }

  std::string explain() const { return detail::text<pc_prompt_explain>(get()); }  // JSON
  pc_prompt_counts counts() const {
    return detail::filled<pc_prompt_counts, pc_prompt_get_counts>(get());
  }
  // The same, and each run that a module has.
  std::pair<pc_prompt_counts, std::vector<pc_module_run>> look() const {
    std::pair<pc_prompt_counts, std::vector<pc_module_run>> seen{};
    seen.first.struct_size = sizeof seen.first;
    seen.second.resize(16);  // a guess; asked again where it is short
    for (std::size_t n = 0;;) {
      detail::call<pc_prompt_look>(get(), &seen.first, seen.second.data(), seen.second.size(), &n);
      const bool complete = n <= seen.second.size();
      seen.second.resize(n);
      if (complete) return seen;
    }
  }
  std::string remarks() const { return detail::text<pc_prompt_remarks>(get()); }  // a line each

  std::size_t n_tokens() const {
    std::size_t n = 0;
    detail::call<pc_prompt_tokens>(get(), static_cast<std::int32_t*>(nullptr), std::size_t{0}, &n);
    return n;
  }
  // All of them, in order.
  std::vector<std::int32_t> tokens() const {
    std::size_t n = n_tokens();
    std::vector<std::int32_t> tokens(n);
    detail::call<pc_prompt_tokens>(get(), tokens.data(), tokens.size(), &n);
    return tokens;
  }
  void prefetch() const { detail::call<pc_prompt_prefetch>(get()); }
  Pin pin(EncodeProgress progress = nullptr) const {
    return Pin(detail::pin<pc_prompt_pin>(get(), std::move(progress)));
  }

  // What progress throws, encode throws.
  pc_encode_stats encode(EncodeProgress progress = nullptr) const {
    return detail::encode<pc_prompt_encode>(get(), std::move(progress));
  }
  // Its modules once more, together: as exact as a full prefill from then on.
  pc_encode_stats encode_together(EncodeProgress progress = nullptr) const {
    return detail::encode<pc_prompt_encode_together>(get(), std::move(progress));
  }

 private:
  using Owner::Owner;
  Prompt(const Schema& schema, const detail::MessageViews& messages)
      : Owner(detail::make<pc_prompt*, pc_prompt_from_messages>(schema.get(), messages.data(),
                                                                messages.size())) {}
};

// Tools, and how this model writes calls of them. json: the list that templates are given; flags:
// of pc_call_reading.
class Tools : public detail::Owner<pc_tools, pc_tools_close> {
 public:
  Tools(const Engine& engine, std::string_view json)
      : Owner(detail::make<pc_tools*, pc_tools_read>(engine.get(), detail::data(json),
                                                     json.size())) {}
  // Of a whole answer; JSON.
  std::string read(std::string_view answer, std::uint32_t flags = 0) const {
    return detail::text<pc_calls_read>(get(), flags, detail::data(answer), answer.size());
  }
};

// Reads one answer, piece by piece. What it gives lives until its next call.
class CallReader : public detail::Owner<pc_call_reader, pc_call_reader_close> {
 public:
  explicit CallReader(const Tools& tools, std::uint32_t flags = 0)
      : Owner(detail::make<pc_call_reader*, pc_call_reader_open>(tools.get(), flags)) {}
  std::vector<pc_answer_piece> push(std::string_view text) {
    return read(detail::data(text), text.size());
  }
  std::vector<pc_answer_piece> finish() { return read(nullptr, 0); }

 private:
  std::vector<pc_answer_piece> read(const char* text, std::size_t bytes) {
    const pc_answer_piece* pieces = nullptr;
    std::size_t n = 0;
    detail::call<pc_call_reader_push>(get(), text, bytes, &pieces, &n);
    return std::vector<pc_answer_piece>(pieces, pieces + n);
  }
};

// What an answer must be: compiled once for an engine's tokens, for any number of sessions, whose
// options name it: options.constraint = constraint.get().
class Constraint : public detail::Owner<pc_constraint, pc_constraint_close> {
 public:
  static Constraint from_json_schema(const Engine& engine, std::string_view schema) {
    return made<pc_constraint_from_json_schema>(engine, schema);
  }
  // All of the answer is what the pattern takes.
  static Constraint from_regex(const Engine& engine, std::string_view pattern) {
    return made<pc_constraint_from_regex>(engine, pattern);
  }
  static Constraint from_gbnf(const Engine& engine, std::string_view grammar) {
    return made<pc_constraint_from_gbnf>(engine, grammar);
  }
  // A call of the tool `name` (nullptr: of any).
  static Constraint from_tools(const Tools& tools, const char* name = nullptr) {
    return Constraint(detail::make<pc_constraint*, pc_constraint_from_tools>(
        tools.get(), name, static_cast<const char*>(nullptr), std::size_t{0}));
  }
  static Constraint from_choices(const Engine& engine, const std::vector<std::string>& choices) {
    std::vector<const char*> texts;
    for (const std::string& choice : choices) texts.push_back(choice.c_str());
    return Constraint(detail::make<pc_constraint*, pc_constraint_from_choices>(
        engine.get(), static_cast<const char* const*>(texts.data()), texts.size()));
  }

 private:
  using Owner::Owner;
  template <auto from>
  static Constraint made(const Engine& engine, std::string_view text) {
    return Constraint(
        detail::make<pc_constraint*, from>(engine.get(), detail::data(text), text.size()));
  }
};

using AnswersOptions = detail::Initialised<pc_answers_options, pc_answers_options_init>;

// What reuse does to the answers of these prompts of the schema, or of prompts made from it; JSON.
// options.progress must not throw.
inline std::string check_answers(const Schema& schema, const std::vector<Prompt>& prompts = {},
                                 const pc_answers_options& options = AnswersOptions()) {
  std::vector<const pc_prompt*> handles;
  for (const Prompt& prompt : prompts) handles.push_back(prompt.get());
  return detail::text<pc_schema_check_answers>(
      schema.get(), static_cast<const pc_prompt* const*>(handles.data()), handles.size(), &options);
}

class Session : public detail::Owner<pc_session, pc_session_close> {
 public:
  explicit Session(const Prompt& prompt, const pc_session_options& options = SessionOptions())
      : Owner(detail::make<pc_session*, pc_session_open>(prompt.get(), &options)) {}

  void prefill() { detail::call<pc_session_prefill>(get()); }

  // False when the generation is over; the last text may come with it, with id -1.
  // token.text is valid until the next call.
  bool next(pc_token& token) {
    pc_error error{};
    const pc_status status = pc_session_next(get(), &token, &error);
    if (status == PC_DONE) return false;
    detail::check(status, error);
    return true;
  }
  // Calls on_token(const pc_token&) for each token, and once more with id -1 at the end.
  template <class OnToken>
  void generate(OnToken&& on_token) {
    for (bool more = true; more;) {
      pc_token token{-1, "", 0};
      more = next(token);
      on_token(static_cast<const pc_token&>(token));
    }
  }
  // How answers are drawn from the next one on.
  void set_answer(const pc_session_options& options) {
    detail::call<pc_session_set_answer>(get(), &options);
  }
  // Goes on behind the answer with turns of the chat, the last of which is the user's.
  using Message = promptcache::Message;
  void append(const std::vector<Message>& messages) {
    const detail::MessageViews views(messages);
    detail::call<pc_session_append>(get(), views.data(), views.size());
  }
  // The same with the turns of a PML prompt.
  void append_pml(std::string_view pml) {
    detail::call<pc_session_append_pml>(get(), detail::data(pml), pml.size());
  }
  void append_text(std::string_view text) {
    detail::call<pc_session_append_text>(get(), detail::data(text), text.size());
  }
  void append_tokens(const std::vector<std::int32_t>& tokens) {
    detail::call<pc_session_append_tokens>(get(), tokens.data(), tokens.size());
  }
  // Another session that has seen, said and drawn the same.
  Session fork() const { return Session(detail::make<pc_session*, pc_session_fork>(get())); }
  // Of the next token to be computed.
  std::uint32_t position() const { return detail::make<std::uint32_t, pc_session_position>(get()); }
  // Back to a position in an answer; next() goes on from there.
  void rewind(std::uint32_t position) { detail::call<pc_session_rewind>(get(), position); }
  // Puts what was computed into the store; gives the tokens that it has then of the conversation.
  std::uint64_t keep() { return detail::make<std::uint64_t, pc_session_keep>(get()); }
  void cancel() noexcept { pc_session_cancel(get()); }

  // A copy of those behind the latest token or, after prefill(), the first one.
  std::vector<float> logits() const {
    const float* data = nullptr;
    std::size_t n = 0;
    detail::call<pc_session_logits>(get(), &data, &n);
    return std::vector<float>(data, data + n);
  }
  // The n likeliest tokens by the same, the likeliest first.
  std::vector<pc_token_logprob> top_logprobs(std::size_t n) const {
    std::vector<pc_token_logprob> top(n);
    detail::call<pc_session_logprobs>(get(), static_cast<pc_token_logprob*>(nullptr), top.data(),
                                      n);
    return top;
  }
  // Of the latest token.
  pc_token_logprob logprob() const {
    pc_token_logprob drawn{};
    detail::call<pc_session_logprobs>(get(), &drawn, static_cast<pc_token_logprob*>(nullptr),
                                      std::size_t{0});
    return drawn;
  }
  // Of a token of the prompt, where it was asked for, and then n of the likeliest there.
  std::vector<pc_token_logprob> prompt_logprobs(std::size_t index, std::size_t n = 0) const {
    std::vector<pc_token_logprob> all(n + 1);
    detail::call<pc_session_prompt_logprobs>(get(), index, &all[0], &all[0] + 1, n);
    return all;
  }
  pc_session_stats stats() const {
    pc_session_stats stats{};
    stats.struct_size = sizeof stats;
    pc_session_get_stats(get(), &stats);
    return stats;
  }

 private:
  using Owner::Owner;
};

// What a step of a batch gave a session: PC_OK and its token, PC_DONE, PC_PENDING, or its error.
struct BatchToken {
  pc_status status = PC_PENDING;
  pc_token token{-1, "", 0};  // text is valid until the session's next call
  std::string error;          // a sentence; "" without one
};

// The next token of each of these sessions of one engine, computed together.
inline std::vector<BatchToken> batch_step(const std::vector<Session*>& sessions) {
  std::vector<pc_session*> handles;
  for (Session* session : sessions) handles.push_back(session->get());
  std::vector<pc_token> tokens(handles.size());
  std::vector<pc_error> outcomes(handles.size());
  detail::call<pc_batch_step>(handles.data(), handles.size(), tokens.data(), outcomes.data());
  std::vector<BatchToken> steps;
  for (std::size_t i = 0; i < handles.size(); ++i)
    steps.push_back({outcomes[i].status, tokens[i], outcomes[i].message});
  return steps;
}

// The keys in a list that pc_store_sign wrote, a line each.
inline std::string manifest_keys(const std::string& path, const std::vector<std::string>& trust) {
  const detail::Names trusted(trust);
  return detail::text<pc_manifest_keys>(path.c_str(), trusted.data(), trusted.size());
}

// The directory of module files, without a model; reports are JSON. An empty
// dir is the default one.
class Store : public detail::Owner<pc_store, pc_store_close> {
 public:
  explicit Store(const std::string& dir = {}, pc_cache_mode mode = PC_CACHE_READ_WRITE)
      : Owner(detail::make<pc_store*, pc_store_open>(detail::or_null(dir), mode)) {}

  std::string describe() const { return detail::text<pc_store_describe>(get()); }
  std::string show(const std::string& key) const {
    return detail::text<pc_store_show>(get(), key.c_str());
  }
  std::string verify(const std::string& key) const {
    return detail::text<pc_store_verify>(get(), key.c_str());
  }
  void pin(const std::string& key) { detail::call<pc_store_pin>(get(), key.c_str()); }
  void unpin(const std::string& key) { detail::call<pc_store_unpin>(get(), key.c_str()); }
  // To a new file, and from one. No keys: all modules. Import gives the keys, a line each.
  void export_modules(const std::vector<std::string>& keys, const std::string& path,
                      pc_store_progress progress = nullptr, void* user = nullptr) const {
    std::vector<const char*> names;
    for (const std::string& key : keys) names.push_back(key.c_str());
    detail::call<pc_store_export>(get(), names.empty() ? nullptr : names.data(), names.size(),
                                  path.c_str(), progress, user);
  }
  std::string import_modules(const std::string& path, pc_store_progress progress = nullptr,
                             void* user = nullptr) {
    return detail::text<pc_store_import>(get(), path.c_str(), progress, user);
  }
  // From the store in a folder, and the list of this one's files; as pc_store_pull, pc_store_sign.
  // keys: none: all.
  std::string pull(const std::string& from, const std::vector<std::string>& trust,
                   const std::optional<std::vector<std::string>>& keys,
                   pc_store_progress progress = nullptr, void* user = nullptr) {
    const char* const none = nullptr;
    const std::vector<std::string> no_keys;
    const detail::Names trusted(trust), wanted(keys ? *keys : no_keys);
    const char* const* const names = wanted.size() > 0 ? wanted.data() : keys ? &none : nullptr;
    return detail::text<pc_store_pull>(get(), from.c_str(), trusted.data(), trusted.size(), names,
                                       wanted.size(), progress, user);
  }
  std::uint64_t sign(const std::string& private_key, const std::string& with = {},
                     pc_store_progress progress = nullptr, void* user = nullptr) {
    return detail::make<std::uint64_t, pc_store_sign>(get(), detail::or_null(private_key),
                                                      detail::or_null(with), progress, user);
  }
  std::string verify_all(pc_store_progress progress = nullptr, void* user = nullptr) const {
    return detail::text<pc_store_verify_all>(get(), progress, user);
  }
  std::string gc(std::uint64_t target_bytes, pc_store_progress progress = nullptr,
                 void* user = nullptr) {
    return detail::text<pc_store_gc>(get(), target_bytes, progress, user);
  }

  // Both return the number of files removed.
  std::uint64_t remove(const std::string& key) {
    return detail::make<std::uint64_t, pc_store_remove>(get(), key.c_str());
  }
  std::uint64_t remove_all(pc_store_progress progress = nullptr, void* user = nullptr) {
    return detail::make<std::uint64_t, pc_store_remove_all>(get(), progress, user);
  }
};

}  // namespace promptcache

#endif  // PROMPTCACHE_PROMPTCACHE_HPP_
