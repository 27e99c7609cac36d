// What ended an answer, as a session's statistics tell it.

#include <catch2/catch.hpp>
#include <cmath>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

struct World {
  World() : path(checkpoint.path()), engine(options()), schema(api::Schema::plain(engine)) {}
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_mode = PC_CACHE_OFF;
    return o;
  }
  api::Session session(const pc_session_options& o) const {
    return api::Session(api::Prompt::from_text(schema, "A tram of Oslo"), o);
  }

  TinyCheckpoint checkpoint{3};
  std::string path;
  api::Engine engine;
  api::Schema schema;
};

std::string text_of(api::Session& session, std::vector<std::int32_t>* ids = nullptr) {
  std::string text;
  session.generate([&](const pc_token& token) {
    text.append(token.text, token.text_bytes);
    if (ids && token.id >= 0) ids->push_back(token.id);
  });
  return text;
}

api::SessionOptions options() {
  api::SessionOptions o;
  o.max_tokens = 24;
  o.temperature = 1.5f;
  o.seed = 3;
  return o;
}

TEST_CASE("a session says which stop string ended its answer, wherever tokens cut it") {
  const World world;
  api::Session whole = world.session(options());
  const std::string text = text_of(whole);
  CHECK(whole.stats().finish == PC_FINISH_LENGTH);
  CHECK(whole.stats().stop == -1);
  CHECK(whole.stats().end_token == -1);
  REQUIRE(text.size() > 8);
  for (std::size_t begin = 0; begin + 2 <= text.size(); ++begin) {
    const std::string stop = text.substr(begin, 2);
    const bool is_text = (stop[0] & 0x80) == 0 && (stop[1] & 0x80) == 0;
    if (!is_text) continue;
    INFO(begin);
    const char* const stops[] = {"never there", "", stop.c_str(), stop.c_str()};
    api::SessionOptions o = options();
    o.stop = stops;
    o.n_stop = 4;
    api::Session session = world.session(o);
    CHECK(text_of(session) == text.substr(0, text.find(stop)));
    CHECK(session.stats().finish == PC_FINISH_STOP);
    CHECK(session.stats().stop == 2);
    CHECK(session.fork().stats().stop == 2);
    // The next answer has not ended, yet.
    session.append_text(" of");
    CHECK(session.stats().stop == -1);
  }
}

TEST_CASE("an answer that goes on behind its stop string has none") {
  const World world;
  std::vector<std::int32_t> ids;
  api::SessionOptions o = options();
  api::Session whole = world.session(o);
  const std::string text = text_of(whole, &ids);
  const std::string first = text.substr(0, 1);
  const char* const stops[] = {first.c_str()};
  o.stop = stops;
  o.n_stop = 1;
  api::Session session = world.session(o);
  text_of(session);
  REQUIRE(session.stats().stop == 0);
  // Its text began with the stop string, but what is drawn from here on need not have it.
  pc_token token{-1, "", 0};
  session.rewind(session.position());
  CHECK(session.stats().stop == -1);
  if (session.next(token))
    CHECK((session.stats().finish == PC_FINISH_STOP) == (session.stats().stop == 0));
}

TEST_CASE("a session says which token ended the model's turn") {
  const World world;
  std::int32_t end = 0;
  while (!world.engine.ends_turn(end)) ++end;
  const pc_token_bias sure[] = {{end, 1e6f}};
  api::SessionOptions o = options();
  o.bias = sure;
  o.n_bias = 1;
  api::Session session = world.session(o);
  CHECK(text_of(session).empty());
  CHECK(session.stats().finish == PC_FINISH_EOS);
  CHECK(session.stats().end_token == end);
  CHECK(session.stats().stop == -1);
}

}  // namespace
}  // namespace pc::test
