// Callers whose structs are shorter than this library's, wherever they end.

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "promptcache/promptcache.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

// The first `size` bytes of options in memory of their own, not a byte more, for who watches.
template <class Options>
std::unique_ptr<unsigned char[]> cut(const Options& whole, std::size_t size) {
  std::unique_ptr<unsigned char[]> bytes(new unsigned char[size]);
  std::memcpy(bytes.get(), &whole, size);
  std::memcpy(bytes.get(), &size, sizeof size);
  return bytes;
}

TEST_CASE("fields that a struct holds wholly count, and those that it cuts do not") {
  const TinyCheckpoint checkpoint(3);
  const std::string path = checkpoint.path();
  pc_engine_options whole;
  pc_engine_options_init(&whole);
  whole.model_path = path.c_str();
  for (std::size_t size = sizeof size; size <= sizeof whole; ++size) {
    INFO(size);
    const auto bytes = cut(whole, size);
    char* json = nullptr;
    pc_error error{};
    const pc_status status =
        pc_model_inspect(reinterpret_cast<const pc_engine_options*>(bytes.get()), &json, &error);
    pc_free(json);
    CHECK(status == (size < 2 * sizeof size ? PC_INVALID_ARGUMENT : PC_OK));
  }
}

TEST_CASE("a pointer of which a struct has a half is none") {
  const TinyCheckpoint checkpoint(3);
  const std::string path = checkpoint.path();
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = path.c_str();
  options.cache_mode = PC_CACHE_OFF;
  options.chat_template = "{% nothing that could be run";
  pc_error error{};
  pc_engine* engine = nullptr;
  CHECK(pc_engine_open(&options, &engine, &error) != PC_OK);
  for (std::size_t kept = 1; kept < sizeof options.chat_template; ++kept) {
    INFO(kept);
    const auto bytes = cut(options, offsetof(pc_engine_options, chat_template) + kept);
    REQUIRE(pc_engine_open(reinterpret_cast<const pc_engine_options*>(bytes.get()), &engine,
                           &error) == PC_OK);
    pc_engine_close(engine);
  }
}

TEST_CASE("sessions of callers whose options end anywhere") {
  const TinyCheckpoint checkpoint(3);
  const std::string path = checkpoint.path();
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = path.c_str();
  options.cache_mode = PC_CACHE_OFF;
  pc_engine* engine = nullptr;
  pc_schema* schema = nullptr;
  pc_prompt* prompt = nullptr;
  REQUIRE(pc_engine_open(&options, &engine, nullptr) == PC_OK);
  REQUIRE(pc_schema_parse(engine, "<schema name='s'><module name='m'>A tram.</module></schema>",
                          PC_NUL_TERMINATED, nullptr, &schema, nullptr) == PC_OK);
  REQUIRE(pc_prompt_parse(schema, "<prompt schema='s'><m/>When?</prompt>", PC_NUL_TERMINATED,
                          &prompt, nullptr) == PC_OK);
  pc_session_options whole;
  pc_session_options_init(&whole);
  whole.max_tokens = 3;
  whole.client = "somebody";
  whole.repair = "none";
  for (std::size_t size = sizeof size; size <= sizeof whole; ++size) {
    INFO(size);
    const auto bytes = cut(whole, size);
    pc_session* session = nullptr;
    REQUIRE(pc_session_open(prompt, reinterpret_cast<const pc_session_options*>(bytes.get()),
                            &session, nullptr) == PC_OK);
    pc_session_close(session);
  }
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_engine_close(engine);
}

}  // namespace
}  // namespace pc::test
