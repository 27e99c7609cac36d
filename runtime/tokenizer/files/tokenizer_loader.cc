#include "runtime/tokenizer/files/tokenizer_loader.h"

#include <filesystem>
#include <system_error>

#include "runtime/checkpoint/gguf.h"
#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "runtime/tokenizer/files/gguf_tokenizer.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"
#include "runtime/tokenizer/text/tokenizer_config.h"

namespace pc {

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& path) {
  if (is_gguf(path)) {
    PC_TRY(const GgufModel model, open_gguf(path));
    return make_gguf_tokenizer(model.metadata);
  }
  PC_TRY(const TokenizerConfig config, read_tokenizer_config(path));
  std::error_code ignored;
  const std::string model = path + "/tokenizer.model";
  if (std::filesystem::exists(model, ignored)) return load_sentencepiece_tokenizer(model, config);
  const std::string json = path + "/tokenizer.json";
  if (std::filesystem::exists(json, ignored)) return load_bpe_tokenizer(json, config);
  return error(Code::kNotFound, path +
                                    ": no GGUF file, and no folder with tokenizer.model or "
                                    "tokenizer.json");
}

}  // namespace pc
