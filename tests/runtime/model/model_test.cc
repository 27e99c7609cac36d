// Checkpoints written by transformers, loaded and computed by the dense
// oracle in double precision: what remains is the reference's own rounding.
#include "runtime/model/model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "runtime/json/json.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/fixture.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

// Both sides see the same weights; the reference's f32 leaves at most this.
constexpr double kTolerance = 1e-4;

const char* const kModels[] = {"llama",
                               "llama_bias",
                               "llama_rope_linear",
                               "llama_rope_llama3_tied_bf16",
                               "llama_rope_llama3_tied_bf16_v4",
                               "llama_rope_yarn",
                               "llama_sharded_f16",
                               "mistral_window8",
                               "qwen2",
                               "qwen2_window",
                               "qwen3",
                               "smollm2_v4"};

std::unique_ptr<Model> load(const std::string& folder, std::uint32_t context = 0) {
  auto model = load_model({.path = folder, .context_tokens = context});
  if (!model.ok()) FAIL(model.error().message);
  return std::move(model).value();
}

std::vector<std::int32_t> integers(JsonView list) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.push_back(static_cast<std::int32_t>(*list.at(i).integer()));
  return out;
}

double largest_difference(const std::vector<double>& a, const float* b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<DenseRow> causal_rows(const std::vector<std::int32_t>& tokens,
                                  const std::vector<std::int32_t>& positions) {
  std::vector<DenseRow> rows;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    std::vector<std::uint32_t> sees(i + 1);
    std::iota(sees.begin(), sees.end(), 0u);
    rows.push_back({tokens[i], 0, positions[i], positions[i], std::move(sees)});
  }
  return rows;
}

// Rows of a plan of tests/golden/plans: the jobs' passes, then the fresh rows.
struct PlanRows {
  std::vector<DenseRow> rows;
  std::vector<std::uint32_t> fresh;  // indices into rows, in the order of the prompt
};

PlanRows rows_of(JsonView plan) {
  PlanRows out;
  std::vector<std::vector<std::vector<std::uint32_t>>> placed;  // [job][run] rows
  const JsonView jobs = *plan.member("jobs"), prompt = *plan.member("prompt");
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    const JsonView runs = *jobs.at(j).member("runs");
    std::vector<std::uint32_t> pass;
    placed.emplace_back();
    for (std::size_t r = 0; r < runs.size(); ++r) {
      auto position = static_cast<std::int32_t>(*runs.at(r).member("position")->integer());
      placed[j].emplace_back();
      for (const std::int32_t token : integers(*runs.at(r).member("tokens"))) {
        const auto row = static_cast<std::uint32_t>(out.rows.size());
        pass.push_back(row);
        placed[j][r].push_back(row);
        out.rows.push_back({token, j + 1, position++, 0, pass});
      }
    }
  }
  std::vector<std::uint32_t> visible;
  for (std::size_t p = 0; p < prompt.size(); ++p) {
    const auto job = prompt.at(p).find("job");
    if (!job) continue;
    auto position = static_cast<std::int32_t>(*prompt.at(p).member("position")->integer());
    for (const std::uint32_t row :
         placed[*job->integer()][*prompt.at(p).member("run")->integer()]) {
      out.rows[row].placed = position++;
      visible.push_back(row);
    }
  }
  for (std::size_t p = 0; p < prompt.size(); ++p) {
    const auto tokens = prompt.at(p).find("tokens");
    if (!tokens) continue;
    auto position = static_cast<std::int32_t>(*prompt.at(p).member("position")->integer());
    for (const std::int32_t token : integers(*tokens)) {
      const auto row = static_cast<std::uint32_t>(out.rows.size());
      visible.push_back(row);
      out.fresh.push_back(row);
      std::vector<std::uint32_t> sees;
      out.rows.push_back({token, 0, position, position, {}});
      for (const std::uint32_t other : visible) {
        if (out.rows[other].placed <= position) sees.push_back(other);
      }
      out.rows[row].sees = std::move(sees);
      ++position;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("every family computes what transformers computes, at every position") {
  for (const std::string name : kModels) {
    const std::string folder = golden("models/" + name);
    const auto model = load(folder);
    const auto expected = JsonDocument::read_file(folder + "/expected.json");
    const std::vector<float> logits = read_floats(folder + "/expected.bin");
    const JsonView cases = *expected->root().member("cases");
    for (std::size_t c = 0; c < cases.size(); ++c) {
      INFO(name << " " << *cases.at(c).member("name")->string());
      const auto rows = causal_rows(integers(*cases.at(c).member("tokens")),
                                    integers(*cases.at(c).member("positions")));
      const auto mine = DenseOracle(model->desc).forward(rows, rows.back().sees);  // all of them
      const float* theirs = logits.data() + *cases.at(c).member("logits_begin")->integer();
      double largest = 0;
      for (const auto& row : mine) {
        largest = std::max(largest, largest_difference(row, theirs));
        theirs += row.size();
      }
      CHECK(largest < kTolerance);
    }
  }
}

TEST_CASE("the oracle for plans agrees with transformers under a block mask") {
  std::size_t n_plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("plans"))) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().stem().string());
    ++n_plans;
    const auto plan = JsonDocument::read_file(entry.path().string());
    REQUIRE(plan.ok());
    const auto context = static_cast<std::uint32_t>(*plan->root().integer_or("context", 0));
    const auto model =
        load(golden("models/" + std::string(*plan->root().member("model")->string())), context);
    const PlanRows rows = rows_of(plan->root());
    const auto mine = DenseOracle(model->desc).forward(rows.rows, rows.fresh);
    const std::vector<float> theirs =
        read_floats(std::filesystem::path(entry.path()).replace_extension(".bin").string());
    const std::size_t vocab = model->desc.vocab_size;
    REQUIRE(theirs.size() == rows.fresh.size() * vocab);
    for (std::size_t i = 0; i < rows.fresh.size(); ++i) {
      CHECK(largest_difference(mine[rows.fresh[i]], theirs.data() + i * vocab) < kTolerance);
    }
  }
  CHECK(n_plans >= 18);
}

TEST_CASE("every factor of a configuration is in the weights' digest, folded or not") {
  const std::string source = golden("models/falcon_h1");
  std::ifstream in(source + "/config.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const TempFolder folder;
  std::filesystem::copy(source, folder.path(), std::filesystem::copy_options::recursive);
  const auto digest_of = [&](const std::string& config) {
    std::ofstream(folder.path() + "/config.json") << config;
    return load(folder.path())->weights_digest;
  };
  const Digest original = digest_of(text);
  std::size_t n_factors = 0;
  for (std::size_t at = 0; (at = text.find("multiplier", at)) != std::string::npos; ++at) {
    const std::size_t end = text.find('"', text.find(':', at));
    for (std::size_t i = text.find(':', at); i < end; ++i) {
      if (text[i] != '.' && !(text[i] >= '0' && text[i] <= '9')) continue;
      const std::size_t n = text.find_first_not_of("0123456789.", i) - i;
      INFO(text.substr(at, i + n - at));
      CHECK(digest_of(std::string(text).replace(i, n, "0.4375")) != original);
      ++n_factors;
      i += n;
    }
  }
  CHECK(n_factors >= 12);
}

TEST_CASE("a model says what it is") {
  const auto model = load(golden("models/llama_rope_llama3_tied_bf16"));
  CHECK(model->architecture == "LlamaForCausalLM");
  CHECK(model->family == "llama");
  CHECK(model->context_tokens == 1024);
  CHECK(model->eos == std::vector<std::int32_t>{2, 7});  // generation_config.json
  CHECK(model->bos == 1);
  CHECK(model->desc.lm_head.data == model->desc.embedding.data);
  CHECK(model->desc.embedding.dtype == PC_DTYPE_BF16);
  CHECK(model->weight_bytes == 2 * model->n_parameters);
  CHECK(load(golden("models/mistral_window8"))->layers[0].window == 8);
  CHECK(load(golden("models/llama_sharded_f16"))->checkpoint.files.size() == 2);
}

TEST_CASE("digests name weights and rotation, not files") {
  const auto a = load(golden("models/llama_rope_llama3_tied_bf16")),
             b = load(golden("models/llama_rope_llama3_tied_bf16_v4"));
  CHECK(a->weights_digest == b->weights_digest);
  CHECK(a->rope_digest == b->rope_digest);
  std::vector<Digest> weights, ropes;
  for (const char* name :
       {"llama", "llama_rope_linear", "llama_rope_yarn", "mistral_window8", "qwen2"}) {
    const auto model = load(golden("models/" + std::string(name)));
    CHECK(std::count(weights.begin(), weights.end(), model->weights_digest) == 0);
    weights.push_back(model->weights_digest);
    ropes.push_back(model->rope_digest);
  }
  CHECK(ropes[0] != ropes[1]);
  CHECK(ropes[1] != ropes[2]);
  CHECK(ropes[0] == ropes[3]);
  CHECK(ropes[0] != ropes[4]);
}

namespace {

// A copy of the fixture "llama" whose parts a test may spoil.
class Spoiled {
 public:
  Spoiled() : config_(read_file(golden("models/llama/config.json"))) {
    const std::string file = read_file(golden("models/llama/model.safetensors"));
    std::uint64_t n = 0;
    std::memcpy(&n, file.data(), sizeof n);
    header_ = file.substr(sizeof n, n);
    data_ = file.substr(sizeof n + n);
  }
  Spoiled& header(const std::string& from, const std::string& to) {
    return replace(&header_, from, to);
  }
  Spoiled& config(const std::string& from, const std::string& to) {
    return replace(&config_, from, to);
  }
  Spoiled& data(std::size_t at) {
    data_[at] = static_cast<char>(data_[at] ^ 1);
    return *this;
  }
  // Adds a tensor of `n` bytes at the end.
  Spoiled& add(const std::string& name, const std::string& dtype, const std::string& shape,
               std::size_t n) {
    const std::size_t end = data_.size();
    data_.append(n, '\0');
    return header("{\"__metadata__\"", "{\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" +
                                           shape + R"(,"data_offsets":[)" + std::to_string(end) +
                                           "," + std::to_string(end + n) + R"(]},"__metadata__")");
  }
  Result<std::unique_ptr<Model>> load() const {
    const TempFolder folder;
    folder.write("config.json", config_);
    // Padded as writers do, so that the tensors stay aligned.
    folder.write(
        "model.safetensors",
        safetensors_file(header_ + std::string((8 - header_.size() % 8) % 8 + shift_, ' '), data_));
    return load_model({.path = folder.path()});
  }
  Spoiled& end_with(std::string_view bytes) {
    data_.replace(data_.size() - bytes.size(), bytes.size(), bytes);
    return *this;
  }
  Spoiled& shift(std::size_t n) {
    shift_ = n;
    return *this;
  }

 private:
  Spoiled& replace(std::string* text, const std::string& from, const std::string& to) {
    const std::size_t at = text->find(from);
    REQUIRE(at != std::string::npos);
    text->replace(at, from.size(), to);
    return *this;
  }
  std::string config_, header_, data_;
  std::size_t shift_ = 0;
};

void refused(const Spoiled& spoiled, Code code, const std::string& part) {
  INFO(part);
  const auto model = spoiled.load();
  REQUIRE_FALSE(model.ok());
  CHECK(model.error().code == code);
  CHECK_THAT(model.error().message, Catch::Contains(part));
}

}  // namespace

TEST_CASE("every weight and every number of the shape is in the digest") {
  const Digest before = load(golden("models/llama"))->weights_digest;
  CHECK(Spoiled().load().value()->weights_digest == before);
  const std::size_t n = read_file(golden("models/llama/model.safetensors")).size();
  for (std::size_t at = 0; at + 4096 < n; at += 4093) {
    CHECK(Spoiled().data(at).load().value()->weights_digest != before);
  }
  CHECK(Spoiled().config("1e-06", "1e-05").load().value()->weights_digest != before);
  CHECK(Spoiled().config("1024", "2048").load().value()->weights_digest ==
        before);  // the window is not
}

TEST_CASE("a missing, extra, misshapen or foreign tensor is named") {
  const std::string q = "model.layers.1.self_attn.q_proj.weight";
  refused(Spoiled().header(q, "model.layers.1.self_attn.q_proj.waight"), Code::kMismatch,
          "no tensor \"" + q + "\" [32, 32]");
  refused(Spoiled().add("model.layers.2.mlp.up_proj.weight", "F32", "[2,2]", 16), Code::kMismatch,
          "\"model.layers.2.mlp.up_proj.weight\" [2, 2] is not part of LlamaForCausalLM");
  refused(Spoiled().config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1"), Code::kMismatch,
          "nor are 8 more");
  refused(Spoiled().config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"), Code::kMismatch,
          "model.layers.2.");
  refused(Spoiled().config("\"intermediate_size\": 24", "\"intermediate_size\": 32"),
          Code::kMismatch, "is [24, 32], but the model's configuration asks for [32, 32]");
  refused(Spoiled().config("\"vocab_size\": 64", "\"vocab_size\": 65"), Code::kMismatch,
          "[65, 32]");
  refused(Spoiled().header(R"("model.norm.weight":{"dtype":"F32")",
                           R"("model.norm.weight":{"dtype":"I32")"),
          Code::kUnsupported, "\"model.norm.weight\" is I32");
  refused(Spoiled().config("\"attention_bias\": false", "\"attention_bias\": true"),
          Code::kMismatch, "q_proj.bias");
  refused(Spoiled().config("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"),
          Code::kMismatch, "\"lm_head.weight\" differs from \"model.embed_tokens.weight\"");
}

TEST_CASE("buffers that the configuration says again are passed over") {
  const std::string buffer = "model.layers.0.self_attn.rotary_emb.inv_freq";
  CHECK(Spoiled().add(buffer, "F64", "[8]", 64).load().ok());
}

TEST_CASE("weights that lie at odd addresses are copied to even ones") {
  const auto even = Spoiled().load();
  REQUIRE(even.ok());
  CHECK((*even)->copies.empty());
  for (const std::size_t shift : {1, 2, 3}) {
    const auto odd = Spoiled().shift(shift).load();
    REQUIRE(odd.ok());
    CHECK((*odd)->weights_digest == (*even)->weights_digest);
    const pc_tensor &a = (*even)->desc.layers[1].wq, &b = (*odd)->desc.layers[1].wq;
    CHECK(reinterpret_cast<std::uintptr_t>(b.data) % sizeof(float) == 0);
    CHECK(std::memcmp(a.data, b.data, std::size_t{a.rows} * a.cols * sizeof(float)) == 0);
  }
  Spoiled infinite;
  infinite.shift(3).add("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", "[1]", 4);
  CHECK(infinite.load().ok());
  infinite.end_with(std::string_view("\x00\x00\x80\x7f", 4));
  refused(infinite, Code::kCorrupt, "inv_freq\" holds NaN or infinite");
}

TEST_CASE("what is no checkpoint is said to be none") {
  const TempFolder folder;
  const auto message = [&] {
    const auto model = load_model({.path = folder.path()});
    REQUIRE_FALSE(model.ok());
    CHECK_THAT(model.error().message, Catch::Contains(folder.path()));
    return model.error().message;
  };
  CHECK_FALSE(load_model({.path = folder.path() + "/absent"}).ok());
  CHECK_THAT(message(), Catch::Contains("no config.json"));
  folder.write("config.json", "{");
  CHECK_THAT(message(), Catch::Contains("not valid JSON"));
  folder.write("config.json", R"({"architectures":["FalconMambaForCausalLM"]})");
  CHECK_THAT(message(), Catch::Contains("\"FalconMambaForCausalLM\" is not supported"));
  folder.write("config.json", read_file(golden("models/llama/config.json")));
  CHECK_THAT(message(), Catch::Contains("no *.safetensors"));
  folder.write("model.safetensors", "<html>Not found</html>");
  CHECK_THAT(message(), Catch::Contains("is this a safetensors file?"));
  folder.write("model.safetensors",
               read_file(golden("models/llama/model.safetensors")).substr(0, 30000));
  CHECK_THAT(message(), Catch::Contains("truncated"));
}

TEST_CASE("the published small checkpoint loads") {
  if (shared_dir().empty()) return;
  const auto model = load((shared_dir() / "assets/tiny-random-llama").string());
  CHECK(model->layers[0].head_dim == 16);
  CHECK(model->desc.embedding.dtype == PC_DTYPE_F16);
  CHECK(model->desc.ropes[0].scale == 1.0f);
}
