// Prompts of raw text: every shape in which they come, and what is none.
#include "tools/serve/raw/raw_fields.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pc::serve {
namespace {

ModelFacts a_model() {
  ModelFacts model;
  model.engine.vocab_size = 100;
  model.engine.fim_prefix = model.engine.fim_suffix = model.engine.fim_middle = -1;
  model.engine.fim_repo = model.engine.fim_file = -1;
  return model;
}

// "a" as it is, tokens in brackets, a text whose control tokens are text behind a minus.
std::string written(const RawPrompt& prompt) {
  std::string all;
  for (const RawPiece& piece : prompt.pieces) {
    all += piece.takes_controls ? "" : "-";
    if (piece.tokens.empty()) all += piece.text;
    for (const std::int32_t token : piece.tokens) all += "[" + std::to_string(token) + "]";
    all += "|";
  }
  return all;
}

std::string read(const std::string& prompt, Mixture mixture) {
  Fields fields(read_body("{\"prompt\":" + prompt + "}"));
  try {
    std::string all;
    for (const RawPrompt& one : read_prompts(fields, a_model(), mixture)) all += written(one) + " ";
    return all;
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return std::string("400 ") + error.what();
  }
}

TEST_CASE("a prompt is a text, tokens, or several of one or both") {
  for (const Mixture mixture : {Mixture::kNone, Mixture::kLlama}) {
    CHECK(read(R"("a")", mixture) == "a| ");
    CHECK(read(R"("")", mixture) == "| ");
    CHECK(read(R"(["a","b"])", mixture) == "a| b| ");
    CHECK(read("[1,2]", mixture) == "[1][2]| ");
    CHECK(read("[[1,2],[3]]", mixture) == "[1][2]| [3]| ");
    CHECK(read(R"(["a",[3]])", mixture) == "a| [3]| ");
  }
}

TEST_CASE("llama.cpp's prompts mix texts and tokens") {
  CHECK(read(R"([1,"a",2,3])", Mixture::kLlama) == "[1]|a|[2][3]| ");
  CHECK(read(R"([["a",2],"b"])", Mixture::kLlama) == "a|[2]| b| ");
  CHECK(read(R"({"prompt_string":"a"})", Mixture::kLlama) == "a| ");
  CHECK(read(R"([{"prompt_string":"a"},[2]])", Mixture::kLlama) == "a| [2]| ");
  CHECK(read(R"([1,"a"])", Mixture::kNone).starts_with("400 prompt must be"));
}

TEST_CASE("what is no prompt is refused where it stands") {
  for (const Mixture mixture : {Mixture::kNone, Mixture::kLlama}) {
    CHECK(read("[]", mixture) == "400 prompt is empty");
    CHECK(read("[[1],[]]", mixture) == "400 prompt[1] is empty");
    CHECK(read("[1,100]", mixture).starts_with("400 prompt[1] is no token"));
    CHECK(read("[[1],[2,-1]]", mixture).starts_with("400 prompt[1][1] is no token"));
    CHECK(read("7", mixture).starts_with("400 prompt must be"));
    CHECK(read("null", mixture).starts_with("400 prompt is missing"));
    CHECK(read("[[1],null]", mixture).starts_with("400 prompt[1] must be"));
  }
  CHECK(read(R"({"prompt_string":"a","multimodal_data":["x"]})", Mixture::kLlama)
            .starts_with("400 prompt.multimodal_data"));
}

TEST_CASE("what belongs into a gap is asked for between the model's own tokens") {
  const FimTokens plain{10, 11, 12, -1, -1}, with_files{10, 11, 12, 13, 14};
  CHECK(written(fim_prompt(plain, "a", "b")) == "-|[10]|-a|[11]|-b|[12]|");
  CHECK(written(fim_prompt(plain, "", "", {{"n", "t"}}, "c")) == "-|-t|[10]|[11]|[12]|-c|");
  CHECK(written(fim_prompt(with_files, "a", "b", {{"n", "t"}})) ==
        "-|[13]|-myproject\n|[14]|-n\n|-t|[14]|-filename\n|[10]|-a|[11]|-b|[12]|");
}

TEST_CASE("a model without such tokens refuses the field that wants them") {
  const Fields fields(read_body("{}"));
  ModelFacts model = a_model();
  CHECK_THROWS_AS(fim_tokens(fields, model, "suffix"), ApiError);
  model.engine.fim_prefix = model.engine.fim_suffix = model.engine.fim_middle = 5;
  CHECK(fim_tokens(fields, model, "suffix").are_there());
}

}  // namespace
}  // namespace pc::serve
