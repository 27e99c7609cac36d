#include "runtime/tokenizer/text/fim_tokens.h"

#include <array>

namespace pc {
namespace {

constexpr std::size_t kMostSpellings = 7;

struct Job {
  std::optional<TokenId> FimTokens::*token;
  std::array<std::string_view, kMostSpellings> spellings;  // "": none
};

// Of Qwen2.5-Coder and CodeGemma, StarCoder, Granite Code, DeepSeek-Coder, CodeLlama and GLM-4.5.
constexpr Job kJobs[] = {
    {&FimTokens::prefix,
     {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
      "<|code_prefix|>"}},
    {&FimTokens::suffix,
     {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
      "<|code_suffix|>"}},
    {&FimTokens::middle,
     {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
      "<|code_middle|>"}},
    {&FimTokens::pad, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>"}},
    {&FimTokens::repo, {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<reponame>"}},
    {&FimTokens::file, {"<|file_sep|>", "<file_sep>", "<|file_separator|>"}},
};

}  // namespace

FimTokens find_fim_tokens(
    const FimTokens& named,
    const std::function<std::optional<TokenId>(std::string_view spelling)>& find) {
  FimTokens found = named;
  for (const Job& job : kJobs) {
    std::optional<TokenId>& token = found.*job.token;
    for (std::size_t i = 0; !token && i < job.spellings.size(); ++i)
      if (!job.spellings[i].empty()) token = find(job.spellings[i]);
  }
  return found;
}

}  // namespace pc
