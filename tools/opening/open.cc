#include "tools/opening/open.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "tools/opening/opening.h"
#include "tools/output/json.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

// More than any text the library takes; keeps an endless pipe out of memory.
constexpr std::size_t kMaxDocumentBytes = std::size_t{64} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

const char* or_null(const std::string& s) {
  return s.empty() ? nullptr : s.c_str();
}

Failure cannot_read(const std::string& name) {
  return {kFailure, name + " cannot be read: " + std::generic_category().message(errno)};
}

// What an engine says while it opens is its remark, and printed as such where it is.
thread_local bool is_opening = false;

promptcache::Engine open_silently(const promptcache::EngineOptions& options) {
  is_opening = true;
  const std::unique_ptr<bool, void (*)(bool*)> ends(&is_opening, [](bool* is) { *is = false; });
  return promptcache::Engine(options);
}

void print_remark(const std::string& remark) {
  std::fprintf(stderr, "%s %s\n", paint("remark:", Colour::kYellow, stderr).c_str(),
               printable(remark).c_str());
}

// pc_log_sink. A bar, or an answer, may stand in the line on a terminal, and stays.
void print_message(void*, std::int32_t, const char* message) {
  if (is_opening) return;
  if (is_terminal(stderr)) std::fputs("\n", stderr);
  print_remark(message);
}

// What the user should know of how the engine opened: a plug-in it does without,
// a store it cannot write.
void print_remark(const promptcache::Engine& engine, const Options& options) {
  if (options.quiet) return;
  const Json remark = parse_report(engine.describe())["remark"];
  if (remark.text() != "-") print_remark(remark.text());
}

}  // namespace

pc_cache_mode cache_mode(const Options& options) {
  if (options.no_cache) return PC_CACHE_OFF;
  return options.read_only_cache ? PC_CACHE_READ_ONLY : PC_CACHE_READ_WRITE;
}

promptcache::EngineOptions engine_options(const Options& options) {
  promptcache::EngineOptions engine;
  engine.model_path = options.model.c_str();
  engine.cache_dir = or_null(options.cache_dir);
  engine.kv_type = options.kv_type.empty()    ? PC_KV_DEFAULT
                   : options.kv_type == "f32" ? PC_KV_F32
                   : options.kv_type == "q8"  ? PC_KV_Q8
                   : options.kv_type == "q4"  ? PC_KV_Q4
                                              : PC_KV_BF16;
  engine.precision = options.precision == "exact"           ? PC_PRECISION_EXACT
                     : options.precision == "deterministic" ? PC_PRECISION_DETERMINISTIC
                                                            : PC_PRECISION_DEFAULT;
  engine.cache_bytes = options.cache_bytes.value_or(0);
  engine.set_cache_from(options.cache_from).set_cache_trust(options.cache_trust);
  engine.cache_copy = options.cache_copy == "always"  ? PC_COPY_ALWAYS
                      : options.cache_copy == "never" ? PC_COPY_NEVER
                                                      : PC_COPY_AUTO;
  engine.require_store = options.require_cache;
  engine.cache_namespace = or_null(options.cache_namespace);
  engine.chat_template = or_null(options.chat_template);
  engine.chat_time = options.chat_time.value_or(0);
  if (options.chat_time) engine.given |= PC_GIVEN_CHAT_TIME;
  engine.backend = or_null(options.backend);
  engine.n_threads = options.threads;
  engine.context_tokens = options.context;
  return engine;
}

static void check_store_options(const Options& options, pc_cache_mode mode) {
  if (options.cache_bytes == std::uint64_t{0})
    throw Failure(
        kUsage, "a store of --cache-size 0 can hold nothing: use --no-cache, or --read-only-cache");
  if (options.require_cache && mode == PC_CACHE_OFF)
    throw Failure(kUsage, "--require-cache demands the store that --no-cache turns off: give one");
  if (!options.cache_from.empty() && mode == PC_CACHE_OFF)
    throw Failure(kUsage, "--cache-from is behind the store that --no-cache turns off: give one");
}

promptcache::Engine open_engine_quietly(const Options& options, pc_cache_mode mode) {
  check_store_options(options, mode);
  promptcache::EngineOptions engine = engine_options(options);
  engine.cache_mode = mode;
  return open_silently(engine);
}

promptcache::Engine open_engine(const Options& options, pc_cache_mode mode) {
  check_store_options(options, mode);
  promptcache::EngineOptions engine = engine_options(options);
  engine.cache_mode = mode;
  promptcache::Engine opened = [&] {
    Opening opening(options.quiet);
    opening.attach(&engine);
    promptcache::Engine ready = open_silently(engine);
    opening.end();
    return ready;
  }();
  print_remark(opened, options);
  // From here on: what costs more than it should, as it comes.
  if (!options.quiet) pc_set_log(print_message, nullptr, PC_LOG_WARNING);
  return opened;
}

promptcache::Schema load_schema(const promptcache::Engine& engine, const Options& options) try {
  return promptcache::Schema::load(engine, options.schema);
} catch (const promptcache::Error& error) {
  throw document_failure(error, options.schema);
}

promptcache::Store open_store(const Options& options, pc_cache_mode mode) {
  return promptcache::Store(options.cache_dir, mode);
}

namespace {

// Where the library has its stores (pc_store_open).
std::string default_cache_dir() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/promptcache";
  const char* const home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.cache/promptcache" : "";
}

}  // namespace

promptcache::Store make_store(const Options& options) {
  ::umask(077);  // what is made is this user's alone
  const std::string dir = options.cache_dir.empty() ? default_cache_dir() : options.cache_dir;
  if (!dir.empty()) make_folder(dir);
  return open_store(options, PC_CACHE_READ_WRITE);
}

void make_folder(const std::string& dir) {
  std::error_code failure;
  std::filesystem::create_directories(dir, failure);
  if (failure)
    throw Failure(kModelOrStore, "cannot make the folder \"" + dir + "\": " + failure.message());
}

Document read_document(const std::string& path) {
  const bool standard_input = path == "-";
  Document document{standard_input ? "<stdin>" : path, ""};
  const std::unique_ptr<std::FILE, CloseFile> file(standard_input ? stdin
                                                                  : std::fopen(path.c_str(), "rb"));
  if (!file) throw cannot_read(document.name);
  std::array<char, 1 << 16> chunk;
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    if (n > kMaxDocumentBytes - document.text.size())
      throw Failure(kFailure,
                    document.name + " is longer than 64 MiB, more than any document may be");
    document.text.append(chunk.data(), n);
  }
  if (std::ferror(file.get())) throw cannot_read(document.name);
  return document;
}

promptcache::Prompt parse_prompt(const promptcache::Schema& schema, const Document& document) try {
  return promptcache::Prompt(schema, document.text);
} catch (const promptcache::Error& error) {
  throw document_failure(error, document.name);
}

void print_remark(const std::string& file, const std::string& remark) {
  std::fprintf(stderr, "%s: %s %s\n", printable(file).c_str(),
               paint("remark:", Colour::kYellow, stderr).c_str(), printable(remark).c_str());
}

void print_remarks(const promptcache::Prompt& prompt, const std::string& name) {
  const std::string remarks = prompt.remarks();
  for (std::size_t begin = 0; begin < remarks.size();) {
    const std::size_t end = remarks.find('\n', begin);
    print_remark(name, remarks.substr(begin, end - begin));
    begin = end + 1;
  }
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return;
  throw Failure(kFailure, std::string("the standard output cannot be written: ") +
                              std::generic_category().message(errno));
}

}  // namespace pc::cli
