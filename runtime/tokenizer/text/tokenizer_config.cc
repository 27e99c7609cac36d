#include "runtime/tokenizer/text/tokenizer_config.h"

#include <charconv>
#include <utility>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "runtime/json/json.h"

namespace pc {
namespace {

constexpr JsonLimits kSmallFile = {.bytes = std::size_t{16} << 20};
constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;

// The document in folder/name; nothing where there is no such file.
Result<std::optional<JsonDocument>> read_optional(const std::string& folder, const char* name) {
  auto document = JsonDocument::read_file(folder + "/" + name, kSmallFile);
  if (document.ok()) return std::optional(std::move(document).value());
  if (document.error().code == Code::kNotFound) return std::optional<JsonDocument>();
  return std::move(document).error();
}

// A token is given as its spelling or as an object with "content".
Result<std::string> spelling(JsonView token) {
  if (token.is_object()) {
    PC_TRY(token, token.member("content"));
  }
  PC_TRY(const std::string_view text, token.string());
  return std::string(text);
}

Status read_named_token(JsonView root, const char* key, std::optional<std::string>* out,
                        TokenizerConfig* config) {
  const auto token = root.find(key);
  if (!token) return ok();
  PC_TRY(std::string text, spelling(*token));
  config->specials.insert(text);
  if (out != nullptr) *out = std::move(text);
  return ok();
}

// A list of spellings, or an object whose values are spellings.
Status read_special_list(JsonView root, const char* key, TokenizerConfig* config) {
  const auto list = root.find(key);
  if (!list) return ok();
  const auto insert = [config](std::string_view, JsonView token) -> Status {
    PC_TRY(std::string text, spelling(token));
    config->specials.insert(std::move(text));
    return ok();
  };
  if (list->is_object()) return list->for_each_member(insert);
  if (!list->is_array()) return list->error(Code::kCorrupt, "is neither a list nor an object");
  for (std::size_t i = 0; i < list->size(); ++i) PC_CHECK_OK(insert("", list->at(i)));
  return ok();
}

// The members that tokenizer_config.json and special_tokens_map.json share.
Status read_special_names(JsonView root, TokenizerConfig* config) {
  PC_CHECK_OK(read_named_token(root, "bos_token", &config->bos, config));
  PC_CHECK_OK(read_named_token(root, "eos_token", &config->eos, config));
  PC_CHECK_OK(read_named_token(root, "unk_token", &config->unk, config));
  for (const char* key : {"pad_token", "sep_token", "cls_token", "mask_token"}) {
    PC_CHECK_OK(read_named_token(root, key, nullptr, config));
  }
  PC_CHECK_OK(read_special_list(root, "additional_special_tokens", config));
  return read_special_list(root, "extra_special_tokens", config);
}

Status read_decoder_list(JsonView root, TokenizerConfig* config) {
  const auto list = root.find("added_tokens_decoder");
  if (!list) return ok();
  return list->for_each_member([config](std::string_view key, JsonView entry) -> Status {
    std::int64_t id = -1;
    const auto end = std::from_chars(key.data(), key.data() + key.size(), id);
    if (end.ec != std::errc() || end.ptr != key.data() + key.size()) {
      return entry.error(Code::kCorrupt, "its key is not a token id");
    }
    PC_TRY(AddedToken token, read_added_token(entry, id));
    if (token.special) config->specials.insert(token.content);
    config->added.push_back(std::move(token));
    return ok();
  });
}

// added_tokens.json: spelling -> id.
Status read_added_map(JsonView root, TokenizerConfig* config) {
  return root.for_each_member([config](std::string_view content, JsonView id) -> Status {
    PC_TRY(const std::int64_t value, id.integer_in(0, kMaxVocabSize - 1));
    AddedToken token;
    token.id = static_cast<TokenId>(value);
    token.content = content;
    token.special = config->specials.contains(content);
    config->added.push_back(std::move(token));
    return ok();
  });
}

// Phi-3's files are read as they are, and so are Mistral's tokenizer.json; Phi-3's
// says `legacy` false where its tokenizer.json puts the prefix behind added tokens.
void read_family(const JsonView root, TokenizerConfig* config) {
  const auto family = root.string_or("model_type", "");
  if (!family.ok()) return;
  if (*family == "phi3") config->legacy.reset();
  if (*family == "phi3" || *family == "mistral") config->llama_class = false;
}

void read_model_config(const std::string& folder, TokenizerConfig* config) {
  const auto file = read_optional(folder, "config.json");
  if (!file.ok() || !*file) return;
  const auto root = (*file)->root();
  read_family(root, config);
  const auto n = root.find("text_config").value_or(root).find("vocab_size");
  const auto value = n ? n->integer_in(1, kMaxVocabSize) : Result<std::int64_t>(kMaxVocabSize);
  if (value.ok()) config->n_rows = *value;
}

// One template, or a list of named ones: then the one named "default", else the first.
Result<std::string> read_chat_template(JsonView root) {
  const auto found = root.find("chat_template");
  if (!found || !found->is_array()) return root.string_or("chat_template", "");
  std::string chosen;
  for (std::size_t i = 0; i < found->size(); ++i) {
    PC_TRY(const std::string name, found->at(i).string_or("name", ""));
    PC_TRY(const std::string text, found->at(i).string_or("template", ""));
    if (i == 0 || name == "default") chosen = text;
  }
  return chosen;
}

// The file wins over the member of tokenizer_config.json, as where it comes from.
Status read_template_file(const std::string& folder, TokenizerConfig* config) {
  const std::string path = folder + "/chat_template.jinja";
  auto file = MappedFile::open(path);
  if (!file.ok()) {
    return file.error().code == Code::kNotFound ? ok() : Status(std::move(file).error());
  }
  const auto bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > kMaxTemplateBytes || !is_utf8(text)) {
    return error(Code::kCorrupt, path + ": is not UTF-8 text of at most 1 MiB");
  }
  config->chat_template = text;
  return ok();
}

}  // namespace

Result<AddedToken> read_added_token(JsonView entry, std::int64_t id) {
  if (id < 0 || id >= kMaxVocabSize) {
    return entry.error(Code::kCorrupt, "the token id " + std::to_string(id) + " is out of range");
  }
  AddedToken token;
  token.id = static_cast<TokenId>(id);
  PC_TRY(token.content, spelling(entry));
  PC_TRY(token.special, entry.boolean_or("special", false));
  PC_TRY(token.lstrip, entry.boolean_or("lstrip", false));
  PC_TRY(token.rstrip, entry.boolean_or("rstrip", false));
  if (token.content.size() > kMaxTokenBytes) {
    return entry.error(Code::kCorrupt, "a token of more than 4096 bytes");
  }
  return token;
}

Result<TokenizerConfig> read_tokenizer_config(const std::string& folder) {
  TokenizerConfig config;
  PC_TRY(const auto map, read_optional(folder, "special_tokens_map.json"));
  if (map) PC_CHECK_OK(read_special_names(map->root(), &config));
  PC_TRY(const auto main, read_optional(folder, "tokenizer_config.json"));
  if (main) {
    const JsonView root = main->root();
    PC_CHECK_OK(read_special_names(root, &config));
    PC_CHECK_OK(read_decoder_list(root, &config));
    if (const auto add_bos = root.find("add_bos_token")) {
      PC_TRY(config.add_bos, add_bos->boolean());
    }
    if (const auto add_eos = root.find("add_eos_token")) {
      PC_TRY(config.add_eos, add_eos->boolean());
    }
    if (const auto legacy = root.find("legacy")) {
      PC_TRY(config.legacy, legacy->boolean());
    }
    if (const auto add_space = root.find("add_prefix_space")) {
      PC_TRY(config.add_prefix_space, add_space->boolean());
    }
    PC_TRY(const std::string type, root.string_or("tokenizer_class", ""));
    config.llama_class = type == "LlamaTokenizer" || type == "LlamaTokenizerFast";
    PC_TRY(config.chat_template, read_chat_template(root));
  }
  PC_TRY(const auto added, read_optional(folder, "added_tokens.json"));
  if (added) PC_CHECK_OK(read_added_map(added->root(), &config));
  PC_CHECK_OK(read_template_file(folder, &config));
  read_model_config(folder, &config);
  std::erase_if(config.added, [&](const AddedToken& token) { return token.id >= config.n_rows; });
  return config;
}

}  // namespace pc
