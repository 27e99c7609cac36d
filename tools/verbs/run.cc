#include <cstdio>

#include "tools/answers/answer.h"
#include "tools/answers/approximation.h"
#include "tools/answers/compare.h"
#include "tools/answers/question.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"
#include "tools/output/terminal.h"

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

promptcache::Prompt question(const Options& options) {
  promptcache::Prompt prompt = ask_question(open_engine(options, cache_mode(options)), options);
  if (!options.quiet) print_remarks(prompt, "the question");
  return prompt;
}

// The document is read first: a mistake in its name is told before a model is opened.
promptcache::Prompt written(const Options& options) {
  if (!options.files.empty())
    throw Failure(kUsage, "--file and --schema: a prompt in PML imports modules; give one of them");
  const Document document = read_document(options.prompts.front());
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  promptcache::Prompt prompt = parse_prompt(load_schema(engine, options), document);
  if (!options.quiet) print_remarks(prompt, document.name);
  return prompt;
}

}  // namespace

ExitCode run(const Options& options) {
  if (options.compare && options.no_cache)
    throw Failure(kUsage, "--compare needs the cache that --no-cache turns off: give one of them");
  const promptcache::Prompt prompt = options.schema.empty() ? question(options) : written(options);
  if (options.compare) return compare(prompt, options);

  Answer answer;
  {
    Stream stream;
    answer = generate(prompt, options, !options.no_cache, [&](std::string_view text) {
      if (!options.json) stream(text);
    });
  }
  print(options.json ? to_json(answer).dump() + "\n" : "");
  if (!options.quiet) {
    std::fputs(describe(answer.stats).c_str(), stderr);
    const std::string sentence =
        options.no_cache ? "" : approximation(parse_report(prompt.explain()), options.repair);
    if (!sentence.empty())
      std::fprintf(stderr, "remark   %s (--compare answers without reuse, too)\n",
                   sentence.c_str());
  }
  return kSuccess;
}

}  // namespace pc::cli
