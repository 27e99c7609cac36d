// What does a short answer take a program in C, for python_overhead.py to stand beside?
//
//   session_bench MODEL CACHE_DIR ANSWERS TOKENS
//
// Microseconds of processor time, medians over the answers: "first N", from the prompt's text to
// its first token (parsed, opened, prefilled; its module is there), and "token N", of each further
// one. Over the C API alone. One thread. MODEL should not end its answers: a random one does not.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <promptcache/promptcache.hpp>
#include <vector>

namespace {

constexpr const char* kSchema =
    "<schema name='s'><module name='a'>The tram of Oslo costs four euros and the bus five.</module>"
    "</schema>";
constexpr const char* kPrompt = "<prompt schema='s'><a/>What?</prompt>";

double now_us() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::fputs("usage: session_bench MODEL CACHE_DIR ANSWERS TOKENS\n", stderr);
    return 2;
  }
  const int n_answers = std::atoi(argv[3]), n_tokens = std::atoi(argv[4]);
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  options.cache_dir = argv[2];
  options.n_threads = 1;
  const promptcache::Engine engine(options);
  const promptcache::Schema schema = promptcache::Schema::parse(engine, kSchema);
  std::vector<double> first, each;
  for (int i = 0; i < n_answers; ++i) {
    const double begin = now_us();
    const promptcache::Prompt prompt(schema, kPrompt);
    pc_session_options asked;
    pc_session_options_init(&asked);
    asked.max_tokens = static_cast<std::uint32_t>(n_tokens);
    promptcache::Session session(prompt, asked);
    pc_token token{};
    pc_error error{};
    if (pc_session_next(session.get(), &token, &error) != PC_OK) return 1;
    const double opened = now_us();
    int n = 0;
    while (pc_session_next(session.get(), &token, &error) == PC_OK) ++n;
    each.push_back((now_us() - opened) / std::max(n, 1));
    first.push_back(opened - begin);
  }
  std::printf("first %.2f\ntoken %.3f\n", median(first), median(each));
  return 0;
} catch (const promptcache::Error& error) {
  std::fprintf(stderr, "session_bench: %s\n", error.what());
  return 1;
}
