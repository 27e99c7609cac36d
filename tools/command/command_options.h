// Options that several verbs of the command line take, each with its flag, its environment
// variable, its check and its words. The home of CLI11.
//
// Each function adds one to a verb; what a user gives is written to the value, which must outlive
// the parsing. Internal to tools/command/. Threads: one at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/opening/options.h"

namespace pc::cli {

// "--cache-dir" -> "PROMPTCACHE_CACHE_DIR".
std::string environment_name(const CLI::Option& option);

// A verb, and one that only groups others.
CLI::App* add_verb(CLI::App* parent, const std::string& name, Options* o, Options::Verb verb,
                   const std::string& description, const std::string& example);
CLI::App* add_group(CLI::App* parent, const std::string& name, const std::string& description);

// An option whose value is of this type, in words: "FILE".
template <class T>
CLI::Option* add(CLI::App* verb, const std::string& names, T& value, const std::string& type,
                 const std::string& description) {
  CLI::Option* const option = verb->add_option(names, value, description)->type_name(type);
  return option->envname(environment_name(*option));
}

CLI::Option* add_switch(CLI::App* verb, const std::string& names, bool& value,
                        const std::string& description);
// An option that takes one of these words. They are its text, which --help does not show, for the
// shells, which offer them.
void add_choice(CLI::App* verb, const std::string& names, std::string& value,
                const std::string& type, const std::string& description,
                const std::vector<std::string>& words);
void add_size(CLI::App* verb, const std::string& names, std::optional<std::uint64_t>& bytes,
              const std::string& description);
CLI::Validator silent(CLI::Validator validator);
CLI::Validator at_least_one();
CLI::Validator whole_number();
CLI::Validator not_empty();
void add_output(CLI::App* verb, Options* o);
CLI::Option* add_model_path(CLI::App* verb, Options* o, const std::string& names);
void add_threads(CLI::App* verb, Options* o);
void add_context(CLI::App* verb, Options* o);
void add_kv_type(CLI::App* verb, Options* o);
void add_precision(CLI::App* verb, Options* o);
void add_backend(CLI::App* verb, Options* o);
void add_quiet(CLI::App* verb, Options* o);
// names: kModelIsAnOption, or kModelMayComeFirst where the verb's one operand may be the model.
inline constexpr char kModelIsAnOption[] = "-m,--model", kModelMayComeFirst[] = "-m,--model,model";
void add_model(CLI::App* verb, Options* o, const std::string& names = kModelIsAnOption);
void add_cache_dir(CLI::App* verb, Options* o);
void add_cache(CLI::App* verb, Options* o);
void add_store_use(CLI::App* verb, Options* o);
void add_trust(CLI::App* verb, Options* o, const std::string& what);
CLI::Option* add_schema(CLI::App* verb, Options* o, const std::string& description);
CLI::Option* add_prompt(CLI::App* verb, Options* o, const std::string& description);
void add_draft(CLI::App* verb, Options* o);
void add_overflow(CLI::App* verb, Options* o, const char* what);
void add_sampling(CLI::App* verb, Options* o);

}  // namespace pc::cli
