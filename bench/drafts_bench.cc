// How many tokens a second does an answer come at, with drafts and without?
//
//   drafts_bench MODEL [--edit bench/runs.cc] [--quote docs/RELIABILITY.md] [--tokens 400]
//                [--repeat 3] [--threads 0]
//
// For a model with a chat template. Four answers, greedy and each at most so many tokens: a source
// file that is to be written again with a name changed; sentences out of a document, word for word;
// a list that has the form of a table in the prompt; and a story, which repeats nothing. Each with
// and without drafts in turn, behind the same prompt, --repeat times. Printed: tokens a second
// behind the first, medians; how many came a step; how many drafts were right; and how far the two
// answers are the same (equal logits are computed in other steps, so near ties may fall otherwise).

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/runs.h"

namespace pc::bench {
namespace {

std::string read_file(const std::string& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) die(path + " cannot be read; run it in the project's folder");
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.resize(std::min(text.size(), most_bytes));
  return text;
}

std::string table(std::size_t n_rows) {
  std::string text = "| room | device | watts | state |\n|---|---|---|---|\n";
  const char* const rooms[] = {"kitchen", "hall", "attic", "cellar"};
  const char* const devices[] = {"lamp", "heater", "fan", "radio", "oven"};
  for (std::size_t i = 0; i < n_rows; ++i)
    text += "| " + std::string(rooms[i * 7 % 4]) + " | " + devices[i * 3 % 5] + " | " +
            std::to_string(37 * i % 900) + " | " + (i % 3 ? "on" : "off") + " |\n";
  return text;
}

struct Answer {
  Tokens tokens;
  SessionStats stats;
};

Answer answer(const std::shared_ptr<const LoadedPrompt>& prompt, std::uint32_t n_tokens,
              bool drafts) {
  SessionOptions o;
  o.max_tokens = n_tokens;
  if (!drafts) o.max_draft = 0;
  const auto session = must(Session::open(prompt, o));
  Answer answer;
  while (const auto token = must(session->next())) answer.tokens.push_back(*token);
  answer.stats = session->stats();
  return answer;
}

double rate(const Answer& answer) {
  return (static_cast<double>(answer.tokens.size()) - 1) * 1e6 /
         static_cast<double>(std::max<std::uint64_t>(1, answer.stats.decode_us));
}

void measure(const char* name, const std::shared_ptr<LoadedSchema>& schema, const std::string& text,
             std::uint32_t n_tokens, std::uint32_t repeat) {
  const std::vector<pml::Message> turns = {{pml::Role::kUser, {{text, "", {}}}}};
  const auto prompt = must(LoadedPrompt::of_messages(schema, turns));
  Series without, with, ratios;
  Answer plain, drafted;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    plain = answer(prompt, n_tokens, false);
    drafted = answer(prompt, n_tokens, true);
    without.add(rate(plain));
    with.add(rate(drafted));
    ratios.add(rate(drafted) / rate(plain));
  }
  const auto same = std::ranges::mismatch(plain.tokens, drafted.tokens).in1 - plain.tokens.begin();
  const double n = static_cast<double>(drafted.tokens.size());
  const auto right = static_cast<double>(drafted.stats.right_drafts);
  std::printf("| %s | %.1f | %.1f | %.2f | %.2f | %.0f of %llu | %td of %zu |\n", name,
              without.median(), with.median(), ratios.median(), n / std::max(1.0, n - right), right,
              static_cast<unsigned long long>(drafted.stats.drafted_tokens), same,
              plain.tokens.size());
  std::fflush(stdout);
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc::bench;
  std::string edit = "bench/runs.cc", quote = "docs/RELIABILITY.md";
  std::uint32_t n_tokens = 400, repeat = 3, threads = 0;
  Arguments arguments(
      "drafts_bench MODEL [--edit FILE] [--quote FILE] [--tokens 400] [--repeat 3]");
  arguments.text("--edit", &edit).text("--quote", &quote).number("--threads", &threads);
  arguments.number("--tokens", &n_tokens, 2).number("--repeat", &repeat, 1);
  const std::string model = arguments.parse(argc, argv);
  const ScratchDir cache;
  const auto engine = must(pc::Engine::open(engine_options(model, cache.path(), threads, "")));
  const auto schema = must(pc::LoadedSchema::parse(engine, "<schema name='drafts'/>", ""));
  std::printf(
      "| answer | without, tokens/s | with | times | tokens a step | right drafts | same tokens |\n"
      "|--|--|--|--|--|--|--|\n");
  const auto run = [&](const char* name, const std::string& text) {
    measure(name, schema, text, n_tokens, repeat);
  };
  run("a file, edited",
      "Write this file again, all of it, with Series renamed to Samples.\n```cpp\n" +
          read_file(edit, 6000) + "```\n");
  run("a document, quoted",
      read_file(quote, 6000) + "\n\nQuote the first three paragraphs above, word for word.\n");
  run("a table, as JSON",
      table(24) + "\nWrite the table above as JSON: a list of objects. JSON only.\n");
  run("a story", "Tell a long story about the keeper of a lighthouse and a whale.");
  return 0;
}
