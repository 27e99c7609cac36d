#include "tools/manual/completion.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

VerbHelp command() {
  VerbHelp list;
  list.name = "promptcache ls";
  list.description = "a model's [files]: all";
  list.options = {{{"-m", "--model"}, "PATH", {}, "the model's\\files", false, false},
                  {{"--kind"}, "TYPE", {"one", "two"}, "[a]: kind", false, true}};
  list.operands = {{{"key"}, "TEXT", {}, "a key", true, false}};
  VerbHelp all;
  all.name = "promptcache";
  all.verbs = {list};
  return all;
}

bool has(const std::string& script, const std::string& part) {
  return script.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what is offered follows from what an option takes") {
  const auto of = [](const std::string& value, const std::vector<std::string>& words) {
    return offer_of({{"--option"}, value, words, "", false, false});
  };
  CHECK(of("PATH", {}) == Offer::kFiles);
  CHECK(of("FILE", {}) == Offer::kFiles);
  CHECK(of("DIR", {}) == Offer::kFolders);
  CHECK(of("TYPE", {"one"}) == Offer::kWords);
  CHECK(of("N", {}) == Offer::kNothing);
  CHECK(of("", {}) == Offer::kNothing);
}

TEST_CASE("bash: verbs, options and values") {
  const std::string script = bash_completion(command());
  CHECK(has(script, "'promptcache ls') verb+="));
  CHECK(has(script, "operand='ls'"));
  CHECK(has(script, "options='-m --model --kind'"));
  CHECK(has(script, "-m | --model) value=files ;;"));
  CHECK(has(script, "--kind) value='one two' ;;"));
}

TEST_CASE("zsh: texts keep their brackets, colons and apostrophes") {
  const std::string script = zsh_completion(command());
  CHECK(has(script, R"('ls:a model'\''s \[files\]\: all')"));
  CHECK(has(script, R"('(-m --model)-m+[the model'\''s\\files]:PATH:_files')"));
  CHECK(has(script, R"('*--kind=[\[a\]\: kind]:TYPE:(one two)')"));
  CHECK(has(script, "':key: '"));
}

TEST_CASE("fish: texts keep their backslashes and apostrophes") {
  const std::string script = fish_completion(command());
  CHECK(has(script, R"( -a ls -d 'a model\'s [files]: all')"));
  CHECK(has(script, R"( -s m -l model -r -F -d 'the model\'s\\files')"));
  CHECK(has(script, R"( -l kind -x -a 'one two' -d '[a]: kind')"));
}
