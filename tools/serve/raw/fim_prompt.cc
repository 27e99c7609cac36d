#include "tools/serve/raw/fim_prompt.h"

namespace pc::serve {
namespace {

void add(RawPrompt* prompt, std::string text) {
  if (!text.empty()) prompt->pieces.push_back({.text = std::move(text), .takes_controls = false});
}

void add(RawPrompt* prompt, std::int32_t token) {
  prompt->pieces.push_back({.tokens = {token}});
}

// With the tokens for it as Qwen2.5-Coder's report has it and llama.cpp's server writes it, names
// included; else one behind the other.
void add_files(RawPrompt* prompt, const FimTokens& tokens, const std::vector<FimFile>& files) {
  const bool has_tokens = tokens.repo >= 0 && tokens.file >= 0;
  if (has_tokens) {
    add(prompt, tokens.repo);
    add(prompt, "myproject\n");
  }
  for (const FimFile& file : files) {
    if (has_tokens) {
      add(prompt, tokens.file);
      add(prompt, file.name + "\n");
    }
    add(prompt, file.text);
  }
  if (!has_tokens) return;
  add(prompt, tokens.file);
  add(prompt, "filename\n");
}

}  // namespace

RawPrompt fim_prompt(const FimTokens& tokens, const std::string& before, const std::string& after,
                     const std::vector<FimFile>& files, const std::string& begun) {
  RawPrompt prompt;
  prompt.pieces.push_back({.text = {}, .takes_controls = false});  // where BOS goes
  if (!files.empty()) add_files(&prompt, tokens, files);
  add(&prompt, tokens.prefix);
  add(&prompt, before);
  add(&prompt, tokens.suffix);
  add(&prompt, after);
  add(&prompt, tokens.middle);
  add(&prompt, begun);
  return prompt;
}

}  // namespace pc::serve
