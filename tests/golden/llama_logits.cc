// The logits of one prompt by llama.cpp, for check_gguf_fixtures.py, which compiles this file
// against a build of it.
//
//     llama_logits MODEL.gguf N_CTX [KEY=INTEGER] < tokens > logits
//
// tokens: int32, native order; logits: f32 [n_tokens][vocab]. f32 K/V, no flash attention, one
// thread, no repacked weights. KEY overrides an integer of the file.
#include <llama.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void on_log(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fprintf(stderr, "  llama.cpp: %s", text);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "llama_logits: %s\n", what);
  std::exit(1);
}

llama_model* open_model(const char* path, const char* override_text) {
  llama_model_kv_override overrides[2] = {};  // the last one, without a key, ends the list
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.use_extra_bufts = false;
  if (const char* equals = override_text ? std::strchr(override_text, '=') : nullptr) {
    overrides[0].tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    std::memcpy(overrides[0].key, override_text, static_cast<std::size_t>(equals - override_text));
    overrides[0].val_i64 = std::atoll(equals + 1);
    params.kv_overrides = overrides;
  }
  llama_model* model = llama_model_load_from_file(path, params);
  if (!model) fail("the model cannot be loaded");
  return model;
}

llama_context* open_context(llama_model* model, std::uint32_t n_ctx) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = n_ctx;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.swa_full = true;
  llama_context* context = llama_init_from_model(model, params);
  if (!context) fail("no context");
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("MODEL.gguf N_CTX [KEY=INTEGER]");
  llama_log_set(on_log, nullptr);
  llama_backend_init();
  std::vector<std::int32_t> tokens(4096);
  tokens.resize(std::fread(tokens.data(), sizeof tokens[0], tokens.size(), stdin));
  llama_model* const model = open_model(argv[1], argc > 3 ? argv[3] : nullptr);
  llama_context* const context =
      open_context(model, static_cast<std::uint32_t>(std::atoi(argv[2])));
  const auto n = static_cast<std::int32_t>(tokens.size());
  llama_batch batch = llama_batch_init(n, 0, 1);
  batch.n_tokens = n;
  for (std::int32_t i = 0; i < n; ++i) {
    batch.token[i] = tokens[static_cast<std::size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) fail("the prompt cannot be computed");
  const auto n_logits =
      static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model))) * tokens.size();
  if (std::fwrite(llama_get_logits(context), sizeof(float), n_logits, stdout) != n_logits)
    fail("the logits cannot be written");
}
