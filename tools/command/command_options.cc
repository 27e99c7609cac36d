#include "tools/command/command_options.h"

#include <ctime>
#include <limits>

#include "tools/output/sizes.h"

namespace pc::cli {

std::string environment_name(const CLI::Option& option) {
  std::string name = "PROMPTCACHE_" + option.get_lnames().front();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return name;
}

CLI::Option* add_switch(CLI::App* verb, const std::string& names, bool& value,
                        const std::string& description) {
  CLI::Option* const option = verb->add_flag(names, value, description);
  return option->envname(environment_name(*option));
}

void add_size(CLI::App* verb, const std::string& names, std::optional<std::uint64_t>& bytes,
              const std::string& description) {
  CLI::Option* const option = verb->add_option_function<std::string>(
      names,
      [&bytes, names](const std::string& text) {
        bytes = parse_size(text);
        if (!bytes)
          throw CLI::ValidationError(names, "\"" + text + "\" is not a size such as 512M or 4GiB");
      },
      description);
  option->type_name("SIZE")->envname(environment_name(*option));
}

// Noon of that day, in seconds since 1970 (UTC).
static std::optional<std::int64_t> parse_date(const std::string& text) {
  std::tm day{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%d", &day);
  if (!end || *end) return std::nullopt;
  day.tm_hour = 12;
  const std::tm asked = day;  // timegm() makes 31 February a day of March
  const std::time_t seconds = ::timegm(&day);
  if (day.tm_mday != asked.tm_mday || text[0] == ' ') return std::nullopt;
  return static_cast<std::int64_t>(seconds);
}

static void add_date(CLI::App* verb, const std::string& name, std::optional<std::int64_t>& seconds,
                     const std::string& description) {
  CLI::Option* const option = verb->add_option_function<std::string>(
      name,
      [&seconds, name](const std::string& text) {
        const auto date = parse_date(text);
        if (!date)
          throw CLI::ValidationError(name, "\"" + text + "\" is not a date such as 2026-01-31");
        seconds = *date;
      },
      description);
  option->type_name("DATE")->envname(environment_name(*option));
}

// A validator's description would stand in the help beside the type.
CLI::Validator silent(CLI::Validator validator) {
  return validator.description("");
}

// A number from `least` to `most`, in the words of whoever reads the error.
template <class T>
static CLI::Validator number(T least, T most, const char* what) {
  return silent(CLI::Validator(
      [=](const std::string& text) {
        T value{};
        return CLI::detail::lexical_cast(text, value) && value >= least && value <= most
                   ? ""
                   : "\"" + text + "\" is not " + what;
      },
      ""));
}

CLI::Validator at_least_one() {
  return number(std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max(),
                "a whole number from 1 to 4294967295");
}
CLI::Validator not_empty() {
  return silent(CLI::Validator(
      [](const std::string& text) { return text.empty() ? "it is empty" : ""; }, ""));
}
CLI::Validator whole_number() {
  return number(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max(),
                "a whole number up to 4294967295");
}
static CLI::Validator share() {
  return number(0.0f, 1.0f, "a number from 0 to 1");
}
static CLI::Validator not_negative() {
  return number(0.0f, std::numeric_limits<float>::max(), "a number that is 0 or more");
}
static CLI::Validator any_number() {
  return number(std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max(),
                "a number");
}

static constexpr char kVerbs[] = "Verbs";

CLI::App* add_verb(CLI::App* parent, const std::string& name, Options* o, Options::Verb verb,
                   const std::string& description, const std::string& example) {
  CLI::App* const app = parent->add_subcommand(name, description);
  app->footer("Example:\n" + example)->group(kVerbs);
  // Also keeps the environment of the other verbs' options out of this one.
  // A verb below it has been found by then.
  app->parse_complete_callback([o, verb, app] {
    if (app->get_subcommands().empty()) o->verb = verb;
  });
  return app;
}

CLI::App* add_group(CLI::App* parent, const std::string& name, const std::string& description) {
  CLI::App* const app = parent->add_subcommand(name, description);
  app->group(kVerbs)->parse_complete_callback([] {});
  return app;
}

void add_output(CLI::App* verb, Options* o) {
  add_switch(verb, "--json", o->json, "print one JSON object instead of text");
}

CLI::Option* add_model_path(CLI::App* verb, Options* o, const std::string& names) {
  return add(verb, names, o->model, "PATH", "the model: a Hugging Face folder or a GGUF file")
      ->required();
}

void add_threads(CLI::App* verb, Options* o) {
  add(verb, "-t,--threads", o->threads, "N", "threads; default: all this process may use")
      ->check(at_least_one());
}

void add_context(CLI::App* verb, Options* o) {
  add(verb, "-c,--context", o->context, "N", "context window in tokens; default: the model's own")
      ->check(at_least_one());
}

void add_choice(CLI::App* verb, const std::string& names, std::string& value,
                const std::string& type, const std::string& description,
                const std::vector<std::string>& words) {
  add(verb, names, value, type, description)
      ->check(silent(CLI::IsMember(words)))
      ->option_text(CLI::detail::join(words, " "));
}

void add_kv_type(CLI::App* verb, Options* o) {
  add_choice(verb, "--kv-type", o->kv_type, "TYPE",
             "attention states as f32, bf16, q8 or q4; default: bf16", {"f32", "bf16", "q8", "q4"});
}

void add_precision(CLI::App* verb, Options* o) {
  add_choice(
      verb, "--precision", o->precision, "NAME",
      "fast; deterministic: an answer does not depend on others that are computed beside it; or "
      "exact: f32 activations and states, for comparisons; default: fast",
      {"fast", "deterministic", "exact"});
}

void add_backend(CLI::App* verb, Options* o) {
  add(verb, "--backend", o->backend, "PATH",
      "cpu, or the absolute path of a plug-in; default: cpu");
}

void add_quiet(CLI::App* verb, Options* o) {
  add_switch(verb, "-q,--quiet", o->quiet, "no progress, statistics or remarks");
}

void add_model(CLI::App* verb, Options* o, const std::string& names) {
  add_model_path(verb, o, names);
  add_threads(verb, o);
  add_context(verb, o);
  add_kv_type(verb, o);
  add_precision(verb, o);
  add(verb, "--chat-template", o->chat_template, "NAME",
      "e.g. chatml, llama3, or FILE.json, FILE.jinja; default: that in the model's files");
  add_date(verb, "--chat-date", o->chat_time,
           "the day that the model's template is told, as 2026-01-31; default: today");
  add_backend(verb, o);
  add_quiet(verb, o);
}

void add_cache_dir(CLI::App* verb, Options* o) {
  add(verb, "--cache-dir", o->cache_dir, "DIR",
      "where modules are stored; default: $XDG_CACHE_HOME/promptcache, else ~/.cache/promptcache");
}

void add_cache(CLI::App* verb, Options* o) {
  add_cache_dir(verb, o);
  add_size(verb, "--cache-size", o->cache_bytes, "most that the store may hold; default: 8GiB");
  add(verb, "--namespace", o->cache_namespace, "NAME",
      "modules of different namespaces are never shared");
}

void add_trust(CLI::App* verb, Options* o, const std::string& what) {
  add(verb, "--cache-trust", o->cache_trust, "FILE", "a public key (Ed25519, PEM), " + what)
      ->delimiter(':');
}

static void add_tiers(CLI::App* verb, Options* o) {
  add(verb, "--cache-from", o->cache_from, "DIR",
      "a store that is asked for what --cache-dir does not have, and never written to; several: in "
      "their order")
      ->delimiter(':');
  add(verb, "--cache-copy", o->cache_copy, "WHEN",
      "what is found there is copied: auto (if it must be, or was slow), always or never; "
      "default: auto")
      ->check(silent(CLI::IsMember({"auto", "always", "never"})));
  add_trust(verb, o, "whose signature stands for files of --cache-from that other users may write");
}

void add_store_use(CLI::App* verb, Options* o) {
  add_switch(verb, "--read-only-cache", o->read_only_cache, "use stored modules, store none");
  add_switch(verb, "--require-cache", o->require_cache,
             "fail where the store cannot be used, instead of going on without");
  add_tiers(verb, o);
}

CLI::Option* add_schema(CLI::App* verb, Options* o, const std::string& description) {
  return add(verb, "-s,--schema", o->schema, "FILE", description);
}

CLI::Option* add_prompt(CLI::App* verb, Options* o, const std::string& description) {
  return add(verb, "-p,--prompt,prompt", o->prompts, "FILE", description);
}

static void add_seed(CLI::App* verb, Options* o) {
  CLI::Option* const option = verb->add_option_function<std::string>(
      "--seed",
      [o](const std::string& text) {
        if (text == "random")
          o->seed = PC_SEED_RANDOM;
        else if (!CLI::detail::lexical_cast(text, o->seed))
          throw CLI::ValidationError("--seed", "\"" + text + "\" is neither a number nor random");
      },
      "of the sampler: the same number gives the same answer (docs/RELIABILITY.md, 9), random "
      "another each time; default: 0");
  option->type_name("N")->envname(environment_name(*option));
}

void add_overflow(CLI::App* verb, Options* o, const char* what) {
  add(verb, "--overflow", o->overflow, "stop|slide", what)
      ->check(silent(CLI::IsMember({"stop", "slide"})));
}

void add_draft(CLI::App* verb, Options* o) {
  add(verb, "--draft", o->max_draft, "N",
      "where an answer repeats what stands before it, compute up to N tokens ahead: the same "
      "answer, sooner; 0: none; default: 15")
      ->check(whole_number());
}

void add_sampling(CLI::App* verb, Options* o) {
  add(verb, "-n,--max-tokens", o->max_tokens, "N",
      "longest answer; 0: none, the prompt is computed alone; default: 256")
      ->check(whole_number());
  add(verb, "--temp", o->temperature, "X", "temperature; default: 0, always the likeliest token")
      ->check(not_negative());
  add(verb, "--top-k", o->top_k, "N", "draw from the N likeliest tokens; default: all")
      ->check(whole_number());
  add(verb, "--top-p", o->top_p, "X",
      "draw from the likeliest tokens that make up X; 0: the likeliest alone; default: all")
      ->check(share());
  add(verb, "--min-p", o->min_p, "X", "drop tokens less likely than X times the likeliest")
      ->check(share());
  add(verb, "--repeat-penalty", o->repeat_penalty, "X", "above 1: makes repetition less likely")
      ->check(not_negative());
  add(verb, "--presence-penalty", o->presence_penalty, "X",
      "off the logit of each token that the answer has")
      ->check(any_number());
  add(verb, "--frequency-penalty", o->frequency_penalty, "X",
      "the same, for each time that it has it")
      ->check(any_number());
  add_seed(verb, o);
  add_draft(verb, o);
  add(verb, "--repair", o->repair, "HOW",
      "none, all, leading:N, attended:P%, selected:P% or auto: which tokens of modules that have "
      "not seen what stands before them are computed anew; default: what the prompt or its schema "
      "says");
  add(verb, "--stop", o->stop, "TEXT", "ends the answer, and is not part of it")
      ->allow_extra_args(false);
}

}  // namespace pc::cli
