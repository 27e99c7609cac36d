#include "tools/serve/openai/openai_chat.h"

#include <utility>
#include <vector>

#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/openai_sink.h"
#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/conversation_json.h"
#include "tools/serve/request/sampling_fields.h"
#include "tools/serve/request/schema_chat.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostTopLogprobs = 20;

Json conversation_of(Fields& fields, ToolChoice* choice) {
  const auto messages = fields.array("messages");
  if (!messages || messages->items().empty()) fields.refuse("messages", "is missing: a list");
  Json chat = Json::object();
  chat.set("messages", messages_of(*messages));
  const auto tools = fields.array("tools");
  const bool has_tools = tools && !tools->items().empty();
  const Json read_tools = has_tools ? tools_of(*tools) : Json();
  *choice = openai_tool_choice(fields, read_tools);
  if (has_tools && choice->kind != ToolChoice::Kind::kNone) chat.set("tools", read_tools);
  if (const auto variables = fields.object("chat_template_kwargs"))
    chat.set("variables", *variables);
  return chat;
}

void read_logprobs(Fields& fields, Question* question) {
  const bool wants = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, kMostTopLogprobs);
  if (top && !wants) fields.refuse("top_logprobs", "needs \"logprobs\": true");
  if (wants) question->top_logprobs = static_cast<std::uint32_t>(top.value_or(0));
}

const char* finish_name(const Finish& finish) {
  if (!finish.calls.empty()) return "tool_calls";
  return finish.how == PC_FINISH_LENGTH ? "length" : "stop";
}

// Of a chunk each call has its index.
Json calls_json(const std::vector<MadeCall>& calls, bool has_index) {
  Json list = Json::array();
  for (const MadeCall& made : calls) {
    Json call = Json::object();
    if (has_index) call.set("index", list.items().size());
    const Json function =
        Json::object().set("name", made.call.name).set("arguments", made.call.arguments.dump());
    list.push(call.set("id", made.id).set("type", "function").set("function", function));
  }
  return list;
}

// What both ways of answering write alike.
class ChatSink : public OpenAiSink {
 public:
  ChatSink(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply)
      : OpenAiSink(request, model, std::move(reply), "chatcmpl-") {}

 protected:
  Json logprobs_of(const std::vector<DrawnToken>& tokens) const {
    if (!request_.question.top_logprobs) return Json();
    return Json::object().set("content", chat_logprobs(tokens)).set("refusal", Json());
  }
};

class WholeChat : public ChatSink {
 public:
  WholeChat(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply)
      : ChatSink(request, model, std::move(reply)), answers_(request.question.n) {}

  void begin(const Usage&) override {}
  void piece(const Piece& piece) override { answers_.add(piece); }
  void finish(std::uint32_t choice, const Finish& finish) override {
    answers_[choice].finish = finish;
  }
  void end(const Usage& usage) override {
    Json choices = Json::array();
    for (std::uint32_t i = 0; i < answers_.size(); ++i) choices.push(json_of(i, answers_[i]));
    send(report("chat.completion", choices, usage));
  }

 private:
  Json json_of(std::uint32_t index, const GatheredAnswer& choice) const {
    const std::vector<MadeCall>& calls = choice.finish.calls;
    const bool is_silent = choice.text.empty() && !calls.empty();
    Json message = Json::object()
                       .set("role", "assistant")
                       .set("content", is_silent ? Json() : Json(choice.text))
                       .set("refusal", Json());
    if (!calls.empty()) message.set("tool_calls", calls_json(calls, false));
    return Json::object()
        .set("index", index)
        .set("message", message)
        .set("logprobs", logprobs_of(choice.tokens))
        .set("finish_reason", finish_name(choice.finish));
  }

  GatheredAnswers answers_;
};

class StreamedChat : public ChatSink {
 public:
  using ChatSink::ChatSink;

  // The first chunk of each answer says who speaks.
  void begin(const Usage&) override {
    begin_stream();
    for (std::uint32_t i = 0; i < request_.question.n; ++i)
      reply().write(event(
          chunk(i, Json::object().set("role", "assistant").set("content", ""), Json(), Json())));
  }
  void piece(const Piece& piece) override {
    Json delta = Json::object();
    if (!piece.text.empty()) delta.set("content", piece.text);
    reply().write(event(chunk(piece.choice, delta, logprobs_of(piece.tokens), Json())));
  }
  void finish(std::uint32_t choice, const Finish& how) override {
    if (!how.calls.empty())
      reply().write(event(chunk(
          choice, Json::object().set("tool_calls", calls_json(how.calls, true)), Json(), Json())));
    reply().write(event(chunk(choice, Json::object(), Json(), finish_name(how))));
  }
  void end(const Usage& usage) override { end_stream("chat.completion.chunk", usage); }

 private:
  Json chunk(std::uint32_t index, const Json& delta, const Json& logprobs,
             const Json& finish) const {
    const Json choice = Json::object()
                            .set("index", index)
                            .set("delta", delta)
                            .set("logprobs", logprobs)
                            .set("finish_reason", finish);
    Json chunk = head("chat.completion.chunk").set("choices", Json::array().push(choice));
    if (request_.includes_usage) chunk.set("usage", Json());
    return chunk;
  }
};

}  // namespace

void read_openai_answer(Fields& fields, const ModelFacts& model, OpenAiRequest* request) {
  read_sampling(fields, model, &request->question);
  read_logprobs(fields, &request->question);
  request->streams = fields.boolean("stream").value_or(false);
  if (const auto options = fields.object("stream_options"))
    request->includes_usage =
        Fields(*options, "stream_options").boolean("include_usage").value_or(false);
}

OpenAiRequest read_openai_chat(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  Question& question = request.question;
  read_openai_answer(fields, model, &request);
  if (!read_schema_chat(fields, &question))
    question.chat = conversation_of(fields, &question.tool_choice);
  if (const auto format = fields.object("response_format"))
    question.format = openai_format(*format, "response_format", true);
  fields.only("modalities", {Json::array().push("text")}, "must be [\"text\"]");
  for (const char* const name : {"audio", "functions", "function_call", "web_search_options"})
    if (fields.any(name)) fields.refuse(name, "is nothing that this server has");
  question.ignored = fields.unread();
  return request;
}

std::unique_ptr<AnswerSink> openai_chat_sink(const OpenAiRequest& request, const ServedModel& model,
                                             std::shared_ptr<Reply> reply) {
  if (request.streams) return std::make_unique<StreamedChat>(request, model, std::move(reply));
  return std::make_unique<WholeChat>(request, model, std::move(reply));
}

}  // namespace pc::serve
