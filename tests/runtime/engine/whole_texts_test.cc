// Vectors of whole texts beside transformers' (tests/golden/make_embedding_fixtures.py), and scores
// beside a session's logits.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "runtime/json/json.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;
using Ids = std::vector<std::int32_t>;

// f32 against f32, of numbers below 1 that are summed in another order.
constexpr double kRounding = 2e-6;

struct World {
  explicit World(std::string model) : path(std::move(model)), engine(options()) {}
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_dir = cache.path().c_str();
    o.precision = PC_PRECISION_EXACT;
    return o;
  }

  TempFolder cache;
  std::string path;
  api::Engine engine;
};

struct Expected {
  std::vector<Ids> texts;
  std::vector<std::string> spelled;
  std::vector<std::vector<float>> last, mean;
};

template <class T>
std::vector<T> numbers(JsonView array) {
  std::vector<T> values;
  for (std::size_t i = 0; i < array.size(); ++i)
    values.push_back(static_cast<T>(must(array.at(i).number())));
  return values;
}

Expected read_expected(const std::string& folder) {
  const JsonDocument document = must(JsonDocument::read_file(folder + "/expected.json"));
  const JsonView texts = must(document.root().member("texts"));
  Expected expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const JsonView text = texts.at(i);
    expected.spelled.push_back(must(text.string_or("text", "")));
    expected.texts.push_back(numbers<std::int32_t>(must(text.member("tokens"))));
    expected.last.push_back(numbers<float>(must(text.member("last"))));
    expected.mean.push_back(numbers<float>(must(text.member("mean"))));
  }
  return expected;
}

std::vector<float> embedded(const api::Engine& engine, const std::vector<Ids>& texts,
                            std::uint32_t pooling, std::uint32_t n_dimensions = 0) {
  api::TextsOptions o;
  o.pooling = pooling;
  o.n_dimensions = n_dimensions;
  return engine.embed(texts, o);
}

void check_vectors(const std::vector<float>& got, const std::vector<std::vector<float>>& want,
                   double tolerance = kRounding) {
  REQUIRE(got.size() == want.size() * want[0].size());
  for (std::size_t i = 0, at = 0; i < want.size(); ++i)
    for (std::size_t j = 0; j < want[i].size(); ++j, ++at) {
      INFO("text " << i << ", number " << j);
      CHECK(std::fabs(static_cast<double>(got[at]) - want[i][j]) <= tolerance);
    }
}

template <class Call>
api::Error error_of(Call&& call) {
  try {
    call();
  } catch (const api::Error& error) {
    return error;
  }
  FAIL("no error");
  throw 0;
}

TEST_CASE("vectors of whole texts are those of transformers") {
  const std::string folder = golden("embedding/qwen3");
  const World world(folder);
  const Expected expected = read_expected(folder);
  const pc_engine_facts facts = world.engine.facts();
  CHECK(facts.pooling == PC_POOLING_LAST);
  REQUIRE(facts.n_dimensions == expected.last[0].size());

  for (std::size_t i = 0; i < expected.texts.size(); ++i) {
    INFO(expected.spelled[i]);
    CHECK(world.engine.tokenize(expected.spelled[i], PC_TEXT_END) == expected.texts[i]);
  }
  check_vectors(embedded(world.engine, expected.texts, PC_POOLING_MODEL), expected.last);
  check_vectors(embedded(world.engine, expected.texts, PC_POOLING_MEAN), expected.mean);
}

TEST_CASE("texts that begin alike have the vectors that each has by itself") {
  const World world(golden("embedding/qwen3"));
  const Expected expected = read_expected(world.path);
  // The first two have an instruction of 94 bytes in common.
  const std::vector<Ids> alike(expected.texts.begin(), expected.texts.begin() + 2);
  const auto first_two = [](const auto& all) { return std::vector(all.begin(), all.begin() + 2); };
  check_vectors(embedded(world.engine, alike, PC_POOLING_LAST), first_two(expected.last));
  check_vectors(embedded(world.engine, alike, PC_POOLING_MEAN), first_two(expected.mean));
  // One is the beginning of the other, and both are the same.
  Ids whole = expected.texts[0], part(whole.begin(), whole.begin() + 64);
  for (const std::vector<Ids>& texts : {std::vector{whole, part}, std::vector{part, whole, part}}) {
    for (const std::uint32_t pooling : {PC_POOLING_LAST, PC_POOLING_MEAN}) {
      std::vector<std::vector<float>> apart;
      for (const Ids& text : texts) apart.push_back(embedded(world.engine, {text}, pooling));
      check_vectors(embedded(world.engine, texts, pooling), apart);
    }
  }
}

TEST_CASE("more texts than a step has room for keep their order") {
  const World world(golden("embedding/qwen3"));
  const Expected expected = read_expected(world.path);
  std::vector<Ids> texts;
  std::vector<std::vector<float>> want;
  for (int round = 0; round < 20; ++round) {
    texts.insert(texts.end(), expected.texts.begin(), expected.texts.end());
    want.insert(want.end(), expected.last.begin(), expected.last.end());
  }
  check_vectors(embedded(world.engine, texts, PC_POOLING_MODEL), want);
}

TEST_CASE("a vector cut short has length 1 again") {
  const World world(golden("embedding/qwen3"));
  const Expected expected = read_expected(world.path);
  std::vector<std::vector<float>> want;
  for (const std::vector<float>& vector : expected.last) {
    double squares = 0;
    for (std::size_t i = 0; i < 8; ++i) squares += std::pow(vector[i], 2);
    std::vector<float> cut;
    for (std::size_t i = 0; i < 8; ++i)
      cut.push_back(static_cast<float>(vector[i] / std::sqrt(squares)));
    want.push_back(std::move(cut));
  }
  check_vectors(embedded(world.engine, expected.texts, PC_POOLING_MODEL, 8), want, 1e-5);
}

TEST_CASE("what cannot be embedded is refused by name") {
  const World world(golden("embedding/qwen3"));
  const auto refused = [&](const std::vector<Ids>& texts, std::uint32_t pooling = 0,
                           std::uint32_t n_dimensions = 0) {
    return error_of([&] { embedded(world.engine, texts, pooling, n_dimensions); });
  };
  CHECK(refused({{1, 2}, {}}).status() == PC_INVALID_ARGUMENT);
  CHECK_THAT(refused({{1, 2}, {}}).what(), Catch::Contains("text 1 has no token"));
  CHECK(refused({{1, 100'000}}).status() == PC_INVALID_ARGUMENT);
  CHECK(refused({Ids(513, 1)}).status() == PC_CONTEXT_FULL);
  CHECK_THAT(refused({Ids(513, 1)}).what(), Catch::Contains("513") && Catch::Contains("512"));
  CHECK(refused({{1}}, 3).status() == PC_UNSUPPORTED);
  CHECK(refused({{1}}, 0, 33).status() == PC_INVALID_ARGUMENT);
  CHECK(embedded(world.engine, {}, PC_POOLING_MODEL).empty());
}

TEST_CASE("an embedding that is asked to stop leaves no error behind") {
  const World world(golden("embedding/qwen3"));
  const std::vector<Ids> texts(40, Ids(200, 7));
  api::TextsOptions o;
  int calls = 0;
  o.progress_user = &calls;
  o.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    CHECK(done <= total);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  CHECK(error_of([&] { world.engine.embed(texts, o); }).status() == PC_CANCELLED);
  CHECK(calls == 2);
  CHECK(world.engine.embed({{1, 2, 3}}, api::TextsOptions()).size() == 32);
}

TEST_CASE("scores behind texts are a session's logits") {
  const TinyCheckpoint checkpoint{3};
  const World world(checkpoint.path());
  const api::Schema schema = api::Schema::plain(world.engine);
  std::vector<Ids> texts;
  for (std::int32_t salt = 0; salt < 5; ++salt) {
    Ids text{1};
    for (std::int32_t i = 1; i < 60 + 7 * salt; ++i)
      text.push_back(20 + (i < 50 ? i : i * 37 + salt) % 600);
    texts.push_back(std::move(text));
  }
  const Ids wanted{30, 5, 30};
  const std::vector<float> got = world.engine.score(texts, wanted, api::TextsOptions());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    api::SessionOptions o;
    o.max_tokens = 1;
    api::Session session(api::Prompt::from_tokens(schema, texts[i]), o);
    session.prefill();
    const std::vector<float> logits = session.logits();
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      INFO("text " << i << ", token " << wanted[j]);
      CHECK(std::fabs(got[i * 3 + j] - logits[static_cast<std::size_t>(wanted[j])]) <= 1e-4f);
    }
  }
  CHECK(error_of([&] { world.engine.score(texts, {-1}, api::TextsOptions()); }).status() ==
        PC_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace pc::test
