// What a user waits for, each path a function of its own, for callgrind to count
// the instructions of (instructions.py).
//
//   instruction_paths MODEL CACHE_DIR
//
// MODEL is tests/tools/tiny_model.py's GGUF file: one byte of text is one token,
// matrices are quantised. One thread, so that nothing is counted but work. Exits
// with 77 where this machine lacks the instruction set that PC_ISA names.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <promptcache/promptcache.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/calls/reading/call_stream.h"
#include "runtime/cpu/products/gemm.h"
#include "runtime/packed/packed_weights.h"
#include "runtime/sampling/sampler.h"
#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "tests/support/quant_blocks.h"

// Callgrind finds them by these names: none is inlined, none made one with another.
#define PC_COUNTED extern "C" __attribute__((noinline, used, no_icf)) void

namespace {

constexpr int kSteps = 16;

// Text of about `n` tokens.
std::string words(std::size_t n) {
  std::string text;
  for (int i = 0; text.size() < n; ++i) text += "The " + std::to_string(i * 7919) + "th tram. ";
  return text;
}

std::string schema_text() {
  return "<schema name=\"guide\"><module name=\"short\">" + words(100) +
         "</module><module name=\"long\">" + words(1500) + "</module></schema>";
}

promptcache::Engine open_engine(const char* model, const char* cache_dir) {
  promptcache::EngineOptions options;
  options.model_path = model;
  options.cache_dir = cache_dir;
  options.n_threads = 1;
  return promptcache::Engine(options);
}

void step(promptcache::Session& session, int n) {
  pc_token token{};
  for (int i = 0; i < n; ++i) {
    if (session.next(token)) continue;
    std::fprintf(stderr, "the answer ended after %d tokens\n", i);
    std::exit(1);
  }
}

// A product as the forward pass makes it: m rows with packed weights [256, 512], of
// activations with outliers in many groups, as they enter a feed-forward layer's last matrix.
class Product {
 public:
  Product(pc::simd::Type type, std::uint32_t m)
      : m_(m),
        blocks_(blocks(type)),
        panels_(pack(type)),
        packed_({{blocks_.data(), panels_.data()}}),
        gemm_(*pc::simd::selected_kernels(), pc::Parallel(1), 16, kCols, &packed_),
        w_{blocks_.data(), static_cast<std::uint32_t>(type), kRows, kCols} {}

  void run() { (void)gemm_.linear({x_.data(), m_}, w_, false, y_.data()); }

 private:
  static constexpr std::uint32_t kRows = 256, kCols = 512;

  static std::vector<std::uint8_t> blocks(pc::simd::Type type) {
    pc::test::Random random(1);
    return pc::test::random_blocks(random, type, std::size_t{kRows} * kCols, 0.1f);
  }
  std::vector<std::byte> pack(pc::simd::Type type) const {
    std::vector<std::byte> panels(pc::simd::packed_bytes(type, kRows, kCols));
    for (std::size_t p = 0; p < kRows / pc::simd::kPanelRows; ++p)
      pc::simd::pack_panel(type, blocks_.data(), kRows, kCols, p, panels.data());
    return panels;
  }

  std::uint32_t m_;
  std::vector<std::uint8_t> blocks_;
  std::vector<std::byte> panels_;
  pc::PackedWeights packed_;
  pc::Gemm gemm_;
  pc_tensor w_;
  static std::vector<float> gated(std::size_t n) {
    pc::test::Random random(2);
    std::vector<float> x(n);
    for (float& value : x) {
      const float gate = 3.0f * random.symmetric(), up = 3.0f * random.symmetric();
      value = gate / (1.0f + std::exp(-gate)) * up;
    }
    return x;
  }

  std::vector<float> x_ = gated(16 * kCols), y_ = std::vector<float>(16 * kRows);
};

}  // namespace

// The model's file and its packed weights are there and were verified.
PC_COUNTED counted_open(const char* model, const char* cache_dir) {
  open_engine(model, cache_dir);
}

PC_COUNTED counted_tokenize(const promptcache::Engine& engine, const std::string& text) {
  engine.tokenize(text);
}

PC_COUNTED counted_schema(const promptcache::Engine& engine, const std::string& text) {
  promptcache::Schema::parse(engine, text);
}

// From the prompt's text to its first token; its module is stored.
PC_COUNTED counted_cached_prompt(const promptcache::Schema& schema) {
  promptcache::Session session(promptcache::Prompt(
      schema, "<prompt schema=\"guide\"><short/><user>Which tram is late?</user></prompt>"));
  step(session, 1);
}

// 64 tokens that nobody computed before.
PC_COUNTED counted_prefill(promptcache::Session& session) {
  session.prefill();
}

PC_COUNTED counted_decode(promptcache::Session& session) {
  step(session, kSteps);
}

// The same behind 1500 cached tokens: most of it is attention.
PC_COUNTED counted_decode_deep(promptcache::Session& session) {
  step(session, kSteps);
}

// One token from the vocabulary of a large model, with every filter.
PC_COUNTED counted_sample(pc::Sampler& sampler, const std::vector<float>& logits) {
  sampler.sample(logits);
}

// The same with top-k alone, which looks at few tokens closely.
PC_COUNTED counted_sample_top_k(pc::Sampler& sampler, const std::vector<float>& logits) {
  sampler.sample(logits);
}

// An answer that begins 40,000 calls and makes none.
PC_COUNTED counted_calls(const pc::calls::CallShape& shape, const std::string& answer) {
  pc::calls::read_answer(shape, {}, answer);
}

PC_COUNTED counted_product_q8_0(Product& one, Product& many) {
  one.run(), many.run();
}

PC_COUNTED counted_product_q4_0(Product& one, Product& many) {
  one.run(), many.run();
}

PC_COUNTED counted_product_q4_k(Product& one, Product& many) {
  one.run(), many.run();
}

PC_COUNTED counted_product_q6_k(Product& one, Product& many) {
  one.run(), many.run();
}

namespace {

void count_products() {
  using pc::simd::Type;
  const auto run = [](auto counted, Type type) {
    Product one(type, 1), many(type, 16);
    counted(one, many);
  };
  run(counted_product_q8_0, Type::kQ8_0);
  run(counted_product_q4_0, Type::kQ4_0);
  run(counted_product_q4_k, Type::kQ4_K);
  run(counted_product_q6_k, Type::kQ6_K);
}

void count_sample() {
  constexpr std::uint32_t kVocabulary = 152064;
  pc::test::Random random(3);
  const std::vector<float> logits = random.floats(kVocabulary, 12.0f);
  pc::SamplerOptions options;
  options.temperature = 0.8f;
  options.top_k = kVocabulary / 2;
  options.top_p = 0.95f;
  options.min_p = 1e-6f;
  options.repetition_penalty = 1.1f;
  pc::Sampler sampler(options, kVocabulary);
  counted_sample(sampler, logits);

  options = {};
  options.temperature = 0.8f;
  options.top_k = 40;
  pc::Sampler of_few(options, kVocabulary);
  counted_sample_top_k(of_few, logits);
}

void count_calls() {
  pc::calls::CallShape shape;
  shape.begin = "<tool_call>";
  shape.end = "</tool_call>";
  shape.name_key = "name";
  shape.arguments_key = "arguments";
  std::string answer;
  for (int i = 0; i < 40'000; ++i) answer += "<tool_call>{";
  counted_calls(shape, answer);
}

void count_model(const char* model, const char* cache_dir) {
  const promptcache::Engine engine = open_engine(model, cache_dir);
  counted_open(model, cache_dir);
  const std::string text = words(4000);
  counted_tokenize(engine, text);

  const std::string pml = schema_text();
  counted_schema(engine, pml);
  promptcache::Schema schema = promptcache::Schema::parse(engine, pml);
  schema.encode();
  counted_cached_prompt(schema);

  const auto open = [&](const std::string& body) {
    return promptcache::Session(
        promptcache::Prompt(schema, "<prompt schema=\"guide\">" + body + "</prompt>"));
  };
  promptcache::Session plain = open(words(64)), deep = open("<long/>So?");
  counted_prefill(plain);
  step(plain, 1);
  counted_decode(plain);
  step(deep, 1);
  counted_decode_deep(deep);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  if (!pc::simd::selected_kernels()) return 77;
  count_products();
  count_sample();
  count_calls();
  count_model(argv[1], argv[2]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
