// What a command line asks for: the verb, and the options of all verbs. A value;
// command_line.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/output/failure.h"  // ExitCode

namespace pc::cli {

// Tokens that are computed, and then decoded behind them, as one test.
struct PromptThenGen {
  std::uint32_t n_prompt = 0, n_gen = 0;
};

// What `bench` measures. 0 in a list of tokens leaves its measures out; an empty list is the
// default. Several models, types of states and numbers of threads: each with each.
struct BenchOptions {
  std::vector<std::string> models;
  std::vector<std::string> kv_types;          // "bf16", as --kv-type has them
  std::vector<std::string> k_types, v_types;  // "q8_0", as llama.cpp calls them
  std::vector<std::uint32_t> threads;
  std::vector<std::uint32_t> n_prompt, n_gen;
  std::vector<PromptThenGen> prompts_then_gen;
  std::vector<std::uint32_t> depths;    // tokens that are there before those three begin
  std::vector<std::uint32_t> cached;    // tokens of a module; empty: 1024, or half the window
  std::uint32_t n_new = 32;             // tokens behind the module, of which the first comes
  std::vector<std::uint32_t> sessions;  // that share the module
  std::uint32_t repetitions = 5;
  std::uint32_t delay = 0;  // seconds before each test
  bool warms_up = true;
  std::int32_t priority = 0;  // -1 to 3, as llama.cpp numbers them
  std::string cpu_mask;       // "0x3"; empty: all CPUs that this process has
  std::string output = "md", error_output = "none";
  bool verbose = false, lists_devices = false;
  std::vector<std::string> without_meaning;  // options of llama-bench that do nothing, and why
};

// What `bench compare` reads, and when it fails.
struct BenchCompareOptions {
  std::vector<std::string> files;     // two
  std::optional<double> fail_slower;  // percent
};

// What `serve` listens on and does at once. Empty and 0: the default.
struct ServeOptions {
  std::vector<std::string> addresses;  // addresses or names of this machine
  std::string socket, name;            // socket: a path; then no address and port
  std::uint32_t port = 8080;
  std::vector<std::string> hosts, origins;  // names and origins that requests may have beside ours
  std::uint32_t parallel = 4, waiting = 64;
  std::uint32_t deadline = 0;  // seconds
  std::string keys;            // a file
  bool logs_requests = false;
  std::string mode = "prefix";
  std::string prepares = "on";
  std::vector<std::string> more_models;       // "PATH" or "NAME=PATH"
  std::vector<std::string> templates;         // "NAME=TEMPLATE", of those
  std::vector<std::string> aliases;           // "ALIAS" of the first, or "NAME=ALIAS"
  bool any_model = false;                     // other names are the first's, too
  std::optional<std::uint64_t> model_memory;  // bytes of weights in memory
};

struct Options {
  using Verb = ExitCode (*)(const Options&);
  Verb verb = nullptr;

  // The engine. Empty and 0 mean the library's default.
  std::string model, kv_type, precision, chat_template, backend;
  std::uint32_t threads = 0, context = 0;
  std::optional<std::int64_t>
      chat_time;  // what the model's template is told, seconds since 1970 (UTC)

  // The store.
  std::string cache_dir, cache_namespace;
  std::vector<std::string> cache_from, cache_trust;  // stores behind it, files of public keys
  std::string cache_copy;                            // "": auto
  std::optional<std::uint64_t> cache_bytes;
  bool read_only_cache = false, no_cache = false, require_cache = false;

  // Documents: paths, "-" is the standard input.
  std::string schema;
  std::vector<std::string> prompts;

  // The generation. None, and 0 of the others, mean the library's default.
  std::optional<std::uint32_t> max_tokens;
  std::uint32_t top_k = 0;
  std::optional<float> top_p, repeat_penalty;
  float temperature = 0, min_p = 0, presence_penalty = 0, frequency_penalty = 0;
  std::uint64_t seed = 0;
  std::string overflow = "stop";
  std::optional<std::uint32_t> max_draft;
  std::string repair;  // "": what the prompt or its schema says
  std::vector<std::string> stop;

  // What one verb alone takes.
  bool compare = false;                                 // run
  std::string system, history;                          // chat: a text, and a file
  bool together = false;                                // encode
  bool answers = false;                                 // check
  std::uint32_t made_prompts = 0, compared_tokens = 0;  // check; 0: the library's default
  bool all = false;                                     // cache rm
  std::string signing_key;                              // cache push, cache sign: a file
  std::optional<std::uint32_t> used_days;               // cache push
  bool probe = false;                                   // model verify
  std::string probe_text;          // model verify: a file; empty: the library's own text
  std::vector<std::string> keys;   // cache show, verify, rm, export
  std::vector<std::string> files;  // run: texts that a question is about; cache import
  std::vector<std::string> text;   // tokenize
  BenchOptions bench;
  BenchCompareOptions bench_compare;
  ServeOptions serve;

  bool json = false, quiet = false;
};

}  // namespace pc::cli
