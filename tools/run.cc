#include <cstdio>

#include "tools/answer.h"
#include "tools/compare.h"
#include "tools/failure.h"
#include "tools/open.h"
#include "tools/terminal.h"
#include "tools/verbs.h"

namespace pc::cli {
namespace {

// Streams an answer to the standard output and ends it with a line break.
class Stream {
 public:
  void operator()(std::string_view text) {
    print(is_terminal(stdout) ? printable_lines(text) : std::string(text));
    open_line_ = text.back() != '\n';
  }
  ~Stream() {
    if (open_line_) std::fputs("\n", stdout);
  }

 private:
  bool open_line_ = false;
};

}  // namespace

ExitCode run(const Options& options) {
  if (options.compare && options.no_cache)
    throw Failure(kUsage, "--compare needs the cache that --no-cache turns off: give one of them");
  const Document document = read_document(options.prompts.front());
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  const promptcache::Schema schema = load_schema(engine, options);
  const promptcache::Prompt prompt = parse_prompt(schema, document);
  if (!options.quiet) print_remarks(prompt, document);
  if (options.compare) return compare(prompt, options);

  Answer answer;
  {
    Stream stream;
    answer = generate(prompt, options, !options.no_cache, [&](std::string_view text) {
      if (!options.json) stream(text);
    });
  }
  print(options.json ? to_json(answer).dump() + "\n" : "");
  if (!options.quiet) std::fputs(describe(answer.stats).c_str(), stderr);
  return kSuccess;
}

}  // namespace pc::cli
