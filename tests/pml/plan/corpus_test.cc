// Every file of the public PML corpus gets through, or gets an error that is
// right. The corpus lies outside of the repository ($PC_SHARED_DIR/pml_corpus).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;
namespace fs = std::filesystem;

namespace {

struct SchemaFile {
  const char* path;
  std::size_t modules, unions, params;
  const char* why;
};

const SchemaFile kSchemas[] = {
    {"HEAD/benchmark/schema/test/empty.xml", 0, 0, 0, "a schema of anonymous text only"},
    {"HEAD/benchmark/schema/test/schema_code_generation.xml", 11, 3, 3,
     "comments, roles inside of modules, a union's default member, <parameter length=>, "
     "cache=false: all are PML"},
    {"HEAD/benchmark/schema/test/schema_long_task_1.xml", 11, 3, 3,
     "the same bytes under another name"},
    {"HEAD/benchmark/schema/test/schema_mbti.xml", 12, 4, 0,
     "a turn around four unions, names of one letter, blank members"},
    {"HEAD/benchmark/schema/test/schema_mbti_short.xml", 12, 4, 0, "the same, shorter"},
    {"HEAD/benchmark/schema/test/schema_persona.xml", 42, 6, 0,
     "unions in modules, equal names in different parents"},
    {"HEAD/benchmark/schema/test/schema_persona_long.xml", 40, 6, 0, "the same, longer"},
    {"HEAD/examples/code_generation_bookstore.xml", 5, 0, 0,
     "source files as modules, names with dots, well-formed"},
    {"HEAD/examples/parameterized_prompts.xml", 11, 2, 2,
     "parameters and unions nested six deep, single quotes"},
    {"HEAD/examples/persona_generation.xml", 35, 6, 0, "a child with the name of its grandparent"},
    {"HEAD/examples/personalization-education.xml", 30, 6, 0,
     "unions directly in a turn, text between, not only ASCII"},
    {"embedded/readme_schema_default.xml", 11, 3, 3, "comments everywhere, also around the root"},
};

struct PromptFile {
  const char* path;
  const char* schema;
  std::size_t imports;  // modules with text that the plan holds
  const char* why;
};

const PromptFile kPrompts[] = {
    {"HEAD/benchmark/schema/test/prompt_mbti.xml", "HEAD/benchmark/schema/test/schema_mbti.xml", 4,
     "one member of each union"},
    {"HEAD/benchmark/schema/test/prompt_mbti.xml",
     "HEAD/benchmark/schema/test/schema_mbti_short.xml", 4, "fits both schemas"},
    {"embedded/main_mbti_prompt.xml", "HEAD/benchmark/schema/test/schema_mbti.xml", 4,
     "imports only: the schema ends with the model's turn"},
    {"embedded/main_personalization_education_prompt.xml",
     "HEAD/examples/personalization-education.xml", 6, "imports, then a user's turn"},
    {"embedded/main_travel_prompt.xml", "HEAD/examples/parameterized_prompts.xml", 3,
     "nested imports and an argument"},
    {"embedded/readme_persona_prompt.xml", "HEAD/examples/persona_generation.xml", 6,
     "six modules with a member each; the modules themselves hold unions only"},
};

struct BadFile {
  const char* path;
  std::uint32_t line, column;
  const char* part;
  const char* why;
};

const BadFile kBadSchemas[] = {
    {"HEAD/examples/code_generation_game.xml", 167, 19, "in text and values '<' is written '&lt;'",
     "source code with a bare '<': a lenient reader would drop it from the program without a word"},
    {"embedded/longbench_harness_template.txt", 1, 2, "outside of the root element",
     "not a document: a note, then a schema and a prompt whose turns open in one and close in the "
     "other"},
};

struct BadPrompt {
  const char* path;
  const char* schema;
  std::uint32_t line, column;
  const char* part;
  const char* why;
};

const BadPrompt kBadPrompts[] = {
    {"embedded/readme_prompt_default.xml", "embedded/readme_schema_default.xml", 7, 9,
     "module 'preface' has no module 'task2'",
     "it imports a module that its schema does not define"},
};

// Prompts whose only schema is broken: they are sound in themselves.
const char* const kPromptsWithoutSchema[] = {"embedded/main_code_generation_game_prompt.xml",
                                             "embedded/readme_demo_prompt.xml"};

const char* const kNotPml[] = {"NOTICE.md", "LICENSE.prompt-cache"};

fs::path corpus() {
  const char* shared = std::getenv("PC_SHARED_DIR");
  const fs::path path = fs::path(shared ? shared : "") / "pml_corpus";
  if (shared && fs::exists(path)) return path;
  WARN("skipped: there is no $PC_SHARED_DIR/pml_corpus");
  return {};
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Laid {
  FakeTokenizer tokenizer;
  TextEncoder encoder = tokenizer.encoder(bracket_chat(), true);
  Layout layout;
  std::vector<EncodeJob> jobs;

  explicit Laid(const fs::path& schema)
      : layout(must(lay_out(must(parse_schema(read(schema))), encoder))),
        jobs(make_jobs(layout, plan_encoding(layout))) {
    must(check_layout(layout));
    must(check_jobs(layout, jobs));
  }
};

}  // namespace

TEST_CASE("schemas of the corpus") {
  const fs::path root = corpus();
  if (root.empty()) return;
  for (const SchemaFile& file : kSchemas) {
    INFO(file.path << ": " << file.why);
    const Laid schema(root / file.path);
    CHECK(schema.layout.modules.size() - 1 == file.modules);
    CHECK(schema.layout.unions.size() == file.unions);
    CHECK(schema.layout.slots.size() == file.params);
  }
  for (const BadFile& file : kBadSchemas) {
    INFO(file.path << ": " << file.why);
    expect_error(parse_schema(read(root / file.path)), Code::kPmlSyntax, file.line, file.column,
                 file.part);
  }
}

TEST_CASE("prompts of the corpus") {
  const fs::path root = corpus();
  if (root.empty()) return;
  for (const PromptFile& file : kPrompts) {
    INFO(file.path << ": " << file.why);
    const Laid schema(root / file.schema);
    const Plan plan =
        must(resolve(must(parse_prompt(read(root / file.path))), schema.layout, schema.encoder));
    must(check_plan(schema.layout, plan));
    std::set<std::string> modules;
    for (const PlanRun& run : plan.runs)
      if (run.kind == RunKind::kCached && !run.label.empty()) modules.insert(run.label);
    CHECK(modules.size() == file.imports);
  }
  for (const BadPrompt& file : kBadPrompts) {
    INFO(file.path << ": " << file.why);
    const Laid schema(root / file.schema);
    expect_error(resolve(must(parse_prompt(read(root / file.path))), schema.layout, schema.encoder),
                 Code::kPmlSemantic, file.line, file.column, file.part);
  }
  for (const char* path : kPromptsWithoutSchema)
    CHECK(must(parse_prompt(read(root / path))).children.size() == 6);
}

TEST_CASE("the halves of the LongBench template leave their turns open") {
  const fs::path root = corpus();
  if (root.empty()) return;
  const std::string text = read(root / "embedded/longbench_harness_template.txt");
  const auto cut = [&](const char* from, const char* to) {
    const std::size_t begin = text.find(from), end = text.find(to, begin);
    REQUIRE(end != text.npos);
    return text.substr(begin, end + std::string(to).size() - begin);
  };
  expect_error(parse_schema(cut("<schema", "</schema>")), Code::kPmlSyntax, 6, 3,
               "does not close <user>, opened at 3:1");
  expect_error(parse_prompt(cut("<prompt", "</prompt>")), Code::kPmlSyntax, 3, 29,
               "does not close <prompt>, opened at 1:1");
}

TEST_CASE("with the unknown import taken out, the README's prompt resolves") {
  const fs::path root = corpus();
  if (root.empty()) return;
  const Laid schema(root / "embedded/readme_schema_default.xml");
  std::string prompt = read(root / "embedded/readme_prompt_default.xml");
  const std::size_t begin = prompt.find("<task2"), end = prompt.find("/>", begin);
  prompt.erase(begin, end + 2 - begin);
  must(check_plan(schema.layout,
                  must(resolve(must(parse_prompt(prompt)), schema.layout, schema.encoder))));
}

TEST_CASE("no file of the corpus is left out") {
  const fs::path root = corpus();
  if (root.empty()) return;
  std::set<std::string> known(std::begin(kNotPml), std::end(kNotPml));
  known.insert(std::begin(kPromptsWithoutSchema), std::end(kPromptsWithoutSchema));
  for (const SchemaFile& file : kSchemas) known.insert(file.path);
  for (const PromptFile& file : kPrompts) known.insert(file.path);
  for (const BadFile& file : kBadSchemas) known.insert(file.path);
  for (const BadPrompt& file : kBadPrompts) known.insert(file.path);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = fs::relative(entry.path(), root).string();
    INFO(path);
    CHECK(known.count(path) == 1);
  }
}
