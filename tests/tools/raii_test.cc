#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <promptcache/promptcache.hpp>
#include <type_traits>

namespace {

using namespace promptcache;

template <class... Owners>
constexpr bool kMoveOnly = ((std::is_nothrow_move_constructible_v<Owners> &&
                             std::is_nothrow_move_assignable_v<Owners> &&
                             !std::is_copy_constructible_v<Owners> &&
                             !std::is_copy_assignable_v<Owners>)&&...);
static_assert(kMoveOnly<Engine, Schema, Prompt, Session, Store>);

constexpr char kSchema[] =
    R"(<schema name="s"><module name="a">Some text.</module><module name="b">More.</module>)"
    R"(</schema>)";
constexpr char kPrompt[] = R"(<prompt schema="s"><a/><b/>And a question?</prompt>)";

std::string model_path() {
  const char* const path = std::getenv("PC_TINY_MODEL");
  INFO("PC_TINY_MODEL names a folder made by tests/tools/tiny_model.py");
  REQUIRE(path);
  return path;
}

// A store of this process's own, removed at the end.
struct TemporaryDir {
  TemporaryDir() { REQUIRE(mkdtemp(path.data())); }
  std::string path = (std::filesystem::temp_directory_path() / "raii_test.XXXXXX").string();
  ~TemporaryDir() { std::filesystem::remove_all(path); }
};

Engine open(const std::string& dir) {
  const std::string model = model_path();
  EngineOptions options;
  options.model_path = model.c_str();
  options.cache_dir = dir.c_str();
  options.n_threads = 1;
  return Engine(options);
}

template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  std::abort();
}

}  // namespace

TEST_CASE("handles may end in any order, and a session outlives what made it") {
  const TemporaryDir dir;
  auto session = [&] {
    const Engine engine = open(dir.path);
    const Schema schema = Schema::parse(engine, kSchema);
    const Prompt prompt(schema, kPrompt);
    SessionOptions options;
    options.max_tokens = 5;
    return Session(prompt, options);
  }();
  session.prefill();
  CHECK(session.logits().size() == 272);
  std::size_t tokens = 0, ends = 0;
  session.generate([&](const pc_token& token) { ++(token.id < 0 ? ends : tokens); });
  CHECK(ends == 1);
  CHECK(tokens == session.stats().generated_tokens);
  CHECK(session.stats().prompt_tokens ==
        session.stats().cached_tokens + session.stats().computed_tokens);
}

TEST_CASE("a session goes on, and forks") {
  const TemporaryDir dir;
  const Engine engine = open(dir.path);
  const Schema schema = Schema::parse(engine, kSchema);
  SessionOptions options;
  options.max_tokens = 5;
  Session session(Prompt(schema, "<prompt schema=\"s\">plain</prompt>"), options);
  const auto ids = [](Session& s) {
    std::vector<std::int32_t> drawn;
    s.generate([&](const pc_token& token) { drawn.push_back(token.id); });
    return drawn;
  };
  ids(session);
  Session fork = session.fork();
  session.append_text(" text");
  fork.append_text(" text");
  CHECK(session.stats().cached_tokens > 0);
  CHECK(ids(session) == ids(fork));
  // This prompt has no turn.
  CHECK(error_of([&] { session.append({{"user", "And then?"}}); }).status() == PC_INVALID_ARGUMENT);
}

TEST_CASE("an error carries its status, its place and its sentence") {
  const TemporaryDir dir;
  const Engine engine = open(dir.path);
  const Schema schema = Schema::parse(engine, kSchema);
  const Error unknown = error_of([&] { Prompt(schema, "<prompt schema=\"s\">\n  <c/></prompt>"); });
  CHECK(unknown.status() == PC_PML_SEMANTIC);
  CHECK(unknown.line() == 2);
  CHECK(unknown.column() == 3);
  CHECK(std::string(unknown.what()).find("'c'") != std::string::npos);
  const Error missing = error_of([] {
    EngineOptions options;
    options.model_path = "/nonexistent";
    Engine{options};
  });
  CHECK(missing.status() == PC_NOT_FOUND);
  CHECK(missing.line() == 0);
}

TEST_CASE("encoding reports, is cancelled by false, and hands on what the callback throws") {
  const TemporaryDir dir;
  const Engine engine = open(dir.path);
  Schema schema = Schema::parse(engine, kSchema);
  CHECK(error_of([&] {
          schema.encode([](std::uint32_t, std::uint32_t, const char*) { return false; });
        }).status() == PC_CANCELLED);
  CHECK_THROWS_AS(
      schema.encode([](std::uint32_t, std::uint32_t, const char*) -> bool { throw 42; }), int);
  std::uint32_t last = 0, all = 0;
  const pc_encode_stats stats =
      schema.encode([&](std::uint32_t done, std::uint32_t total, const char*) {
        all = total;
        const bool in_order = done == last || done == last + 1;  // waited for, or done
        last = done;
        return in_order;
      });
  CHECK(last == all);
  CHECK(stats.modules == all);
  CHECK(schema.encode().modules_encoded == 0);

  Store store(dir.path);
  CHECK(store.verify_all().find("\"bad\":0") != std::string::npos);
  int n_told = 0;
  const auto leave = [](void* user, std::uint64_t done, std::uint64_t total) {
    CHECK(done < total);
    return ++*static_cast<int*>(user) == 1 ? 0 : 1;
  };
  CHECK(error_of([&] { store.verify_all(leave, &n_told); }).status() == PC_CANCELLED);
  CHECK(n_told == 2);
  // What another process removes between the listing and the reading is not damaged.
  const auto remove_one = [](void* user, std::uint64_t done, std::uint64_t) {
    const std::string objects = *static_cast<const std::string*>(user) + "/v3/objects";
    if (done == 0)
      for (const auto& entry : std::filesystem::directory_iterator(objects))
        std::filesystem::remove(entry.path());
    return 0;
  };
  std::string where = dir.path;
  const std::string gone = store.verify_all(remove_one, &where);
  CHECK(gone.find("\"bad\":0,\"vanished\":" + std::to_string(all)) != std::string::npos);
  schema.encode();
  CHECK(store.remove_all() == all);
  CHECK(error_of([&] { store.remove(""); }).status() == PC_NOT_FOUND);
}

TEST_CASE("text becomes tokens and text again, the empty text too") {
  const TemporaryDir dir;
  const Engine engine = open(dir.path);
  for (const std::string text : {"", "a", "Zürich\n"}) {
    const auto tokens = engine.tokenize(text);
    CHECK(tokens.size() == text.size());
    CHECK(engine.detokenize(tokens.data(), tokens.size()) == text);
  }
  CHECK(engine.tokenize({}).empty());
}

TEST_CASE("a cancelled session says so") {
  const TemporaryDir dir;
  const Engine engine = open(dir.path);
  const Schema schema = Schema::parse(engine, kSchema);
  Session session(Prompt(schema, kPrompt));
  session.cancel();
  pc_token token{};
  CHECK(error_of([&] { session.next(token); }).status() == PC_CANCELLED);
  CHECK(session.stats().finish == PC_FINISH_CANCELLED);
  CHECK(session.next(token));  // and goes on
  CHECK(session.stats().finish != PC_FINISH_CANCELLED);
}

TEST_CASE("a model's files are looked at without an engine") {
  const std::string model = model_path();
  EngineOptions options;
  options.model_path = model.c_str();
  CHECK(model_inspect(options).find("\"refused\":null") != std::string::npos);
  CHECK(model_verify(options).find("\"ok\":true") != std::string::npos);
  options.model_path = "/nonexistent";
  CHECK(error_of([&] { model_inspect(options); }).status() == PC_NOT_FOUND);
  CHECK(error_of([&] { model_verify(options); }).status() == PC_NOT_FOUND);
}
