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
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace promptcache {

class Error : public std::runtime_error {
 public:
  explicit Error(const pc_error& e)
      : std::runtime_error(e.message), status_(static_cast<pc_status>(e.status)), line_(e.line), column_(e.column) {}

  pc_status status() const noexcept { return status_; }
  std::uint32_t line() const noexcept { return line_; }      // of the PML document; 0 = not about a place
  std::uint32_t column() const noexcept { return column_; }  // in bytes, 1-based

 private:
  pc_status status_;
  std::uint32_t line_, column_;
};

namespace detail {

template <auto close>
struct Closer {
  template <class T>
  void operator()(T* handle) const noexcept {
    close(handle);
  }
};

// Runs a call that fills a pc_error, and throws what it reports.
template <class Call>
void check(Call&& call) {
  pc_error error{};
  const pc_status status = call(&error);
  if (status == PC_OK) return;
  error.status = status;
  throw Error(error);
}

template <class T, class Call>
T* make(Call&& call) {
  T* made = nullptr;
  check([&](pc_error* error) { return call(&made, error); });
  return made;
}

template <class Call>
std::string text(Call&& call) {
  const std::unique_ptr<char, Closer<pc_free>> owned(make<char>(call));
  return owned.get();
}

inline const char* or_null(const std::string& s) { return s.empty() ? nullptr : s.c_str(); }

}  // namespace detail

// JSON: version, compiler, instruction sets, matrix library, threads.
inline std::string build_describe() {
  return detail::text([](char** json, pc_error* error) { return pc_build_describe(json, error); });
}

// The strings they point to must live until the engine or session is open.
struct EngineOptions : pc_engine_options {
  EngineOptions() { pc_engine_options_init(this); }
};
struct SessionOptions : pc_session_options {
  SessionOptions() { pc_session_options_init(this); }
};

class Engine {
 public:
  explicit Engine(const pc_engine_options& options)
      : handle_(detail::make<pc_engine>(
            [&](pc_engine** engine, pc_error* error) { return pc_engine_open(&options, engine, error); })) {}

  std::string describe() const {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_engine_describe(get(), json, error); });
  }
  std::vector<std::int32_t> tokenize(std::string_view text) const {
    std::vector<std::int32_t> tokens(text.size() + 1);  // a guess; asked again when it is short
    std::size_t n = 0;
    const auto encode = [&](pc_error* error) {
      return pc_tokenize(get(), text.empty() ? "" : text.data(), text.size(), tokens.data(), tokens.size(), &n,
                         error);
    };
    detail::check(encode);
    const bool short_of_room = n > tokens.size();
    tokens.resize(n);
    if (short_of_room) detail::check(encode);
    return tokens;
  }
  std::string detokenize(const std::int32_t* tokens, std::size_t n) const {
    return detail::text(
        [&](char** text, pc_error* error) { return pc_detokenize(get(), tokens, n, text, error); });
  }
  pc_engine* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<pc_engine, detail::Closer<pc_engine_close>> handle_;
};

class Schema {
 public:
  // done, total, module; false cancels, and encode() throws PC_CANCELLED.
  using Progress = std::function<bool(std::uint32_t, std::uint32_t, const char*)>;

  static Schema load(const Engine& engine, const std::string& path) {
    return Schema(detail::make<pc_schema>([&](pc_schema** schema, pc_error* error) {
      return pc_schema_load(engine.get(), path.c_str(), schema, error);
    }));
  }
  // base_dir is where src= is read; empty: src= is an error.
  static Schema parse(const Engine& engine, std::string_view pml, const std::string& base_dir = {}) {
    return Schema(detail::make<pc_schema>([&](pc_schema** schema, pc_error* error) {
      return pc_schema_parse(engine.get(), pml.data(), pml.size(), detail::or_null(base_dir), schema, error);
    }));
  }

  std::string describe() const {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_schema_describe(get(), json, error); });
  }

  // What progress throws, encode throws.
  pc_encode_stats encode(Progress progress = nullptr) {
    struct Call {
      Progress progress;
      std::exception_ptr thrown;
    } call{std::move(progress), nullptr};
    const pc_encode_progress relay = [](void* user, std::uint32_t done, std::uint32_t total, const char* module) {
      auto* c = static_cast<Call*>(user);
      try {
        return c->progress(done, total, module) ? 0 : 1;
      } catch (...) {
        c->thrown = std::current_exception();
        return 1;
      }
    };
    pc_encode_stats stats{};
    stats.struct_size = sizeof stats;
    pc_error error{};
    const pc_status status = pc_schema_encode(get(), call.progress ? relay : nullptr, &call, &stats, &error);
    if (call.thrown) std::rethrow_exception(call.thrown);
    detail::check([&](pc_error* e) { return *e = error, status; });
    return stats;
  }
  pc_schema* get() const noexcept { return handle_.get(); }

 private:
  explicit Schema(pc_schema* schema) : handle_(schema) {}
  std::unique_ptr<pc_schema, detail::Closer<pc_schema_close>> handle_;
};

class Prompt {
 public:
  Prompt(const Schema& schema, std::string_view pml)
      : handle_(detail::make<pc_prompt>([&](pc_prompt** prompt, pc_error* error) {
          return pc_prompt_parse(schema.get(), pml.data(), pml.size(), prompt, error);
        })) {}

  std::string explain() const {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_prompt_explain(get(), json, error); });
  }
  pc_prompt* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<pc_prompt, detail::Closer<pc_prompt_close>> handle_;
};

class Session {
 public:
  explicit Session(const Prompt& prompt, const pc_session_options& options = SessionOptions())
      : handle_(detail::make<pc_session>([&](pc_session** session, pc_error* error) {
          return pc_session_open(prompt.get(), &options, session, error);
        })) {}

  void prefill() {
    detail::check([&](pc_error* error) { return pc_session_prefill(get(), error); });
  }
  // False when the generation is over; the last text may come with it, with id -1.
  // token.text is valid until the next call.
  bool next(pc_token& token) {
    bool over = false;
    detail::check([&](pc_error* error) {
      const pc_status status = pc_session_next(get(), &token, error);
      over = status == PC_DONE;
      return over ? PC_OK : status;
    });
    return !over;
  }
  // Calls on_token(const pc_token&) for each token, and once more with id -1 at the end.
  template <class OnToken>
  void generate(OnToken&& on_token) {
    bool more = true;
    while (more) {
      pc_token token{-1, "", 0};
      more = next(token);
      on_token(static_cast<const pc_token&>(token));
    }
  }
  // A copy of the logits behind the latest token, or the first one after prefill().
  std::vector<float> logits() const {
    const float* data = nullptr;
    std::size_t n = 0;
    detail::check([&](pc_error* error) { return pc_session_logits(get(), &data, &n, error); });
    return std::vector<float>(data, data + n);
  }
  void cancel() noexcept { pc_session_cancel(get()); }
  pc_session_stats stats() const {
    pc_session_stats stats{};
    stats.struct_size = sizeof stats;
    pc_session_get_stats(get(), &stats);
    return stats;
  }
  pc_session* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<pc_session, detail::Closer<pc_session_close>> handle_;
};

// The directory of module files, without a model. An empty dir is the default
// one.
class Store {
 public:
  explicit Store(const std::string& dir = {}, pc_cache_mode mode = PC_CACHE_READ_WRITE)
      : handle_(detail::make<pc_store>([&](pc_store** store, pc_error* error) {
          return pc_store_open(detail::or_null(dir), mode, store, error);
        })) {}

  std::string describe() const {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_store_describe(get(), json, error); });
  }
  std::string show(const std::string& key) const {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_store_show(get(), key.c_str(), json, error); });
  }
  std::string verify(const std::string& key = {}) const {  // JSON; empty: all files
    return detail::text(
        [&](char** json, pc_error* error) { return pc_store_verify(get(), detail::or_null(key), json, error); });
  }
  // Both return the number of files removed.
  std::uint64_t remove(const std::string& key) { return remove_files(key.c_str()); }
  std::uint64_t remove_all() { return remove_files(nullptr); }
  std::string gc(std::uint64_t target_bytes) {  // JSON
    return detail::text([&](char** json, pc_error* error) { return pc_store_gc(get(), target_bytes, json, error); });
  }
  pc_store* get() const noexcept { return handle_.get(); }

 private:
  std::uint64_t remove_files(const char* key) {
    std::uint64_t removed = 0;
    detail::check([&](pc_error* error) { return pc_store_remove(get(), key, &removed, error); });
    return removed;
  }
  std::unique_ptr<pc_store, detail::Closer<pc_store_close>> handle_;
};

}  // namespace promptcache

#endif  // PROMPTCACHE_PROMPTCACHE_HPP_
