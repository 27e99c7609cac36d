// Runs the examples of docs/PML.md. Fenced blocks, in order:
//   pml schema              laid out; the schema of what follows
//   pml prompt              resolved against that schema
//   pml flat                the tokens of the last prompt, as text
//   pml positions           its runs: position, kind, text
//   pml remarks             what is said of it, a line each
//   pml jobs                what the last schema's modules see (and keep)
//   pml file PATH           what src="PATH" reads
//   pml error L:C MESSAGE   a schema or prompt that fails at that place
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "pml/turns/chat_template.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

struct Block {
  std::string kind, rest, text;
  int line = 0;
};

std::vector<Block> blocks() {
  const char* source = std::getenv("PC_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/docs/PML.md");
  REQUIRE(file);
  std::vector<Block> all;
  std::string line;
  bool inside = false;
  for (int n = 1; std::getline(file, line); ++n) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      all.back().text += line + "\n";
    } else if (line.rfind("```pml ", 0) == 0) {
      std::istringstream words(line.substr(7));
      Block block;
      words >> block.kind >> std::ws;
      std::getline(words, block.rest);
      block.line = n;
      all.push_back(block);
      inside = true;
    }
  }
  for (Block& block : all)
    if (!block.text.empty()) block.text.pop_back();  // the fence's own line end
  return all;
}

class Runner {
 public:
  void run(const Block& block) {
    INFO("docs/PML.md:" << block.line);
    if (block.kind == "schema") return schema(block.text);
    if (block.kind == "prompt") return prompt(block.text);
    if (block.kind == "flat")
      CHECK(flat() == block.text);
    else if (block.kind == "positions")
      CHECK(positions() == block.text);
    else if (block.kind == "remarks")
      CHECK(remarks() == block.text);
    else if (block.kind == "jobs")
      CHECK(show_jobs() == block.text);
    else if (block.kind == "file")
      files_[block.rest] = block.text + "\n";
    else if (block.kind == "error")
      fails(block);
    else
      FAIL("a block of kind '" << block.kind << "'");
  }

 private:
  Result<Layout> try_schema(const std::string& text) {
    const auto read = [&](const std::string& path) -> Result<std::string> {
      return files_.at(path);
    };
    PC_TRY(const Schema schema, parse_schema(text, read));
    return lay_out(schema, encoder_);
  }
  Result<Plan> try_prompt(const std::string& text) {
    PC_TRY(const Prompt prompt, parse_prompt(text));
    return resolve(prompt, layout_, encoder_);
  }
  void schema(const std::string& text) {
    layout_ = must(try_schema(text));
    jobs_ = make_jobs(layout_, plan_encoding(layout_));
    must(check_jobs(layout_, jobs_));
  }
  void prompt(const std::string& text) {
    plan_ = must(try_prompt(text));
    must(check_plan(layout_, plan_));
  }
  std::string flat() const {
    std::string out;
    for (const PlanRun& run : plan_.runs) out += tokenizer_.decode(run.tokens);
    return out;
  }
  std::string remarks() const {
    std::string out;
    for (const std::string& remark : plan_.remarks) out += (out.empty() ? "" : "\n") + remark;
    return out;
  }
  std::string positions() const {
    static const char* const kinds[] = {"cached", "text", "argument", "role", "uncached"};
    std::string out;
    for (const PlanRun& run : plan_.runs)
      out += (out.empty() ? "" : "\n") + std::to_string(run.position) + " " +
             (run.moved ? "moved" : kinds[static_cast<int>(run.kind)]) + " " +
             tokenizer_.decode(run.tokens);
    return out;
  }
  std::string show_jobs() const {
    std::string out;
    for (const EncodeJob& job : jobs_) {
      out += (out.empty() ? "" : "\n") + (job.name.empty() ? "(root)" : job.name) + " ";
      for (const JobRun& run : job.runs)
        out += (run.keep ? "{" : "(") + tokenizer_.decode(run.tokens) + (run.keep ? "}" : ")");
    }
    return out;
  }
  void fails(const Block& block) {
    std::istringstream words(block.rest);
    std::uint32_t line = 0, column = 0;
    char colon = 0;
    std::string message;
    words >> line >> colon >> column >> std::ws;
    std::getline(words, message);
    const bool is_schema = block.text.rfind("<schema", 0) == 0;
    const auto result =
        is_schema ? error_of(try_schema(block.text)) : error_of(try_prompt(block.text));
    INFO("the error is " << result.line << ":" << result.column << " " << result.message);
    CHECK(result.line == line);
    CHECK(result.column == column);
    CHECK(result.message.rfind(message, 0) != result.message.npos);
  }
  template <class T>
  static Error error_of(const Result<T>& result) {
    if (result.ok()) FAIL("this example has to fail");
    return result.error();
  }

  FakeTokenizer tokenizer_;
  TextEncoder encoder_ = tokenizer_.encoder(find_chat_template("chatml"));
  std::map<std::string, std::string> files_;
  Layout layout_;
  std::vector<EncodeJob> jobs_;
  Plan plan_;
};

}  // namespace

TEST_CASE("the examples of docs/PML.md do what it says") {
  const auto all = blocks();
  CHECK(all.size() > 60);
  Runner runner;
  for (const Block& block : all) runner.run(block);
}
