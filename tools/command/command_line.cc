#include "tools/command/command_line.h"

#include <cstdio>

#include "tools/command/bench_options.h"
#include "tools/command/cache_verbs.h"
#include "tools/command/command_options.h"
#include "tools/command/help_text.h"
#include "tools/command/llama_words.h"
#include "tools/command/usage_error.h"
#include "tools/opening/verbs.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

// What --help, the manual and the shells say of an option.
OptionHelp option_help(const CLI::Option& option) {
  OptionHelp help;
  for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) {
    for (const auto& dashed : dashed_names("--" + name)) help.names.push_back(dashed);
    help.names.push_back("--" + name);
  }
  if (option.get_type_size() != 0) help.value = option.get_type_name();
  if (const std::string& words = option.get_option_text(); !words.empty())
    help.words = CLI::detail::split(words, ' ');
  help.text = option.get_description();
  help.repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_required()) help.text += " (required)";
  if (help.repeats) help.text += " (repeatable)";
  if (!option.get_envname().empty()) help.text += " [" + option.get_envname() + "]";
  return help;
}

// The same of one that is given by its place.
OptionHelp operand_help(const CLI::Option& option) {
  OptionHelp help = option_help(option);
  help.names = {option.get_name(true, false)};
  help.text = option.get_description();
  help.required = option.get_required();
  return help;
}

class Formatter : public CLI::Formatter {
 public:
  Formatter() { label("SUBCOMMAND", "VERB"); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const OptionHelp help = is_positional ? operand_help(*option) : option_help(*option);
    std::string left = CLI::detail::join(help.names, ", ");
    if (!is_positional && !help.value.empty()) left += " " + help.value;
    return help_entry(left, help.text);
  }
  std::string make_description(const CLI::App* verb) const override {
    return verb->get_description() + "\n\n";
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return help_entry(verb->get_name(), verb->get_description());
  }
};

constexpr char kSchema[] = "the PML schema",
               kPrompt[] = "the PML prompt; - reads the standard input";

void add_run(CLI::App* app, Options* o) {
  CLI::App* const verb =
      add_verb(app, "run", o, &run, "answer a question, or a prompt of a schema's modules",
               "  promptcache run -m model.gguf \"Why is the sky blue?\"\n"
               "  promptcache run -m model.gguf -f report.txt \"What does it say of costs?\"\n"
               "  promptcache run -m model.gguf -s guide.pml prompt.pml\n\n"
               "What is computed of --file is kept: the next question about it computes its own\n"
               "words alone.");
  add_schema(verb, o, "the PML schema; none: the prompt is a question in plain text");
  add_prompt(verb, o,
             "the question; with --schema, the file of a PML prompt; - reads the standard input")
      ->required()
      ->expected(1);
  add(verb, "-f,--file", o->files, "FILE",
      "a text that the question is about; - reads the standard input")
      ->allow_extra_args(false);
  add_switch(verb, "--compare", o->compare, "answer with and without reuse, side by side");
  add_model(verb, o);
  add_cache(verb, o);
  add_store_use(verb, o);
  add_switch(verb, "--no-cache", o->no_cache, "no store and no reuse: compute the whole prompt");
  add_sampling(verb, o);
  add_output(verb, o);
}

void add_chat(CLI::App* app, Options* o) {
  CLI::App* const verb =
      add_verb(app, "chat", o, &chat, "hold a conversation in the terminal",
               "  promptcache chat models/city-guide\n"
               "  promptcache chat -m models/city-guide -s guide.pml --history trip.jsonl\n\n"
               "A line is a message; /help lists what else it may be. With --history the\n"
               "conversation goes on the next time, and what the model computed of it is in the\n"
               "store by then.");
  add(verb, "-s,--schema", o->schema, "FILE", "a PML schema whose modules /use puts into messages");
  add(verb, "--system", o->system, "TEXT", "what a new conversation's system message says");
  add(verb, "--history", o->history, "FILE",
      "where the conversation is read from and written to: JSON, a line a message");
  add_overflow(
      verb, o,
      "where the context window ends: refuse what does not fit, or let the oldest turns go; "
      "default: stop");
  add_model(verb, o, kModelMayComeFirst);
  add_cache(verb, o);
  add_store_use(verb, o);
  add_switch(verb, "--no-cache", o->no_cache, "no store: nothing is kept");
  add_sampling(verb, o);
}

void add_encode(CLI::App* app, Options* o) {
  CLI::App* const verb =
      add_verb(app, "encode", o, &encode, "store every module of a schema, or those of prompts",
               "  promptcache encode -m models/city-guide -s guide.pml\n"
               "  promptcache encode -m models/city-guide -s guide.pml prompt.pml\n\n"
               "A module that a prompt imports in a turn of its own has seen the turn's opening:\n"
               "name the prompt, and it is stored as that prompt needs it.");
  add_schema(verb, o, kSchema)->required();
  CLI::Option* const prompts = add_prompt(verb, o, kPrompt);
  add_switch(verb, "--together", o->together,
             "each prompt's modules once more, together: as exact as a full prefill from then on")
      ->needs(prompts);
  add_model(verb, o);
  add_cache(verb, o);
  add_output(verb, o);
}

void add_check(CLI::App* app, Options* o) {
  CLI::App* const verb = add_verb(
      app, "check", o, &check, "check a schema and prompts; show tokens and bytes of each module",
      "  promptcache check -m models/city-guide -s guide.pml prompt.pml\n"
      "  promptcache check -m models/city-guide -s guide.pml --answers\n\n"
      "Ends with 3 when a document is wrong, and says where:\n"
      "  guide.pml:12:7: error: ...\n\n"
      "--answers measures what the reuse of modules does to this model's answers to the\n"
      "prompts, or to prompts that are made from the schema, and which repair mends it:\n"
      "repair=\"auto\" does what comes out.");
  add_schema(verb, o, kSchema)->required();
  add_prompt(verb, o, kPrompt);
  add_switch(verb, "--answers", o->answers, "measure what reuse does to answers");
  add(verb, "--made-prompts", o->made_prompts, "N",
      "prompts that are made for --answers where none are named; default: 24")
      ->check(at_least_one())
      ->needs("--answers");
  add(verb, "--compared-tokens", o->compared_tokens, "N",
      "of each answer that --answers compares, up to 256; default: 24")
      ->check(at_least_one())
      ->needs("--answers");
  add_model(verb, o);
  add_cache(verb, o);
  add_output(verb, o);
}

void add_explain(CLI::App* app, Options* o) {
  CLI::App* const verb =
      add_verb(app, "explain", o, &explain, "say what a run would reuse, and why not more",
               "  promptcache explain -m models/city-guide -s guide.pml prompt.pml");
  add_schema(verb, o, kSchema)->required();
  add_prompt(verb, o, kPrompt)->required()->expected(1);
  add_model(verb, o);
  add_cache(verb, o);
  add_store_use(verb, o);
  add_output(verb, o);
}

void add_inspectors(CLI::App* app, Options* o) {
  CLI::App* const model = add_group(app, "model", "look at a model");
  CLI::App* verb =
      add_verb(model, "info", o, &model_info, "print what a model is, and whether it can be run",
               "  promptcache model info models/city-guide");
  add_model_path(verb, o, kModelMayComeFirst)->expected(1);
  add_context(verb, o);
  add_kv_type(verb, o);
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb = add_verb(model, "verify", o, &model_verify, "check every byte of a model's files",
                  "  promptcache model verify models/city-guide\n\n"
                  "Names every problem that it finds, and ends with 4 when there is one.");
  add_model_path(verb, o, kModelMayComeFirst)->expected(1);
  add_switch(verb, "--probe", o->probe,
             "compute, too: perplexity, range of each layer, instruction sets");
  add(verb, "--probe-text", o->probe_text, "FILE",
      "the text that --probe reads; default: a page of a book");
  add_threads(verb, o);
  add_context(verb, o);
  add_kv_type(verb, o);
  add_cache_dir(verb, o);
  add_output(verb, o);
  verb = add_verb(app, "tokenize", o, &tokenize, "print the tokens of a text",
                  "  promptcache tokenize -m models/city-guide \"Where is the harbour?\"");
  verb->add_option("text", o->text, "default, and -: the standard input")->expected(0, 1);
  add_model(verb, o);
  add_output(verb, o);
  verb = add_verb(app, "version", o, &version, "print version, instruction sets and libraries",
                  "  promptcache version --json");
  add_output(verb, o);
}

void add_serve(CLI::App* app, Options* o) {
  CLI::App* const verb = add_verb(
      app, "serve", o, &serve, "answer over HTTP, in the protocols of OpenAI and Anthropic",
      "  promptcache serve models/city-guide\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\":\n"
      "    [{\"role\":\"user\",\"content\":\"Where is the harbour?\"}]}'\n\n"
      "What the model computed of a conversation is in the store when its answer ends, so the\n"
      "next request of it computes its new text alone. docs/SERVER.md says more.");
  ServeOptions& s = o->serve;
  add(verb, "--host", s.addresses, "ADDRESS",
      "listen on this address, or on all addresses of this name; default: 127.0.0.1, for this "
      "machine alone")
      ->allow_extra_args(false);
  add(verb, "--port", s.port, "N", "and this port, 0: any that is free; default: 8080")
      ->check(silent(CLI::Range(0, 65535)));
  add(verb, "--socket", s.socket, "PATH", "listen on this UNIX socket instead");
  add(verb, "--name", s.name, "NAME",
      "what clients call the model; default: the name of its file or folder");
  add(verb, "--allow-host", s.hosts, "NAME",
      "answer requests for this host name, too; default: those for this machine")
      ->allow_extra_args(false);
  add(verb, "--allow-origin", s.origins, "ORIGIN",
      "let pages of this origin read answers: https://example.org, or * for any; default: none")
      ->allow_extra_args(false);
  add(verb, "--parallel", s.parallel, "N", "answers that are made at once; default: 4")
      ->check(at_least_one());
  add(verb, "--queue", s.waiting, "N",
      "requests that wait beyond those; others are told to come again; default: 64")
      ->check(whole_number());
  add(verb, "--deadline", s.deadline, "SECONDS",
      "an answer that is not over by then is ended; default: none");
  add(verb, "--keys", s.keys, "FILE",
      "answer those alone who have a key of this file, each in its own namespace")
      ->check(silent(CLI::ExistingFile));
  add_switch(verb, "--log-requests", s.logs_requests,
             "a line on the standard error for each request, without its contents");
  add(verb, "--reuse", s.mode, "MODE",
      "of requests that name none: prefix, marked, tools, documents or off; default: prefix")
      ->check(silent(CLI::IsMember({"prefix", "marked", "tools", "documents", "off"})));
  add_overflow(verb, o,
               "conversations that are longer than the context window: refuse them, or answer them "
               "without their oldest turns; default: stop");
  add(verb, "--prepare", s.prepares, "on|off",
      "while nobody waits, compute what the template will make of the latest answers in the next "
      "request's history; default: on")
      ->check(silent(CLI::IsMember({"on", "off"})));
  add_draft(verb, o);
  add_model(verb, o, kModelMayComeFirst);
  add(verb, "--add-model", s.more_models, "[NAME=]PATH",
      "another model, which is loaded when it is first asked for")
      ->allow_extra_args(false);
  add(verb, "--model-template", s.templates, "NAME=TEMPLATE",
      "what --chat-template is for -m, for another model")
      ->allow_extra_args(false);
  add(verb, "--alias", s.aliases, "[NAME=]ALIAS", "another name of the model of -m, or of NAME")
      ->allow_extra_args(false);
  add_switch(verb, "--any-model", s.any_model,
             "requests that name a model which is none are the first's, too");
  add_size(verb, "--model-memory", s.model_memory,
           "for the weights of all models in memory; default: 3/4 of the machine's, or of the "
           "group's limit");
  add_cache(verb, o);
  add_store_use(verb, o);
  add_switch(verb, "--no-cache", o->no_cache, "no store: nothing is kept");
}

// The whole command line, which fills the options.
void define(CLI::App* app, Options* o) {
  app->description(
      "Answers prompts written in PML with a language model on the CPU, and reuses the\n"
      "attention states of the modules that prompts share.");
  app->name("promptcache");
  app->formatter(std::make_shared<Formatter>());
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app->footer(
      "promptcache VERB --help says more. Exit codes: 0 success, 1 failure,\n"
      "2 command line, 3 PML document, 4 model or store, 130 interrupted.");
  app->set_help_flag("-h,--help", "print this help");
  app->set_version_flag("--version", pc_version(), "print the version; the verb says more");
  add_run(app, o);
  add_chat(app, o);
  add_encode(app, o);
  add_check(app, o);
  add_explain(app, o);
  add_cache_verbs(app, o);
  add_inspectors(app, o);
  add_bench(app, o);
  add_serve(app, o);
}

// A command line that stops short of a verb.
ExitCode show_verbs(const CLI::App& app) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  std::fputs((deepest == &app ? app.help() : deepest->help(app.get_name())).c_str(), stderr);
  return kUsage;
}

ExitCode report(const CLI::App& app, const CLI::ParseError& problem,
                std::span<const char* const> words) {
  if (problem.get_exit_code() == 0) {  // --help, --version
    app.exit(problem);
    return kSuccess;
  }
  print_failure(Failure(kUsage, usage_error(app, problem, words)));
  return kUsage;
}

VerbHelp describe(const CLI::App& app, const std::string& parents) {
  VerbHelp help;
  help.name = parents + app.get_name();
  help.description = app.get_description();
  help.footer = app.get_footer();
  const std::string usage = Formatter().make_usage(&app, help.name);  // "Usage: ...\n"
  help.usage = CLI::detail::trim_copy(usage.substr(usage.find(' ')));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) help.operands.push_back(operand_help(*option));
    if (option->nonpositional()) help.options.push_back(option_help(*option));
  }
  for (const CLI::App* verb : app.get_subcommands({}))
    help.verbs.push_back(describe(*verb, help.name + " "));
  return help;
}

}  // namespace

std::variant<Options, ExitCode> parse_command_line(int argc, const char* const* argv) {
  const auto words = with_long_names(std::span(argv, static_cast<std::size_t>(argc)));
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  Options options;
  CLI::App app;
  define(&app, &options);
  try {
    app.parse(argc, pointers.data());
  } catch (const CLI::ParseError& problem) {
    return report(app, problem, std::span(pointers).subspan(1));
  }
  if (!options.verb) return show_verbs(app);
  return options;
}

VerbHelp describe_command_line() {
  Options options;
  CLI::App app;
  define(&app, &options);
  return describe(app, "");
}

}  // namespace pc::cli
