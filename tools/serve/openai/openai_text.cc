#include "tools/serve/openai/openai_text.h"

#include <utility>
#include <vector>

#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/openai_sink.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostLogprobs = 20;
constexpr std::uint32_t kDefaultMaxTokens = 16;  // OpenAI's

// One text, or tokens, in a list or alone.
void read_prompt(Fields& fields, const ModelFacts& model, Question* question) {
  const auto prompt = fields.any("prompt");
  if (!prompt) fields.refuse("prompt", "is missing: a string");
  Json one = *prompt;
  if (one.is_array() && one.items().size() == 1 && !one.items()[0].is_number())
    one = one.items()[0];
  question->text = one.string();
  if (one.is_string()) return;
  for (const Json& item : one.items()) {
    const auto token = item.integer();
    if (!token || *token < 0 || *token >= model.engine.vocab_size)
      fields.refuse("prompt", "must be one string, or one list of this model's tokens");
    question->tokens.push_back(static_cast<std::int32_t>(*token));
  }
  if (question->tokens.empty())
    fields.refuse("prompt", "must be one string, or one list of tokens");
}

const char* finish_name(const Finish& finish) {
  return finish.how == PC_FINISH_LENGTH ? "length" : "stop";
}

constexpr const char* kObject = "text_completion";

class TextSink : public OpenAiSink {
 public:
  TextSink(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply)
      : OpenAiSink(request, model, std::move(reply), "cmpl-") {}

 protected:
  Json choice(std::uint32_t index, const std::string& text, const std::vector<DrawnToken>& tokens,
              std::size_t offset, const Json& finish) const {
    return Json::object()
        .set("index", index)
        .set("text", text)
        .set("logprobs", request_.question.top_logprobs ? text_logprobs(tokens, offset) : Json())
        .set("finish_reason", finish);
  }
};

class WholeText : public TextSink {
 public:
  WholeText(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply)
      : TextSink(request, model, std::move(reply)), answers_(request.question.n) {}

  void begin(const Usage&) override {}
  void piece(const Piece& piece) override { answers_.add(piece); }
  void finish(std::uint32_t choice, const Finish& finish) override {
    answers_[choice].finish = finish;
  }
  void end(const Usage& usage) override {
    Json choices = Json::array();
    for (std::uint32_t i = 0; i < answers_.size(); ++i)
      choices.push(choice(i, answers_[i].text, answers_[i].tokens, echoed(),
                          finish_name(answers_[i].finish)));
    send(report(kObject, choices, usage));
  }

 private:
  std::size_t echoed() const {
    return request_.question.echoes ? request_.question.text.size() : 0;
  }

  GatheredAnswers answers_;
};

class StreamedText : public TextSink {
 public:
  StreamedText(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply)
      : TextSink(request, model, std::move(reply)), sent_(request.question.n) {}

  void begin(const Usage&) override { begin_stream(); }
  void piece(const Piece& piece) override {
    send_choice(choice(piece.choice, piece.text, piece.tokens, sent_[piece.choice], Json()));
    sent_[piece.choice] += piece.text.size();
  }
  void finish(std::uint32_t index, const Finish& how) override {
    send_choice(choice(index, "", {}, sent_[index], finish_name(how)));
  }
  void end(const Usage& usage) override { end_stream(kObject, usage); }

 private:
  void send_choice(const Json& choice) {
    reply().write(event(head(kObject).set("choices", Json::array().push(choice))));
  }

  std::vector<std::size_t> sent_;  // bytes of each answer
};

}  // namespace

OpenAiRequest read_openai_text(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  Question& question = request.question;
  read_sampling(fields, model, &question);
  if (!question.sampling.max_tokens) question.sampling.max_tokens = kDefaultMaxTokens;
  read_prompt(fields, model, &question);
  question.echoes = fields.boolean("echo").value_or(false);
  if (const auto top = fields.integer("logprobs", 0, kMostLogprobs))
    question.top_logprobs = static_cast<std::uint32_t>(*top);
  fields.only("suffix", {""}, "is nothing that this model writes towards");
  fields.only("best_of", {Json(question.n)}, "must be n, or left out");
  request.streams = fields.boolean("stream").value_or(false);
  if (const auto options = fields.object("stream_options"))
    request.includes_usage =
        Fields(*options, "stream_options").boolean("include_usage").value_or(false);
  question.ignored = fields.unread();
  return request;
}

Question question_of(const Json& body, const ModelFacts& model) {
  const bool is_chat = body["prompt"].is_null();
  return (is_chat ? read_openai_chat(body, model) : read_openai_text(body, model)).question;
}

std::unique_ptr<AnswerSink> openai_text_sink(const OpenAiRequest& request, const ServedModel& model,
                                             std::shared_ptr<Reply> reply) {
  if (request.streams) return std::make_unique<StreamedText>(request, model, std::move(reply));
  return std::make_unique<WholeText>(request, model, std::move(reply));
}

}  // namespace pc::serve
