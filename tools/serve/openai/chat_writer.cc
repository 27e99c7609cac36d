#include "tools/serve/openai/chat_writer.h"

#include <utility>
#include <vector>

#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/openai_writer.h"

namespace pc::serve {
namespace {

constexpr const char *kWhole = "chat.completion", *kChunk = "chat.completion.chunk";

const char* finish_name(const Finish& finish) {
  if (finish.n_calls > 0 && !finish.cuts_call) return "tool_calls";
  return finish.how == PC_FINISH_LENGTH ? "length" : "stop";
}

Json call_json(const MadeCall& call) {
  return Json::object()
      .set("id", call.id)
      .set("type", "function")
      .set("function", Json::object().set("name", call.name).set("arguments", call.arguments));
}

// What a chunk says of one call.
Json call_delta(std::uint32_t number, const Json& call) {
  Json delta = Json::object().set("index", number);
  for (const std::string& key : call.keys()) delta.set(key, call[key]);
  return Json::object().set("tool_calls", Json::array().push(delta));
}

class ChatWriter : public OpenAiWriter {
 public:
  ChatWriter(const OpenAiRequest& request, const ServedModel& model)
      : OpenAiWriter(request, model, "chatcmpl-") {}

  std::string stream(const Event& event) override {
    return std::visit(
        Of{[&](const Progress& done) { return progress(kChunk, done); },
           [&](const Begun&) { return begin(); },
           [&](const Said& said) { return piece(said.choice, "content", said.text, said.tokens); },
           [&](const Thought& said) {
             return piece(said.choice, "reasoning_content", said.text, said.tokens);
           },
           [&](const CallBegun& call) {
             return delta(call.choice,
                          call_delta(call.number, call_json({call.id, call.name, ""})));
           },
           [&](const CallSaid& said) {
             const Json function = Json::object().set("arguments", said.arguments);
             return delta(said.choice,
                          call_delta(said.number, Json::object().set("function", function)));
           },
           [&](const ChoiceEnded& ended) {
             return chunk_of(ended.choice, Json::object(), Json(), finish_name(ended.finish));
           },
           [&](const Ended& ended) { return end(kChunk, ended.usage); },
           [](const Failed& failed) { return serve::event(failed.error.openai()); },
           [](const Accepted&) { return std::string(); }},
        event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    Json choices = Json::array();
    for (std::uint32_t i = 0; i < answers.choices.size(); ++i)
      choices.push(choice_json(i, answers.choices[i]));
    return report(kWhole, choices, answers.usage).dump();
  }

 private:
  // The first chunk of each answer says who speaks.
  std::string begin() const {
    std::string chunks;
    for (std::uint32_t i = 0; i < request_.question.n; ++i)
      chunks += delta(i, Json::object().set("role", "assistant").set("content", ""));
    return chunks;
  }
  std::string piece(std::uint32_t choice, const char* key, const std::string& text,
                    const std::vector<DrawnToken>& tokens) const {
    Json delta = Json::object();
    if (!text.empty()) delta.set(key, text);
    return chunk_of(choice, delta, logprobs_of(tokens), Json());
  }
  std::string delta(std::uint32_t choice, const Json& delta) const {
    return chunk_of(choice, delta, Json(), Json());
  }
  std::string chunk_of(std::uint32_t index, const Json& delta, const Json& logprobs,
                       const Json& finish) const {
    return chunk(kChunk, Json::object()
                             .set("index", index)
                             .set("delta", delta)
                             .set("logprobs", logprobs)
                             .set("finish_reason", finish));
  }
  Json logprobs_of(const std::vector<DrawnToken>& tokens) const {
    if (!request_.question.top_logprobs) return Json();
    return Json::object().set("content", chat_logprobs(tokens)).set("refusal", Json());
  }

  Json choice_json(std::uint32_t index, const GatheredAnswer& answer) const {
    const std::string text = answer.text(), thought = answer.text(Block::Kind::kThought);
    Json calls = Json::array();
    for (const MadeCall& call : answer.calls()) calls.push(call_json(call));
    const bool has_calls = !calls.items().empty();
    Json message = Json::object()
                       .set("role", "assistant")
                       .set("content", text.empty() && has_calls ? Json() : Json(text))
                       .set("refusal", Json());
    if (!thought.empty()) message.set("reasoning_content", thought);
    if (has_calls) message.set("tool_calls", calls);
    return Json::object()
        .set("index", index)
        .set("message", message)
        .set("logprobs", logprobs_of(answer.tokens))
        .set("finish_reason", finish_name(answer.finish));
  }
};

}  // namespace

std::unique_ptr<AnswerWriter> openai_chat_writer(const OpenAiRequest& request,
                                                 const ServedModel& model) {
  return std::make_unique<ChatWriter>(request, model);
}

}  // namespace pc::serve
