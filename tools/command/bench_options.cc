#include "tools/command/bench_options.h"

#include <algorithm>
#include <cstdlib>

#include "tools/command/llama_options.h"
#include "tools/command/number_list.h"
#include "tools/opening/verbs.h"

namespace pc::cli {
namespace {

using Texts = std::vector<std::string>;

bool is_from_environment(const CLI::Option& option) {
  const char* const value = std::getenv(option.get_envname().c_str());
  return value && option.results() == Texts{value};
}

// Of options that say the same in two ways: is this one a variable's, and another one typed, which
// wins? Both typed, or neither, are refused.
bool gives_way(CLI::App* verb, const std::string& name, const Texts& rivals) {
  const CLI::Option& own = *verb->get_option(name);
  for (const std::string& rival : rivals) {
    const CLI::Option& other = *verb->get_option(rival);
    if (other.count() == 0) continue;
    if (is_from_environment(own) == is_from_environment(other))
      throw CLI::ExcludesError(name, rival);
    if (is_from_environment(own)) return true;
  }
  return false;
}

// An option that may come several times; each value is read by `take`, which says what is wrong
// with it.
CLI::Option* add_values(CLI::App* verb, const std::string& names, const std::string& type,
                        const std::string& description, const auto& take,
                        const Texts& rivals = {}) {
  const std::string name = names.substr(names.find("--"));
  const auto take_all = [verb, name, take, rivals](const Texts& values) {
    if (gives_way(verb, name, rivals)) return;
    for (const std::string& value : values)
      if (const std::string why = take(value); !why.empty()) throw CLI::ValidationError(name, why);
  };
  CLI::Option* const option = verb->add_option_function<Texts>(names, take_all, description);
  option->type_name(type)->allow_extra_args(false)->envname(environment_name(*option));
  return option;
}

void add_list(CLI::App* verb, const std::string& names, std::vector<std::uint32_t>& values,
              const std::string& description, std::uint32_t least = 0) {
  add_values(verb, names, "N,...", description, [&values, least](const std::string& text) {
    std::string why;
    const auto list = parse_number_list(text, &why);
    if (!list) return why;
    if (std::any_of(list->begin(), list->end(), [least](std::uint32_t n) { return n < least; }))
      return "\"" + text + "\" has a number below " + std::to_string(least);
    values.insert(values.end(), list->begin(), list->end());
    return why;
  });
}

void add_words(CLI::App* verb, const std::string& names, Texts& values, const std::string& type,
               const std::string& description, const Texts& words, const Texts& rivals = {}) {
  const auto take = [&values, words](const std::string& text) -> std::string {
    for (const std::string& word : CLI::detail::split(text, ',')) {
      if (std::find(words.begin(), words.end(), word) == words.end())
        return "\"" + word + "\" is none of " + CLI::detail::join(words, ", ");
      values.push_back(word);
    }
    return "";
  };
  add_values(verb, names, type, description, take, rivals)
      ->option_text(CLI::detail::join(words, " "));
}

// "512,128": two numbers, of which the first are computed before the others are decoded.
void add_prompt_then_gen(CLI::App* verb, BenchOptions* b) {
  const auto take = [b](const std::string& text) -> std::string {
    std::string why;
    const auto numbers = parse_number_list(text, &why);
    if (!numbers || numbers->size() != 2 || text.find('-') != text.npos)
      return "\"" + text + "\" is not two whole numbers such as 512,128";
    b->prompts_then_gen.push_back({numbers->front(), numbers->back()});
    return "";
  };
  add_values(verb, "--pg", "N,N",
             "tokens of a prompt to compute, and tokens to decode behind them, as one test", take);
}

// The types that llama-bench knows; which of them states may have here is told where they are used.
void add_cache_types(CLI::App* verb, BenchOptions* b) {
  const Texts types = {"f16", "f32", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"};
  constexpr char kTypes[] = " as llama.cpp names types: f16 (bf16 here), f32, bf16, q8_0, q4_0; ";
  const Texts kv = {"--kv-type"}, k_and_v = {"--cache-type-k", "--cache-type-v"};
  add_words(verb, "--cache-type-k", b->k_types, "TYPE,...",
            std::string("keys") + kTypes + "the same as --cache-type-v; default: f16", types, kv);
  add_words(verb, "--cache-type-v", b->v_types, "TYPE,...",
            std::string("values") + kTypes + "the same as --cache-type-k; default: f16", types, kv);
  add_words(verb, "--kv-type", b->kv_types, "TYPE,...",
            "attention states as f32, bf16, q8 or q4; default: bf16", {"f32", "bf16", "q8", "q4"},
            k_and_v);
}

void add_tests(CLI::App* verb, BenchOptions* b) {
  add_list(verb, "-p,--n-prompt", b->n_prompt, "tokens of a prompt to compute; default: 512");
  add_list(verb, "-n,--n-gen", b->n_gen, "tokens to decode; default: 128");
  add_prompt_then_gen(verb, b);
  add_list(verb, "-d,--n-depth", b->depths, "tokens that stand before those; default: 0");
  add_list(verb, "--cached", b->cached,
           "tokens of the module before a first token and a batch; default: 1024, or half the "
           "context window");
  add(verb, "--new", b->n_new, "N",
      "tokens behind the module that a first token takes; default: 32")
      ->check(at_least_one());
  add_list(verb, "--sessions", b->sessions,
           "conversations that share the module and decode at once; default: 4");
}

void add_course(CLI::App* verb, BenchOptions* b) {
  add(verb, "-r,--repetitions", b->repetitions, "N", "of each test; default: 5")
      ->check(at_least_one());
  add(verb, "--delay", b->delay, "SECONDS", "of doing nothing before each test; default: 0")
      ->check(whole_number());
  CLI::Option* const cold = verb->add_flag_callback(
      "--no-warmup", [b] { b->warms_up = false; },
      "no run before those that count, but one that computes a module");
  cold->envname(environment_name(*cold));
  add(verb, "--prio", b->priority, "N",
      "of the process: -1 is low, 0 as it is, 1 to 3 more than others have; default: 0")
      ->check(silent(CLI::Range(-1, 3)));
  // As of llama-bench, the last one counts.
  for (const char* const name : {"--repetitions", "--delay", "--prio"})
    verb->get_option(name)->take_last();
  add(verb, "-C,--cpu-mask", b->cpu_mask, "HEX",
      "the CPUs that it may use, as bits: 0x3 for the first two; default: as it is");
}

void add_reports(CLI::App* verb, Options* o) {
  const Texts formats = {"md", "csv", "json", "jsonl", "sql", "none"};
  add_choice(verb, "-o,--output", o->bench.output, "FORMAT",
             "md, csv, json (a list), jsonl (a row a line), sql or none; default: md", formats);
  add_choice(verb, "--output-err", o->bench.error_output, "FORMAT",
             "the same on the standard error, too; default: none", formats);
  for (const char* const name : {"--output", "--output-err"}) verb->get_option(name)->take_last();
  add_switch(verb, "--json", o->json, "print one JSON object, the rows in its tests");
  add_switch(verb, "-v,--verbose", o->bench.verbose,
             "say what each engine is, in JSON on the standard error");
  add_quiet(verb, o);
  // Behind --quiet, which it takes back where that is a variable's.
  const auto shown = [verb, o] {
    if (!gives_way(verb, "--progress", {"--quiet"})) o->quiet = false;
  };
  CLI::Option* const progress = verb->add_flag_callback(
      "--progress", shown, "show which test runs: it does, unless it is --quiet");
  progress->envname(environment_name(*progress));
  const auto lists = [o] { o->bench.lists_devices = true; };
  CLI::Option* const devices =
      verb->add_flag_callback("--list-devices", lists, "print what can compute, and end");
  devices->envname(environment_name(*devices));
  verb->set_version_flag("--version", pc_version(), "print the version, and end");
}

void add_compare(CLI::App* bench, Options* o) {
  CLI::App* const verb = add_verb(
      bench, "compare", o, &bench_compare, "say what differs between two reports beyond the noise",
      "  promptcache bench -m model.gguf -r 10 -o json > before.json\n"
      "  promptcache bench -m model.gguf -r 10 -o json > after.json\n"
      "  promptcache bench compare before.json after.json --fail-slower 5\n\n"
      "Reports are those of -o json, -o jsonl and --json, or llama-bench's. Ends with 1\n"
      "where a test is slower by more than --fail-slower says, beyond the noise.");
  verb->add_option("report", o->bench_compare.files, "two files: before, and after")
      ->required()
      ->expected(2)
      ->type_name("FILE");
  add(verb, "--fail-slower", o->bench_compare.fail_slower, "PERCENT",
      "end with 1 when a test is slower by more than so many percent, beyond the noise")
      ->check(silent(CLI::Range(0.0, 100.0)));
  add_output(verb, o);
}

}  // namespace

void add_bench(CLI::App* app, Options* o) {
  CLI::App* const verb = add_verb(
      app, "bench", o, &bench, "measure prefill, decoding, cached first tokens and batches",
      "  promptcache bench models/city-guide\n"
      "  promptcache bench -m model.gguf -p 512 -n 128 -d 0,2048 -r 5 -o csv\n"
      "  promptcache bench -m a.gguf,b.gguf -t 1-8*2 -pg 512,128 -o jsonl\n\n"
      "Options, names of tests and columns are those of llama-bench, where it has such;\n"
      "beside each figure stands what reading memory alone would take. Lists may have\n"
      "ranges: first-last, first-last+step, first-last*factor. Several values are taken\n"
      "each with each; 0 leaves a measure out. No module stays in the store.");
  add(verb, "-m,--model,model", o->bench.models, "PATH",
      "the model: a Hugging Face folder or a GGUF file; several: commas between them");
  add_tests(verb, &o->bench);
  add_cache_types(verb, &o->bench);
  add_list(verb, "-t,--threads", o->bench.threads, "threads; default: all this process may use", 1);
  add_course(verb, &o->bench);
  add_reports(verb, o);
  add_context(verb, o);
  add_precision(verb, o);
  add_backend(verb, o);
  add_cache_dir(verb, o);
  add_llama_options(verb, &o->bench);
  add_compare(verb, o);
}

}  // namespace pc::cli
