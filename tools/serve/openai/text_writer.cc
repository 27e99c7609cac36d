#include "tools/serve/openai/text_writer.h"

#include <utility>
#include <vector>

#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/openai_writer.h"

namespace pc::serve {
namespace {

constexpr const char* kObject = "text_completion";

const char* finish_name(const Finish& finish) {
  return finish.how == PC_FINISH_LENGTH ? "length" : "stop";
}

class TextWriter : public OpenAiWriter {
 public:
  TextWriter(const OpenAiRequest& request, const ServedModel& model)
      : OpenAiWriter(request, model, "cmpl-"), offsets_(request.question.n_choices()) {}

  std::string stream(const Event& event) override {
    return std::visit(
        Of{[&](const Progress& done) { return progress(kObject, done); },
           [&](const Said& said) { return said_chunk(said); },
           [&](const ChoiceEnded& ended) {
             return chunk(kObject, choice_json(ended.choice, "", {}, finish_name(ended.finish)));
           },
           [&](const Ended& ended) { return end(kObject, ended.usage); },
           [](const Failed& failed) { return serve::event(failed.error.openai()); },
           [](const auto&) { return std::string(); }},
        event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    Json choices = Json::array();
    for (std::uint32_t i = 0; i < answers.choices.size(); ++i) {
      const GatheredAnswer& answer = answers.choices[i];
      choices.push(choice_json(i, answer.text(), answer.tokens, finish_name(answer.finish)));
    }
    return report(kObject, choices, answers.usage).dump();
  }

 private:
  std::string said_chunk(const Said& said) {
    return chunk(kObject, choice_json(said.choice, said.text, said.tokens, Json()));
  }
  Json choice_json(std::uint32_t index, const std::string& text,
                   const std::vector<DrawnToken>& tokens, const Json& finish) {
    std::size_t* const offset = &offsets_[index];
    return Json::object()
        .set("index", index)
        .set("text", text)
        .set("logprobs", request_.question.top_logprobs ? text_logprobs(tokens, offset) : Json())
        .set("finish_reason", finish);
  }

  std::vector<std::size_t> offsets_;  // of each answer's next token, in characters
};

}  // namespace

std::unique_ptr<AnswerWriter> openai_text_writer(const OpenAiRequest& request,
                                                 const ServedModel& model) {
  return std::make_unique<TextWriter>(request, model);
}

}  // namespace pc::serve
