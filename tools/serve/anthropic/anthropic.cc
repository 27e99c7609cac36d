#include "tools/serve/anthropic/anthropic.h"

#include <algorithm>
#include <utility>

#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/answer/report.h"
#include "tools/serve/anthropic/anthropic_messages.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/names.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::size_t kMostStops = 16;

void read_sampling(Fields& fields, bool counts, Sampling* s) {
  const auto most = fields.integer("max_tokens", 1, UINT32_MAX);
  if (!most && !counts) fields.refuse("max_tokens", "is missing: an integer");
  if (most) s->max_tokens = static_cast<std::uint32_t>(*most);
  s->temperature = static_cast<float>(fields.number("temperature", 0, 1).value_or(1));
  s->top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  s->top_k = static_cast<std::uint32_t>(fields.integer("top_k", 0, UINT32_MAX).value_or(0));
  s->stop = fields.strings("stop_sequences", kMostStops);
}

Json conversation_of(Fields& fields, ToolChoice* choice) {
  Json chat = Json::object().set("messages", anthropic_messages(fields));
  const Json tools = anthropic_tools(fields);
  *choice = anthropic_tool_choice(fields, tools);
  if (!tools.is_null() && choice->kind != ToolChoice::Kind::kNone) chat.set("tools", tools);
  return chat;
}

// Tokens that were read from the store, written to it, and neither: they add up to the prompt's.
Json usage_json(const Usage& usage) {
  const std::uint64_t computed = usage.prompt_tokens - usage.cached_tokens;
  const std::uint64_t written = std::min(usage.written_tokens, computed);
  return Json::object()
      .set("input_tokens", computed - written)
      .set("cache_creation_input_tokens", written)
      .set("cache_read_input_tokens", usage.cached_tokens)
      .set("output_tokens", usage.generated_tokens);
}

Json stop_reason(const Finish& finish) {
  if (!finish.calls.empty()) return "tool_use";
  if (finish.how == PC_FINISH_LENGTH) return "max_tokens";
  return finish.how == PC_FINISH_STOP ? "stop_sequence" : "end_turn";
}

Json text_block(const std::string& text) {
  return Json::object().set("type", "text").set("text", text);
}

Json call_block(const MadeCall& made, const Json& input) {
  return Json::object()
      .set("type", "tool_use")
      .set("id", made.id)
      .set("name", made.call.name)
      .set("input", input);
}

Json stop_sequence(const Finish& finish) {
  return finish.stop.empty() ? Json() : Json(finish.stop);
}

class MessageSink : public ReplySink {
 public:
  MessageSink(const AnthropicRequest& request, const ServedModel& model,
              std::shared_ptr<Reply> reply)
      : ReplySink(std::move(reply), Protocol::kAnthropic),
        request_(request),
        model_(model),
        id_(new_name("msg_")) {}

 protected:
  Json message(const Json& content, const Finish& finish, const Usage& usage) const {
    const bool is_over = finish.how != PC_FINISH_NONE;
    return Json::object()
        .set("id", id_)
        .set("type", "message")
        .set("role", "assistant")
        .set("model", model_.id())
        .set("content", content)
        .set("stop_reason", is_over ? stop_reason(finish) : Json())
        .set("stop_sequence", stop_sequence(finish))
        .set("usage", usage_json(usage));
  }
  std::string error_event(const ApiError& error) const override {
    return named_event("error", error.anthropic());
  }

  const AnthropicRequest request_;

 private:
  const ServedModel& model_;
  const std::string id_;
};

class WholeMessage : public MessageSink {
 public:
  using MessageSink::MessageSink;

  void begin(const Usage&) override {}
  void piece(const Piece& piece) override { answers_.add(piece); }
  void finish(std::uint32_t, const Finish& finish) override { answers_[0].finish = finish; }
  void end(const Usage& usage) override {
    const GatheredAnswer& answer = answers_[0];
    Json content = Json::array();
    if (!answer.text.empty() || answer.finish.calls.empty()) content.push(text_block(answer.text));
    for (const MadeCall& made : answer.finish.calls)
      content.push(call_block(made, made.call.arguments));
    send(message(content, answer.finish, usage)
             .set("prompt_cache", prompt_cache(usage, request_.question)));
  }

 private:
  GatheredAnswers answers_{1};
};

class StreamedMessage : public MessageSink {
 public:
  using MessageSink::MessageSink;

  void begin(const Usage& usage) override {
    begin_stream();
    write("message_start", Json::object().set("message", message(Json::array(), {}, usage)));
    begin_block(text_block(""));
  }
  void piece(const Piece& piece) override {
    if (!piece.text.empty())
      write_delta(Json::object().set("type", "text_delta").set("text", piece.text));
  }
  void finish(std::uint32_t, const Finish& finish) override {
    end_block();
    for (const MadeCall& made : finish.calls) {
      begin_block(call_block(made, Json::object()));
      write_delta(Json::object()
                      .set("type", "input_json_delta")
                      .set("partial_json", made.call.arguments.dump()));
      end_block();
    }
    finish_ = finish;
  }
  void end(const Usage& usage) override {
    const Json delta = Json::object()
                           .set("stop_reason", stop_reason(finish_))
                           .set("stop_sequence", stop_sequence(finish_));
    write("message_delta", Json::object()
                               .set("delta", delta)
                               .set("usage", usage_json(usage))
                               .set("prompt_cache", prompt_cache(usage, request_.question)));
    write("message_stop", Json::object());
    reply().end();
  }

 private:
  Json of_block() const { return Json::object().set("index", n_blocks_); }
  void begin_block(const Json& block) {
    write("content_block_start", of_block().set("content_block", block));
  }
  void write_delta(const Json& delta) {
    write("content_block_delta", of_block().set("delta", delta));
  }
  void end_block() {
    write("content_block_stop", of_block());
    ++n_blocks_;
  }

  // An event has its name in it, too.
  void write(const char* name, const Json& fields) {
    Json data = Json::object().set("type", name);
    for (const std::string& key : fields.keys()) data.set(key, fields[key]);
    reply().write(named_event(name, data));
  }

  Finish finish_;
  std::uint32_t n_blocks_ = 0;  // that are over
};

}  // namespace

AnthropicRequest read_anthropic(const Json& body, const ModelFacts& model, bool counts) {
  Fields fields(body);
  check_model(fields, model.id);
  AnthropicRequest request;
  read_sampling(fields, counts, &request.question.sampling);
  request.question.chat = conversation_of(fields, &request.question.tool_choice);
  request.streams = fields.boolean("stream").value_or(false);
  if (const auto metadata = fields.object("metadata"))
    request.question.client = Fields(*metadata, "metadata").string("user_id").value_or("");
  read_mode(fields, &request.question);
  request.question.ignored = fields.unread();
  return request;
}

std::unique_ptr<AnswerSink> anthropic_sink(const AnthropicRequest& request,
                                           const ServedModel& model, std::shared_ptr<Reply> reply) {
  if (request.streams) return std::make_unique<StreamedMessage>(request, model, std::move(reply));
  return std::make_unique<WholeMessage>(request, model, std::move(reply));
}

}  // namespace pc::serve
