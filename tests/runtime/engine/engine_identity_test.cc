// C2: one store under engines of which each has one thing different from all others: a weight's
// last bit, the tokenizer, the rotation, the type of the states, the arithmetic, the backend, the
// namespace, the chat's format, a token, what is seen. No module of another is found, and the miss
// is named; the identical engine finds all; every answer is the one of a store of its own.
//
// Caught, when it was put into the product: each of these causes left out of the engine's identity;
// but for the backend's name, which the version of its arithmetic stands in for here, and which
// backend_loader_test.cc has by itself.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

// The last bit of one weight of the last layer.
void change_weight(const pc_model_desc& desc) {
  const pc_tensor& w = desc.layers[desc.n_layers - 1].wk;
  auto* const last = static_cast<std::byte*>(const_cast<void*>(w.data)) +
                     (std::size_t{w.rows} * w.cols - 1) * sizeof(float);
  *last ^= std::byte{1};
}

// A model in a folder of its own, with a tokenizer of the project's own code.
class Folder {
 public:
  explicit Folder(const std::function<void(const pc_model_desc&)>& change =
                      [](const pc_model_desc&) {})
      : checkpoint_(51, 1024, 32, change) {  // heads that states of every type fit
    fs::remove(path() + "/tokenizer.model");
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
      fs::copy(golden(std::string("tokenizers/metaspace/") + file), path() + "/" + file);
  }
  // The same with something else written somewhere in a file.
  Folder(const std::string& file, const std::string& old, const std::string& now) : Folder() {
    std::string text = read_file(path() + "/" + file);
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), now);
    fs::remove(path() + "/" + file);
    std::ofstream(path() + "/" + file) << text;
  }
  const std::string& path() const { return checkpoint_.path(); }

 private:
  TinyCheckpoint checkpoint_;
};

// What is opened and asked.
struct Setup {
  std::shared_ptr<const Folder> model;
  EngineOptions options;
  std::string schema = kSchema;
  std::string prompt = R"(<prompt schema="s"><m/><user>When?</user></prompt>)";

  static constexpr const char* kSchema =
      R"(<schema name="s"><system>Start here.</system>)"
      R"(<module name="m">The harbour is far.</module></schema>)";

  void write(const std::string& old, const std::string& now) {
    REQUIRE(schema.find(old) != std::string::npos);
    schema.replace(schema.find(old), old.size(), now);
  }
};

Setup base() {
  static const auto model = std::make_shared<const Folder>();
  Setup setup;
  setup.model = model;
  setup.options.kv_type = KvType::kF32;
  setup.options.chat_template = "llama2";
  setup.options.n_threads = 1;
  return setup;
}

struct Answered {
  std::vector<float> logits;
  std::uint64_t found, not_encoded, encoded;  // modules: in the store; not there; for any reason
};

Answered answer(const Setup& setup, const std::string& cache) {
  EngineOptions options = setup.options;
  options.model_path = setup.model->path();
  options.cache_dir = cache;
  const auto engine = must(Engine::open(options));
  REQUIRE(engine->remark().empty());
  const auto schema = must(LoadedSchema::parse(engine, setup.schema, ""));
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, setup.prompt)), {}));
  must(session->prefill());
  const ModuleCounts& counts = engine->counts();
  return {{session->logits().begin(), session->logits().end()},
          counts.found(),
          counts.encoded(MissReason::kNotEncoded),
          session->stats().modules_encoded};
}

constexpr double kRounding = 1e-4;  // of f32 sums, as in differential_test.cc

double max_apart(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::fabs(a[i] - b[i]));
  return most;
}

// Both modules of the prompt: the text before m, and m.
constexpr std::uint64_t kModules = 2;

struct Row {
  const char* cause;
  std::uint64_t n_misses;  // of the modules; the others have not changed
  std::function<void(Setup&)> change;
};

template <class... Args>
std::function<void(Setup&)> other_model(Args... args) {
  return [=](Setup& s) { s.model = std::make_shared<const Folder>(args...); };
}

// Each is opened on the store that all before it have filled.
std::vector<Row> rows() {
  constexpr const char* kTheta = R"("rope_theta": 10000.0)";
  const auto longrope = other_model("config.json", kTheta, [] {
    const std::string factors = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,";
    return R"("rope_theta": 10000.0, "rope_scaling": {"type": "longrope", "factor": 1,)"
           R"( "original_max_position_embeddings": 256, "short_factor": )" +
           factors + R"(1.5], "long_factor": )" + factors + "2]}";
  }());
  return {
      {"nothing", 2, [](Setup&) {}},
      {"a weight", 2, [](Setup& s) { s.model = std::make_shared<const Folder>(change_weight); }},
      {"a merge of the tokenizer that the text has no use for", 2,
       other_model("tokenizer.json", R"(,["▁b","ridge"])", "")},
      {"the rotation", 2, other_model("config.json", kTheta, R"("rope_theta": 10000.1)")},
      {"a rotation for long contexts", 2, longrope},
      {"the same, opened for a short one", 2,
       [longrope](Setup& s) {
         longrope(s);
         s.options.context_tokens = 200;
       }},
      {"states in bf16", 2, [](Setup& s) { s.options.kv_type = KvType::kBf16; }},
      {"states in 8 bits", 2, [](Setup& s) { s.options.kv_type = KvType::kQ8; }},
      {"states in 4 bits", 2, [](Setup& s) { s.options.kv_type = KvType::kQ4; }},
      {"the precision", 2, [](Setup& s) { s.options.precision = Precision::kExact; }},
      {"sums of one order", 2, [](Setup& s) { s.options.precision = Precision::kDeterministic; }},
      {"a namespace", 2, [](Setup& s) { s.options.name_space = "alice"; }},
      {"another namespace", 2, [](Setup& s) { s.options.name_space = "alic"; }},
      {"the backend", 2, [](Setup& s) { s.options.backend = PC_FAKE_BACKEND_PLAIN; }},
      {"a version of its arithmetic", 2,
       [](Setup& s) { s.options.backend = PC_FAKE_BACKEND_RENEWED; }},
      {"the chat's format", 2, [](Setup& s) { s.options.chat_template = "zephyr"; }},
      {"a token of what stands before", 2, [](Setup& s) { s.write("Start", "Begin"); }},
      {"a token of the module", 1, [](Setup& s) { s.write("far.", "far!"); }},
      {"a token more", 1, [](Setup& s) { s.write("far.", "far. So"); }},
      {"attend=self", 2, [](Setup& s) { s.write(R"("s")", R"("s" attend="self")"); }},
      {"attend=schema", 2, [](Setup& s) { s.write(R"("s")", R"("s" attend="schema")"); }},
  };
}

TEST_CASE(
    "engines of which one thing differs find none of each other's modules, and all of their own") {
  const TempFolder shared;
  std::vector<Answered> first;
  std::vector<Setup> setups;
  for (const Row& row : rows()) {
    INFO(row.cause);
    Setup& setup = setups.emplace_back(base());
    row.change(setup);
    const Answered& here = first.emplace_back(answer(setup, shared.path()));
    CHECK(here.not_encoded == row.n_misses);
    CHECK(here.encoded == row.n_misses);
    CHECK(here.found == kModules - row.n_misses);
    // What is encoded behind a module that was found is the same but for rounding (encoder.h).
    const TempFolder own;
    const double apart = max_apart(here.logits, answer(setup, own.path()).logits);
    CHECK(apart <= (row.n_misses == kModules ? 0 : kRounding));
  }
  // The identical control, where the modules of all others lie beside its own.
  for (std::size_t i = 0; i < setups.size(); ++i) {
    INFO(rows()[i].cause);
    const Answered again = answer(setups[i], shared.path());
    CHECK(again.found == kModules);
    CHECK(again.encoded == 0);
    CHECK(max_apart(again.logits, first[i].logits) == 0);
  }
}

}  // namespace
}  // namespace pc::test
