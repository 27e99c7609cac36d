// The C API's calls on whole texts: vectors, and scores of tokens behind them.

#include <span>
#include <string>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/engine/whole_texts.h"

static_assert(PC_POOLING_MODEL == static_cast<int>(pc::Pooling::kUnsaid));
static_assert(PC_POOLING_LAST == static_cast<int>(pc::Pooling::kLast));
static_assert(PC_POOLING_MEAN == static_cast<int>(pc::Pooling::kMean));

namespace {

using pc::Code;
using pc::Result;
using pc::Status;
using namespace pc::capi;

Result<std::vector<pc::Tokens>> read_texts(const pc_text_tokens* texts, std::size_t n) {
  PC_REQUIRE(texts || n == 0);
  std::vector<pc::Tokens> read;
  read.reserve(n);
  for (const pc_text_tokens& text : std::span(texts, n)) {
    if (!text.tokens && text.n_tokens != 0) return null_argument("tokens");
    read.emplace_back(text.tokens, text.tokens + text.n_tokens);
  }
  return read;
}

pc::WholeTexts whole_texts(const std::vector<pc::Tokens>& texts, const pc_texts_options& options) {
  pc::WholeTexts whole{.texts = texts};
  if (options.progress)
    whole.progress = [call = options.progress, user = options.progress_user](std::uint64_t done,
                                                                             std::uint64_t total) {
      return call(user, done, total) == 0;
    };
  return whole;
}

}  // namespace

extern "C" {

void pc_texts_options_init(pc_texts_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

pc_status pc_embed(const pc_engine* engine, const pc_text_tokens* texts, std::size_t n,
                   const pc_texts_options* options, float* vectors, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(vectors || n == 0);
    PC_TRY(const pc_texts_options o, read_options(options));
    if (o.pooling > PC_POOLING_MEAN) return pc::error(Code::kUnsupported, "unknown pooling");
    PC_TRY(const auto read, read_texts(texts, n));
    const std::uint32_t all = engine->engine->model().desc.d_model;
    return pc::embed(*engine->engine, whole_texts(read, o), static_cast<pc::Pooling>(o.pooling),
                     o.n_dimensions == 0 ? all : o.n_dimensions, vectors);
  });
}

pc_status pc_score(const pc_engine* engine, const pc_text_tokens* texts, std::size_t n,
                   const std::int32_t* wanted, std::size_t n_wanted,
                   const pc_texts_options* options, float* logits, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(wanted || n_wanted == 0);
    PC_REQUIRE(logits || n == 0 || n_wanted == 0);
    PC_TRY(const pc_texts_options o, read_options(options));
    PC_TRY(const auto read, read_texts(texts, n));
    return pc::score(*engine->engine, whole_texts(read, o), {wanted, n_wanted}, logits);
  });
}

}  // extern "C"
