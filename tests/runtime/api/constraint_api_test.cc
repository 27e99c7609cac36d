// What an application holds answers to: compiled once, whatever sessions do with it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/json/json_value.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

const std::vector<api::Message> kQuestion{{"user", "Where to?"}};
const std::vector<std::string> kChoices{"Oslo", "Bergen", "Bergen by rail"};

struct World {
  World() {
    write_chat_template(checkpoint, chat_turns());
    engine.emplace(options());
    schema.emplace(api::Schema::plain(*engine));
  }
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_mode = PC_CACHE_OFF;
    return o;
  }
  api::Session session(const pc_session_options& o) const {
    return api::Session(api::Prompt(*schema, kQuestion), o);
  }

  TinyCheckpoint checkpoint{3};
  std::string path = checkpoint.path();
  std::optional<api::Engine> engine;
  std::optional<api::Schema> schema;
};

api::SessionOptions drawing(const api::Constraint& constraint, std::uint64_t seed) {
  api::SessionOptions o;
  o.max_tokens = 200;
  o.temperature = 1.0f;
  o.seed = seed;
  o.constraint = constraint.get();
  return o;
}

std::string text_of(api::Session& session) {
  std::string text;
  session.generate([&](const pc_token& token) { text.append(token.text, token.text_bytes); });
  return text;
}

bool is_choice(const std::string& text) {
  return std::ranges::find(kChoices, text) != kChoices.end();
}

pc_status status_of(const std::string& what, const std::string& text, const api::Engine& engine,
                    std::string* message) {
  try {
    if (what == "schema") api::Constraint::from_json_schema(engine, text);
    if (what == "regex") api::Constraint::from_regex(engine, text);
    if (what == "gbnf") api::Constraint::from_gbnf(engine, text);
    return PC_OK;
  } catch (const api::Error& error) {
    *message = error.what();
    return error.status();
  }
}

TEST_CASE("an answer is one of the choices, whatever is drawn, and ends there by itself") {
  const World world;
  const auto constraint = api::Constraint::from_choices(*world.engine, kChoices);
  std::set<std::string> said;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    api::SessionOptions o = drawing(constraint, seed);
    o.temperature = 8.0f;  // so that each comes
    if (seed % 2) o.set_max_draft(0);
    api::Session session = world.session(o);
    const std::string text = text_of(session);
    INFO(seed);
    CHECK(is_choice(text));
    CHECK(session.stats().finish == PC_FINISH_EOS);
    CHECK(world.engine->ends_turn(session.stats().end_token));
    said.insert(text);
  }
  CHECK(said.size() == kChoices.size());  // a longer one behind a shorter one, too
}

TEST_CASE("drafts are what nothing else can follow, and change nothing") {
  const World world;
  const auto constraint =
      api::Constraint::from_choices(*world.engine, {"the one and only text that may be said here"});
  api::SessionOptions o = drawing(constraint, 1);
  api::Session session = world.session(o);
  CHECK(text_of(session) == "the one and only text that may be said here");
  CHECK(session.stats().right_drafts > 0);
  o.set_max_draft(0);
  api::Session undrafted = world.session(o);
  CHECK(text_of(undrafted) == "the one and only text that may be said here");
  CHECK(undrafted.stats().drafted_tokens == 0);
}

// Says nothing, and counts how often it was asked, with room for how much.
struct Asked {
  std::size_t n = 0, least = SIZE_MAX, most = 0;

  static std::size_t draft(void* user, std::int32_t*, std::size_t capacity) {
    auto* const asked = static_cast<Asked*>(user);
    ++asked->n;
    asked->least = std::min(asked->least, capacity);
    asked->most = std::max(asked->most, capacity);
    return 0;
  }
};

TEST_CASE("what is forced is drafted where the application proposes nothing") {
  const World world;
  const auto constraint =
      api::Constraint::from_choices(*world.engine, {"the one and only text that may be said here"});
  Asked asked;
  api::SessionOptions o = drawing(constraint, 1);
  o.draft = Asked::draft;
  o.draft_user = &asked;
  api::Session session = world.session(o);
  CHECK(text_of(session) == "the one and only text that may be said here");
  CHECK(session.stats().right_drafts > 0);
  CHECK(asked.n > 0);
  CHECK((asked.least >= 1 && asked.most == 15));
  o.set_max_draft(0);
  asked = {};
  api::Session undrafted = world.session(o);
  text_of(undrafted);
  CHECK(asked.n == 0);
}

TEST_CASE("an answer in JSON has what the schema says") {
  const World world;
  const auto constraint = api::Constraint::from_json_schema(*world.engine, R"({"type": "object",
      "properties": {"city": {"enum": ["Oslo", "Bergen"]}, "days": {"type": "integer",
      "minimum": 1, "maximum": 14}}, "required": ["city", "days"], "additionalProperties": false})");
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    api::Session session = world.session(drawing(constraint, seed));
    const std::string text = text_of(session);
    INFO(text);
    REQUIRE(session.stats().finish == PC_FINISH_EOS);
    const Json answer = Json::read(text);
    CHECK((answer["city"].string() == "Oslo" || answer["city"].string() == "Bergen"));
    REQUIRE(answer["days"].integer());
    CHECK((*answer["days"].integer() >= 1 && *answer["days"].integer() <= 14));
    CHECK(answer.keys().size() == 2);
  }
}

TEST_CASE("an answer is all that a pattern, or a grammar, says") {
  const World world;
  const auto date = api::Constraint::from_regex(*world.engine, "20[0-9]{2}-(0[1-9]|1[0-2])");
  const auto sum = api::Constraint::from_gbnf(*world.engine,
                                              "root ::= n (\"+\" n){1,3} \".\"\nn ::= [0-9]{1,2}");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    api::Session dated = world.session(drawing(date, seed));
    const std::string month = text_of(dated);
    INFO(month);
    REQUIRE(month.size() == 7);
    CHECK((month.starts_with("20") && month[4] == '-' && std::stoi(month.substr(5)) <= 12));
    api::Session summed = world.session(drawing(sum, seed));
    const std::string text = text_of(summed);
    INFO(text);
    CHECK(text.ends_with("."));
    CHECK(text.find_first_not_of("0123456789+.") == std::string::npos);
    CHECK((std::ranges::count(text, '+') >= 1 && std::ranges::count(text, '+') <= 3));
  }
}

TEST_CASE("what cannot be enforced is told with its place") {
  const World world;
  struct Case {
    const char* what;
    const char* text;
    pc_status status;
    const char* message;
  };
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  const Case cases[] = {
      {"schema", R"({"properties": {"a": {"$ref": "other.json"}}})", PC_UNSUPPORTED,
       "schema/properties/a: \"$ref\" leads out of the schema"},
      {"schema", R"({"type": "array", "uniqueItems": true, "minItems": 2})", PC_UNSUPPORTED,
       "schema: \"uniqueItems\" cannot be enforced here but of enumerated items"},
      {"schema", "false", PC_UNSUPPORTED, "schema: no finite value is valid"},
      {"schema", "[1]", PC_UNSUPPORTED, "schema: it is no schema"},
      {"schema", "{\"type\": }", PC_CORRUPT, "schema: it is not JSON: byte 10"},
      {"schema", R"({"type": "null", "type": "null"})", PC_CORRUPT, "has the key \"type\" twice"},
      {"schema", R"({"minimum": 1e999})", PC_CORRUPT, "schema: a number is beyond"},
      {"schema", "\"\xFF\"", PC_CORRUPT, "it is not JSON"},
      {"schema", deep.c_str(), PC_UNSUPPORTED,
       "schema: more than 64 arrays and objects are in each other"},
      {"schema", R"({"properties": {"a\u0000b": {"$ref": "other.json"}}})", PC_UNSUPPORTED,
       "schema/properties/a?b: \"$ref\" leads out of the schema"},
      {"regex", "ab(?=c)", PC_UNSUPPORTED, "at byte 4: it looks ahead or behind"},
      {"regex", "(a{1000}){1000}", PC_UNSUPPORTED, "regex: this is too large to be enforced"},
      {"regex", "a(", PC_UNSUPPORTED, "regex: the pattern cannot be enforced here, at byte 2"},
      {"regex", "\xFF", PC_INVALID_ARGUMENT, "no UTF-8 from byte 0 on"},
      {"gbnf", "root ::= x\nx ::= x \"a\" | \"b\"", PC_UNSUPPORTED, "may begin with itself"},
      {"gbnf", "root ::= \"a\"\nx ::= *", PC_UNSUPPORTED, "grammar: line 2: "},
  };
  for (const Case& one : cases) {
    std::string message;
    INFO(one.text);
    CHECK(status_of(one.what, one.text, *world.engine, &message) == one.status);
    INFO(message);
    CHECK(message.find(one.message) != std::string::npos);
  }
  for (const std::vector<std::string>& none : {std::vector<std::string>(), {"a", ""}, {"\xC3"}})
    CHECK_THROWS_AS(api::Constraint::from_choices(*world.engine, none), api::Error);
}

TEST_CASE("what is too long is refused before it is read, by its name and its limit") {
  const World world;
  const std::string kib(1024, 'a');
  const auto times = [](const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  // Whatever it says: none of these is JSON, a pattern, or a grammar.
  const std::vector<std::tuple<const char*, std::string, std::string>> cases{
      {"schema", times(kib, 1024) + "{", "schema: more than 1024 KiB cannot be enforced"},
      {"regex", times(kib, 256) + "(", "regex: more than 256 KiB cannot be enforced"},
      {"gbnf", times(kib, 64) + "(", "grammar: more than 64 KiB cannot be enforced"},
  };
  for (const auto& [what, text, expected] : cases) {
    std::string message;
    CHECK(status_of(what, text, *world.engine, &message) == PC_UNSUPPORTED);
    CHECK(message == expected);
  }
  const auto why_not = [&](const std::vector<std::string>& choices) {
    try {
      api::Constraint::from_choices(*world.engine, choices);
    } catch (const api::Error& error) {
      CHECK(error.status() == PC_UNSUPPORTED);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(why_not({"a", times(kib, 200), times(kib, 56), "b"}) ==
        "choices[2], with those before it: more than 256 KiB cannot be enforced");
  CHECK(why_not(std::vector<std::string>(65'537, "a")) ==
        "choices: more than 65536 cannot be enforced");
  CHECK(why_not({"a", times(kib, 200)}) == "choices: this is too large to be enforced");
}

TEST_CASE("many sessions are held to one constraint at once, and it may be closed before them") {
  const World world;
  std::vector<std::string> texts(4);
  {
    std::vector<std::thread> threads;
    auto constraint =
        std::make_unique<api::Constraint>(api::Constraint::from_choices(*world.engine, kChoices));
    std::vector<api::Session> sessions;
    for (std::uint64_t i = 0; i < texts.size(); ++i)
      sessions.push_back(world.session(drawing(*constraint, i)));
    constraint.reset();
    for (std::size_t i = 0; i < texts.size(); ++i)
      threads.emplace_back([&, i] { texts[i] = text_of(sessions[i]); });
    for (std::thread& thread : threads) thread.join();
  }
  for (const std::string& text : texts) CHECK(is_choice(text));
}

TEST_CASE("steps of a batch hold each session to its own") {
  const World world;
  const auto cities = api::Constraint::from_choices(*world.engine, kChoices);
  const auto number = api::Constraint::from_regex(*world.engine, "[0-9]{3}");
  api::Session a = world.session(drawing(cities, 5)), b = world.session(drawing(number, 5));
  std::string said[2];
  for (bool is_over[2] = {false, false}; !is_over[0] || !is_over[1];) {
    const std::vector<api::BatchToken> steps = api::batch_step({&a, &b});
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE(steps[i].error.empty());
      said[i].append(steps[i].token.text, steps[i].token.text_bytes);
      is_over[i] = steps[i].status == PC_DONE;
    }
  }
  CHECK(is_choice(said[0]));
  CHECK((said[1].size() == 3 && said[1].find_first_not_of("0123456789") == std::string::npos));
}

TEST_CASE("forks, what is gone back to and the next answer are held to it from where they are") {
  const World world;
  const auto constraint = api::Constraint::from_regex(*world.engine, "[0-9]{4}-[a-z]{4}");
  const auto is_good = [](const std::string& text) {
    return text.size() == 9 && text[4] == '-' &&
           text.substr(0, 4).find_first_not_of("0123456789") == std::string::npos;
  };
  api::Session session = world.session(drawing(constraint, 2));
  session.prefill();
  const std::uint32_t begin = session.position();
  std::string said;
  for (int i = 0; i < 2; ++i) {
    pc_token token;
    REQUIRE(session.next(token));
    said.append(token.text, token.text_bytes);
  }
  api::Session fork = session.fork();
  CHECK(is_good(said + text_of(fork)));
  CHECK(is_good(said + text_of(session)));
  session.append(kQuestion);
  CHECK(is_good(text_of(session)));
  session.rewind(begin + 2);  // within the first answer
  CHECK(is_good(said + text_of(session)));
  session.rewind(begin);
  CHECK(is_good(text_of(session)));
}

TEST_CASE("what is kept of an answer is a beginning of what its new constraint allows") {
  const World world;
  const auto digits = api::Constraint::from_regex(*world.engine, "[0-9]{9}");
  const auto letters = api::Constraint::from_regex(*world.engine, "[a-z]{4}");
  const auto fewer = api::Constraint::from_regex(*world.engine, "[0-9]{1,9}x");
  api::Session session = world.session(drawing(digits, 2));
  session.prefill();
  const std::uint32_t begin = session.position();
  pc_token token;
  REQUIRE(session.next(token));
  const std::string kept(token.text, token.text_bytes);
  REQUIRE(session.next(token));
  REQUIRE(session.position() == begin + 1);
  session.set_answer(drawing(letters, 2));
  pc_error error{};
  CHECK(pc_session_rewind(session.get(), begin + 1, &error) == PC_INVALID_ARGUMENT);
  const std::string message = error.message;
  INFO(message);
  CHECK(message.find("token 1 of the 1 token that the answer keeps") != std::string::npos);
  CHECK(message.find("is none that the constraint allows there") != std::string::npos);
  // Another that allows what is kept goes on from where that is.
  session.set_answer(drawing(fewer, 2));
  session.rewind(begin + 1);
  const std::string text = kept + text_of(session);
  INFO(text);
  CHECK((text.size() > 1 && text.size() <= 10 &&
         text.find_first_not_of("0123456789") == text.size() - 1));
  CHECK(text.back() == 'x');
  // At its beginning nothing is kept.
  session.set_answer(drawing(letters, 2));
  session.rewind(begin);
  CHECK(text_of(session).size() == 4);
}

// What a mask was told.
struct Told {
  std::set<const pc_session*> sessions;
  std::vector<std::uint32_t> positions;
  std::int32_t forbidden = -1;

  static int mask(void* user, const pc_session* session, std::uint32_t position,
                  std::uint32_t* allowed, std::size_t) {
    auto* const told = static_cast<Told*>(user);
    told->sessions.insert(session);
    told->positions.push_back(position);
    const float* logits = nullptr;
    std::size_t n = 0;
    if (pc_session_logits(session, &logits, &n, nullptr) != PC_OK || n != 700) return 1;
    if (told->forbidden >= 0)
      allowed[told->forbidden / 32] &= ~(std::uint32_t{1} << told->forbidden % 32);
    return 0;
  }
};

TEST_CASE("a mask is told the session and the position of the token, and applies beside it") {
  const World world;
  const auto constraint = api::Constraint::from_regex(*world.engine, "[ab]{6}");
  Told told;
  told.forbidden = world.engine->tokenize("b").back();
  api::SessionOptions o = drawing(constraint, 4);
  o.mask = Told::mask;
  o.mask_user = &told;
  api::Session session = world.session(o);
  session.prefill();
  const std::uint32_t begin = session.position();
  pc_token token;
  REQUIRE(session.next(token));
  CHECK(told.positions == std::vector<std::uint32_t>{begin});
  api::Session fork = session.fork();
  REQUIRE(fork.next(token));
  CHECK(told.positions.back() == begin + 1);
  CHECK(told.sessions == std::set<const pc_session*>{session.get(), fork.get()});
  std::string text;
  while (session.next(token)) CHECK(token.id != told.forbidden);
  CHECK(session.stats().finish == PC_FINISH_EOS);
}

// Allows all tokens but one, whatever was allowed before.
int allow_all_but(void* user, const pc_session*, std::uint32_t, std::uint32_t* allowed,
                  std::size_t n_words) {
  const auto forbidden = *static_cast<const std::int32_t*>(user);
  std::fill_n(allowed, n_words, ~std::uint32_t{0});
  allowed[forbidden / 32] &= ~(std::uint32_t{1} << forbidden % 32);
  return 0;
}

TEST_CASE("a mask that sets bits allows nothing that the constraint forbids") {
  const World world;
  const auto constraint = api::Constraint::from_regex(*world.engine, "[ab]{6}");
  std::int32_t forbidden = world.engine->tokenize("b").back();
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    api::SessionOptions o = drawing(constraint, seed);
    o.temperature = 8.0f;
    o.mask = allow_all_but;
    o.mask_user = &forbidden;
    api::Session session = world.session(o);
    std::string text;
    session.generate([&](const pc_token& token) {
      CHECK(token.id != forbidden);
      text.append(token.text, token.text_bytes);
    });
    INFO(text);
    CHECK((text.size() == 6 && text.find_first_not_of("ab") == std::string::npos));
    CHECK(session.stats().finish == PC_FINISH_EOS);
  }
}

TEST_CASE("a constraint of another engine is refused") {
  const World world;
  const api::Engine other(world.options());
  const auto constraint = api::Constraint::from_choices(other, kChoices);
  pc_session* session = nullptr;
  pc_error error{};
  const api::Prompt prompt(*world.schema, kQuestion);
  const api::SessionOptions o = drawing(constraint, 1);
  CHECK(pc_session_open(prompt.get(), &o, &session, &error) == PC_MISMATCH);
  CHECK(session == nullptr);
  api::Session unheld = world.session(api::SessionOptions());
  CHECK(pc_session_set_answer(unheld.get(), &o, &error) == PC_MISMATCH);
}

TEST_CASE("handles of an engine for other users share its constraints, either way") {
  const World world;
  const api::Engine bob = world.engine->in_namespace("bob");
  const auto of_bob = api::Constraint::from_choices(bob, kChoices);
  const auto of_all = api::Constraint::from_choices(*world.engine, kChoices);
  api::Session all = world.session(drawing(of_bob, 1));
  CHECK(is_choice(text_of(all)));
  const api::Schema schema = api::Schema::plain(bob);
  api::Session his(api::Prompt(schema, kQuestion), drawing(of_all, 1));
  CHECK(is_choice(text_of(his)));
  his.set_answer(drawing(of_bob, 2));
  his.append(kQuestion);
  CHECK(is_choice(text_of(his)));
}

}  // namespace
}  // namespace pc::test
