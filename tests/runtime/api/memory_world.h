// What the calls are made with whose allocations fail (out_of_memory_test.cc), and the table of
// these calls. All run in a child process that a sweep begins, but for the paths, which its parent
// asks for first. Threads: one.
#pragma once

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "tests/support/fixture.h"
#include "tests/support/memory_sweep.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {

namespace fs = std::filesystem;

inline constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">The tram costs three euros.</module>
  <module name="trip">A trip of <param name="days" len="6"/> to Oslo.</module>
  <union><module name="b">The museum is open.</module><module name="d">It is shut.</module></union>
  <module name="c">It rains.</module><module name="ü">Over there.</module>
  <scaffold name="both" modules="a b"/></schema>)";
inline constexpr const char* kPrompt =
    R"(<prompt schema="s"><a/><trip days="two days"/><b/><user>Where?</user></prompt>)";

template <auto close>
struct Close {
  template <class T>
  void operator()(T* handle) const {
    close(handle);
  }
};
using Engine = std::unique_ptr<pc_engine, Close<pc_engine_close>>;
using Schema = std::unique_ptr<pc_schema, Close<pc_schema_close>>;
using Prompt = std::unique_ptr<pc_prompt, Close<pc_prompt_close>>;
using Session = std::unique_ptr<pc_session, Close<pc_session_close>>;
using Pin = std::unique_ptr<pc_pin, Close<pc_pin_close>>;
using Store = std::unique_ptr<pc_store, Close<pc_store_close>>;

// A handle or a number that a setup needs.
template <class T, class F>
T made(F f) {
  T value{};
  pc_error error{};
  Attempt::must(f(&value, &error), error);
  return value;
}

template <class F>
void must(F f) {
  pc_error error{};
  Attempt::must(f(&error), error);
}

inline pc_engine_options options_of(const std::string& model, const std::string& cache) {
  pc_engine_options o;
  pc_engine_options_init(&o);
  o.model_path = model.c_str();
  o.cache_dir = cache.c_str();
  o.n_threads = 1;
  o.chat_time = 1;
  return o;
}

inline Engine open_engine(const std::string& model, const std::string& cache) {
  const pc_engine_options o = options_of(model, cache);
  return Engine(made<pc_engine*>([&](auto* e, auto* x) { return pc_engine_open(&o, e, x); }));
}

inline Schema parse_schema(const pc_engine* engine, const char* text = kSchema) {
  return Schema(made<pc_schema*>([&](auto* s, auto* x) {
    return pc_schema_parse(engine, text, PC_NUL_TERMINATED, nullptr, s, x);
  }));
}

inline Prompt parse_prompt(const pc_schema* schema, const char* text = kPrompt) {
  return Prompt(made<pc_prompt*>(
      [&](auto* p, auto* x) { return pc_prompt_parse(schema, text, PC_NUL_TERMINATED, p, x); }));
}

inline pc_session_options session_options() {
  pc_session_options o;
  pc_session_options_init(&o);
  o.max_tokens = 3;
  return o;
}

inline Session open_session(const pc_prompt* prompt) {
  const pc_session_options o = session_options();
  return Session(
      made<pc_session*>([&](auto* s, auto* x) { return pc_session_open(prompt, &o, s, x); }));
}

inline Store open_store(const std::string& cache) {
  return Store(made<pc_store*>(
      [&](auto* s, auto* x) { return pc_store_open(cache.c_str(), PC_CACHE_READ_WRITE, s, x); }));
}

inline pc_token next_token(pc_session* session) {
  return made<pc_token>([&](auto* t, auto* x) { return pc_session_next(session, t, x); });
}

// The rest of its answer.
inline std::string tokens_of(pc_session* session) {
  std::string text;
  for (;;) {
    const pc_token token = next_token(session);
    if (token.id < 0) return text + token.text;
    text += std::to_string(token.id) + " ";
  }
}

inline std::string ask(const pc_schema* schema, const char* prompt = kPrompt) {
  return tokens_of(open_session(parse_prompt(schema, prompt).get()).get());
}

// What times and paths leave alike.
inline std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.') out += c;
  return out;
}

// The model's files: a conversation's turns are written by a template of its own.
inline std::unique_ptr<TinyCheckpoint> make_checkpoint() {
  auto made = std::make_unique<TinyCheckpoint>(35);
  write_chat_template(*made, chat_turns());
  return made;
}

inline const std::string& sentencepiece_path() {
  static const auto checkpoint = make_checkpoint();
  return checkpoint->path();
}

// The same with a tokenizer of the project's own code.
inline const std::string& model_path() {
  static const auto checkpoint = [] {
    auto made = make_checkpoint();
    fs::remove(made->path() + "/tokenizer.model");
    fs::copy(golden("tokenizers/metaspace/tokenizer.json"), made->path() + "/tokenizer.json");
    return made;
  }();
  return checkpoint->path();
}

inline const TempFolder& folder() {
  static const TempFolder one;
  return one;
}

inline std::string new_cache() {
  std::string path = folder().path() + "/cache";
  fs::remove_all(path);
  return path;
}

// An engine with a store that holds the modules of the schema.
struct World {
  World() {
    engine = open_engine(model_path(), cache);
    load();
    ask(schema.get());
  }

  void load() {
    schema = parse_schema(engine.get());
    prompt = parse_prompt(schema.get());
  }
  // No module is known, in memory or in the store.
  void forget() {
    prompt.reset();
    schema.reset();
    clear();
    load();
  }
  void clear() const {
    must([&](auto* x) { return pc_engine_trim(engine.get(), nullptr, x); });
    const Store store = open_store(cache);
    must([&](auto* x) { return pc_store_remove_all(store.get(), nullptr, nullptr, nullptr, x); });
  }
  Session session(int n_drawn = 0) const {
    Session session = open_session(prompt.get());
    for (int i = 0; i < n_drawn; ++i) next_token(session.get());
    return session;
  }
  std::string key() const {
    for (const auto& file : fs::directory_iterator(cache + "/v3/objects"))
      return file.path().stem().string();
    return "";
  }

  const std::string cache = new_cache();
  Engine engine;
  Schema schema;
  Prompt prompt;
};

// A call of the C API, or one use of it.
struct Row {
  const char* name;
  std::function<Scenario()> make;
  long stride = 1;  // where an attempt takes long, the quick form goes on by so many
};

std::vector<Row> engine_rows();
std::vector<Row> schema_rows();
std::vector<Row> prompt_rows();
std::vector<Row> session_rows();
std::vector<Row> constraint_rows();

// A scenario in a world that lasts from attempt to attempt.
template <class F>
std::function<Scenario()> in_world(F f) {
  return [f] {
    auto world = std::make_shared<World>();
    return [f, world](Attempt& a) { f(*world, a); };
  };
}

template <class F>
std::function<Scenario()> alone(F f) {
  return [f] { return [f](Attempt& a) { f(a); }; };
}

}  // namespace pc::test
