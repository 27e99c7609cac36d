// What does holding an answer to a schema cost, beside a step of decoding?
//
//   constrain_bench MODEL [--tokens 160] [--answers 3]
//
// For each of some schemas, answers that are drawn at temperature 1, each another: of each step the
// time that the mask takes (with the token before it accepted), and the time of the step without.
// "cold": the first answer, when no mask is known. "warm": those behind it. "again": the first
// answer once more, whose masks are all known. Milliseconds; one thread masks, the engine decodes
// as it always does.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "runtime/constrain/grammar/constraint.h"
#include "tools/serve/models/model_vocabulary.h"

namespace pc::bench {
namespace {

using constrain::Constrainer;
using constrain::Constraint;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Schema {
  const char* name;
  const char* json;
};
constexpr Schema kSchemas[] = {
    {"any object", R"({"type":"object","minProperties":1})"},
    {"person",
     R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
      "email":{"type":"string","format":"email"},"tags":{"type":"array","items":{"type":"string"},"minItems":3}},
      "required":["name","age","email","tags"],"additionalProperties":false})"},
    {"limited strings",
     R"({"type":"object","properties":{"title":{"type":"string","minLength":20,"maxLength":120},
      "summary":{"type":"string","minLength":100,"maxLength":400}},"required":["title","summary"]})"},
    {"alternatives",
     R"({"type":"object","properties":{"edits":{"type":"array","minItems":4,"items":{"anyOf":[
      {"type":"object","properties":{"line":{"type":"integer"},"insert":{"type":"string"}},"required":["line","insert"]},
      {"type":"object","properties":{"line":{"type":"integer"},"replace":{"type":"string"}},"required":["line","replace"]},
      {"type":"object","properties":{"line":{"type":"integer"},"delete":{"const":true}},"required":["line","delete"]}]}}},
      "required":["edits"]})"},
    {"pattern",
     R"({"type":"object","properties":{"path":{"type":"string","pattern":"^(/[\\w.-]+){3,12}$"},
      "words":{"type":"string","pattern":"^[A-Z][a-z]+( [a-z]+){8,40}\\.$"}},"required":["path","words"]})"},
};

struct Times {
  std::vector<double> masks, steps;

  void add(const Times& other) {
    masks.insert(masks.end(), other.masks.begin(), other.masks.end());
    steps.insert(steps.end(), other.steps.begin(), other.steps.end());
  }
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// Times the mask from within the call that asks for it.
struct TimedMask {
  Constraint constraint;
  double ms = 0;

  static int hook(void* user, const pc_session*, std::uint32_t, std::uint32_t* allowed,
                  std::size_t n_words) {
    auto* const self = static_cast<TimedMask*>(user);
    const auto start = Clock::now();
    self->constraint.mask({allowed, n_words});
    self->ms += ms_since(start);
    return 0;
  }
};

Times answer(const promptcache::Prompt& prompt, Constraint constraint, std::uint32_t tokens,
             std::uint64_t seed) {
  TimedMask mask{std::move(constraint)};
  promptcache::SessionOptions options;
  options.set_max_draft(0);  // one token a step is what is measured
  options.max_tokens = tokens;
  options.temperature = 1;
  options.seed = seed;
  options.mask = TimedMask::hook;
  options.mask_user = &mask;
  promptcache::Session session(prompt, options);
  session.prefill();
  Times times;
  pc_token token;
  for (auto start = Clock::now(); session.next(token); start = Clock::now()) {
    const double all = ms_since(start);
    const auto accepting = Clock::now();
    if (!mask.constraint.accept(token.id)) throw std::runtime_error("a token was not accepted");
    times.steps.push_back(all - mask.ms);
    times.masks.push_back(mask.ms + ms_since(accepting));
    mask.ms = 0;
  }
  return times;
}

void print_row(const char* schema, const char* what, const Times& times) {
  const double step = quantile(times.steps, 0.5);
  std::printf("| %s | %s | %zu | %.3f | %.3f | %.3f | %.2f | %.1f %% |\n", schema, what,
              times.masks.size(), mean(times.masks), quantile(times.masks, 0.99),
              quantile(times.masks, 1), step, 100 * mean(times.masks) / step);
  std::fflush(stdout);
}

void measure(const Schema& schema, Constrainer& constrainer, const promptcache::Prompt& prompt,
             std::uint32_t tokens, std::uint32_t answers) {
  const auto start = Clock::now();
  const auto grammar = constrain::json_schema(Json::read(schema.json), schema.name);
  const Constraint constraint = constrainer.start(grammar).value();
  std::printf("| %s | compiling it | | %.3f | | | | |\n", schema.name, ms_since(start));
  print_row(schema.name, "cold", answer(prompt, constraint, tokens, 1));
  Times warm;
  for (std::uint32_t i = 0; i < answers; ++i) warm.add(answer(prompt, constraint, tokens, 2 + i));
  print_row(schema.name, "warm", warm);
  print_row(schema.name, "again", answer(prompt, constraint, tokens, 1));
}

int run(int argc, char** argv) {
  std::uint32_t tokens = 160, answers = 3;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--tokens") tokens = static_cast<std::uint32_t>(std::stoul(argv[i + 1]));
    if (name == "--answers") answers = static_cast<std::uint32_t>(std::stoul(argv[i + 1]));
  }
  promptcache::EngineOptions options;
  options.model_path = argv[1];
  const promptcache::Engine engine(options);
  const auto start = Clock::now();
  Constrainer constrainer(serve::vocabulary_of(engine));
  std::printf("%u tokens in the vocabulary, read in %.0f ms\n\n", engine.facts().vocab_size,
              ms_since(start));
  const promptcache::Prompt prompt = promptcache::Prompt::from_text(
      promptcache::Schema::plain(engine), "This is about a person that I know, in JSON:\n");
  std::printf(
      "| schema | answer | steps | mask, mean | p99 | most | step | share "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const Schema& schema : kSchemas) measure(schema, constrainer, prompt, tokens, answers);
  return 0;
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fputs("usage: constrain_bench MODEL [--tokens 160] [--answers 3]\n", stderr);
    return 2;
  }
  return pc::bench::run(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "constrain_bench: %s\n", error.what());
  return 1;
}
