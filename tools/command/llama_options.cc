#include "tools/command/llama_options.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pc::cli {
namespace {

struct LlamaOption {
  const char* names;
  const char* type;     // "N": whole numbers, below 0 too; empty: a switch
  const char* words;    // all that it takes, with blanks between; empty: anything
  const char* why;      // it has no meaning
  const char* refused;  // values, with blanks between, that are not accepted; "*": any
};

constexpr char kNoDownloads[] = "nothing is downloaded",
               kBatches[] = "the library chooses how many tokens of a prompt are computed at once",
               kOneBackend[] = "one backend (--backend) computes all layers, in its own memory",
               kMapped[] = "a model's files are mapped, and packed weights are kept",
               kFit[] = "nothing is fitted into the memory of a device";

constexpr LlamaOption kOptions[] = {
    {"--hf-repo", "NAME", "", "nothing is downloaded: give a file or folder to -m", "*"},
    {"--hf-file", "FILE", "", "nothing is downloaded: give a file or folder to -m", "*"},
    {"--hf-token", "TEXT", "", kNoDownloads, ""},
    {"--offline", "", "", kNoDownloads, ""},
    {"-b,--batch-size", "N", "", kBatches, ""},
    {"--ubatch-size", "N", "", kBatches, ""},
    {"--numa", "NAME", "distribute isolate numactl", "the system places threads and memory", ""},
    {"--cpu-strict", "0|1", "0 1", "threads may move among the CPUs of --cpu-mask", ""},
    {"--poll", "N", "", "the library chooses how threads wait", ""},
    {"--n-gpu-layers", "N", "", kOneBackend, ""},
    {"--n-cpu-moe", "N", "", kOneBackend, ""},
    {"--split-mode", "NAME", "none layer row tensor", kOneBackend, ""},
    {"--main-gpu", "N", "", kOneBackend, ""},
    {"--no-kv-offload", "0|1", "0 1", kOneBackend, ""},
    {"--device", "NAME", "auto none", "a device is a plug-in: give its path to --backend", ""},
    {"--tensor-split", "N/...", "", kOneBackend, ""},
    {"--override-tensor", "NAME=NAME", "", kOneBackend, ""},
    {"--no-op-offload", "0|1", "0 1", kOneBackend, ""},
    {"--no-host", "0|1", "0 1", kOneBackend, ""},
    {"--flash-attn", "WHEN", "on off auto 1 0 -1 true false enabled disabled",
     "attention is always computed without a matrix of all scores", ""},
    {"--load-mode", "NAME", "auto none mmap mlock mmap+mlock dio", kMapped, ""},
    {"--mmap", "0|1", "0 1", kMapped, ""},
    {"--lazy-mode", "NAME", "on auto off", kMapped, ""},
    {"--embeddings", "0|1", "0 1", "logits are what is computed", "1"},
    {"--repack", "0|1", "0 1", "weights are packed wherever that has a form", "0"},
    {"--fit-target", "N", "", kFit, ""},
    {"--fit-ctx", "N", "", kFit, ""}};

bool has_word(const std::string& words, const std::string& word) {
  const std::vector<std::string> all = CLI::detail::split(words, ' ');  // of none: one empty word
  return !word.empty() && std::find(all.begin(), all.end(), word) != all.end();
}

bool is_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size();
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw CLI::ValidationError(name, why);
}

void check(const LlamaOption& option, const std::string& name, const std::string& value) {
  const std::string quoted = "\"" + value + "\"", words = option.words;
  if (std::string(option.refused) == "*" || has_word(option.refused, value))
    refuse(name, quoted + " cannot be had: " + option.why);
  const std::string type = option.type;
  const bool may_have_commas = type == "NAME=NAME" || type == "TEXT";  // patterns, a secret
  if (!may_have_commas && value.find(',') != value.npos)
    refuse(name, quoted + " is more than one value, and has no meaning here (" + option.why +
                     "): its rows would be the same measurement; give one value");
  if (!words.empty() && !has_word(words, value))
    refuse(name, quoted + " is none of these: " + words + " (" + option.why + ")");
  if (type == "N" && !is_number(value)) refuse(name, quoted + " is not a whole number");
}

void add_llama_option(CLI::App* verb, const LlamaOption& option, BenchOptions* options) {
  const std::string names = option.names, name = names.substr(names.find("--"));
  const char* const what = *option.refused == '*' ? "refused" : "without a meaning here";
  const std::string help = std::string("llama-bench's, ") + what + ": " + option.why;
  const auto take = [&option, name, options](const std::string& value) {
    if (*option.type) check(option, name, value);
    options->without_meaning.push_back(name + " has no meaning here: " + option.why);
  };
  CLI::Option* added = nullptr;
  if (*option.type)
    added = verb->add_option_function<std::string>(names, take, help)->type_name(option.type);
  else
    added = verb->add_flag_callback(
        names, [take] { take(""); }, help);
  added->envname(environment_name(*added))->option_text(option.words);
}

}  // namespace

void add_llama_options(CLI::App* verb, BenchOptions* options) {
  for (const LlamaOption& option : kOptions) add_llama_option(verb, option, options);
}

}  // namespace pc::cli
