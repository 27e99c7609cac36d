// How far each type of attention states moves the logits of trained models, position by position:
// a prompt whose first half is a module, whose rows are therefore packed whole, and whose second
// half comes behind it; and the same prompt computed at once. Relative, L2, from what f32 states
// give. bf16 is what models are trained with, so the others are held to a multiple of it: where a
// model's keys have dimensions that dwarf the others, a code with one step for them all lost the
// logits, by 164 % at the worst position (docs/adr/0050-keys-without-outliers.md).

#include <filesystem>
#include <string>

#include "runtime/backend/cpu_backend.h"
#include "runtime/model/model.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/plan_runner.h"
#include "tests/support/real_models.h"

namespace pc::test {
namespace {

// scripts/real-models fetches the first two, and with --all the others.
const char* const kFiles[] = {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
                              "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                              "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"};

constexpr std::size_t kTokens = 400;

// The worst position, over bf16's worst.
constexpr double kBound = 3.0;

// Where that is missed, by how much (docs/adr/0050-keys-without-outliers.md): none may get worse
// than a tenth more, and every other one is held to the bound.
struct Miss {
  const char *file, *way;
  KvType type;
  double reached;
};
constexpr Miss kMisses[] = {
    {"gemma-3-270m-q4_k_m.gguf", "at once", KvType::kQ8, 3.2},
    {"gemma-3-270m-q4_k_m.gguf", "behind a module", KvType::kQ4, 9.2},
    {"SmolLM2-135M-Instruct.Q4_1.gguf", "behind a module", KvType::kQ4, 4.5},
    {"qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "behind a module", KvType::kQ4, 3.5}};

double most(const std::string& file, const std::string& way, KvType type) {
  for (const Miss& miss : kMisses)
    if (miss.file == file && miss.way == way && miss.type == type) return 1.1 * miss.reached;
  return kBound;
}

using Rows = std::vector<std::vector<float>>;

// The tokens' logits, in a step behind what the prompt attaches.
Rows logits_of(PlanRunner& runner, const RawPlan& plan) {
  const PlanRunner::Prompt prompt = runner.prompt_of(plan);
  const Backend::Timeline timeline = runner.open(prompt);
  const std::uint32_t vocab = runner.backend().vocab();
  struct Sink {
    Rows rows;
    std::uint32_t vocab;
  } sink{{}, vocab};
  pc_step_item item{};
  item.timeline = timeline.get();
  item.runs = prompt.fresh.data();
  item.n_runs = static_cast<std::uint32_t>(prompt.fresh.size());
  item.row_kind = PC_ROW_LOGITS;
  item.row_user = &sink;
  item.row = [](void* user, std::uint64_t, const float* values) {
    auto& to = *static_cast<Sink*>(user);
    to.rows.emplace_back(values, values + to.vocab);
  };
  runner.backend().step({&item, 1});
  INFO("backend says: " << item.error.message);
  REQUIRE(item.status == 0);
  return std::move(sink.rows);
}

std::vector<std::int32_t> text_tokens(const std::string& path) {
  const auto tokenizer = must(load_tokenizer(path));
  std::vector<std::int32_t> tokens = must(tokenizer->encode(read_file(source_dir() / "LICENSE")));
  if (tokenizer->add_bos() && tokenizer->bos()) tokens.insert(tokens.begin(), *tokenizer->bos());
  REQUIRE(tokens.size() >= kTokens);
  tokens.resize(kTokens);
  return tokens;
}

RawPlan at_once(const std::vector<std::int32_t>& tokens) {
  return {{}, {{-1, 0, tokens, 0}}};
}

RawPlan behind_module(const std::vector<std::int32_t>& tokens) {
  const auto middle = tokens.begin() + kTokens / 2;
  return {{{{{{tokens.begin(), middle}, 0, true}}}},
          {{0, 0, {}, 0}, {-1, 0, {middle, tokens.end()}, kTokens / 2}}};
}

struct Moved {
  double mean = 0, worst = 0;
  std::size_t where = 0;
};

Moved moved(const Rows& got, const Rows& want) {
  REQUIRE(got.size() == want.size());
  Moved m;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = relative_error(got[i], want[i]);
    m.mean += off / static_cast<double>(got.size());
    if (off > m.worst) m = {m.mean, off, i};
  }
  return m;
}

void check_model(const std::string& file) {
  INFO(file);
  const std::string path = (real_models_dir() / file).string();
  const auto model = must(load_model({.path = path}));
  const auto tokens = text_tokens(path);
  const struct {
    const char* name;
    RawPlan plan;
  } ways[] = {{"at once", at_once(tokens)}, {"behind a module", behind_module(tokens)}};
  Rows exact[2];
  double bf16[2] = {};
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kQ4}) {
    PlanRunner runner(cpu_backend(), model->desc, type, 2, Precision::kExact);
    for (std::size_t way = 0; way < 2; ++way) {
      Rows rows = logits_of(runner, ways[way].plan);
      if (type == KvType::kF32) {
        exact[way] = std::move(rows);
        continue;
      }
      const Moved m = moved(rows, exact[way]);
      if (type == KvType::kBf16) bf16[way] = m.worst;
      std::printf("%-40s | %-15s | %-4s | mean %.2f %%, worst %.2f %% at %zu: %.1f of bf16's\n",
                  file.c_str(), ways[way].name, kv_type_name(type), 100 * m.mean, 100 * m.worst,
                  m.where, m.worst / bf16[way]);
      std::fflush(stdout);
      INFO(ways[way].name << ", " << kv_type_name(type));
      CHECK(m.worst <= most(file, ways[way].name, type) * bf16[way]);
    }
  }
}

TEST_CASE("no type of states moves a trained model's logits much further than bf16 does") {
  for (const char* file : kFiles) {
    if (std::filesystem::exists(real_models_dir() / file))
      check_model(file);
    else
      std::printf("SKIPPED: %s is not there; scripts/real-models --all fetches it\n", file);
  }
}

}  // namespace
}  // namespace pc::test
