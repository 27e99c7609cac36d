#include "tools/serve/openai/responses_sink.h"

#include <ctime>
#include <utility>

#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/response_json.h"
#include "tools/serve/request/names.h"

namespace pc::serve {
namespace {

// What both ways of answering do alike.
class ResponseSink : public ReplySink {
 public:
  ResponseSink(const ResponsesRequest& request, std::string model, StoredResponses* stored,
               std::shared_ptr<Reply> reply)
      : ReplySink(std::move(reply), Protocol::kOpenAi),
        request_(request),
        names_{new_name("resp_"), new_name("msg_"), {}},
        model_(std::move(model)),
        stored_(stored),
        created_(std::time(nullptr)) {}

  void begin(const Usage&) override {}
  void piece(const Piece& piece) override {
    answer_.text += piece.text;
    answer_.tokens.insert(answer_.tokens.end(), piece.tokens.begin(), piece.tokens.end());
  }
  void finish(std::uint32_t, const Finish& finish) override {
    answer_.finish = finish;
    for (std::size_t i = 0; i < finish.calls.size(); ++i) names_.calls.push_back(new_name("fc_"));
  }

 protected:
  Json in_progress() const { return with_output("in_progress", Json::array()); }

  // The whole of it, which is remembered where the answer is over and the request wants that.
  Json finished(const Usage& usage) {
    Json response = with_output(is_cut() ? "incomplete" : "completed",
                                output_items(answer_, names_, has_logprobs()))
                        .set("completed_at", std::time(nullptr))
                        .set("usage", responses_usage(usage))
                        .set("prompt_cache", prompt_cache(usage, request_.question));
    if (request_.stores && answer_.finish.how != PC_FINISH_NONE) {
      Json conversation = request_.conversation;
      conversation.push(answer_message(answer_));
      stored_->put(names_.response, {response.dump(), conversation.dump()});
    }
    return response;
  }

  bool is_cut() const { return answer_.finish.how == PC_FINISH_LENGTH; }
  bool has_logprobs() const { return request_.question.top_logprobs.has_value(); }
  const GatheredAnswer& answer() const { return answer_; }
  const ResponseNames& names() const { return names_; }

 private:
  Json with_output(const char* status, const Json& output) const {
    Json response = Json::object()
                        .set("id", names_.response)
                        .set("object", "response")
                        .set("created_at", created_)
                        .set("status", status)
                        .set("error", Json())
                        .set("incomplete_details",
                             is_cut() ? Json::object().set("reason", "max_output_tokens") : Json())
                        .set("model", model_)
                        .set("output", output)
                        .set("usage", Json());
    for (const std::string& key : request_.echo.keys()) response.set(key, request_.echo[key]);
    return response;
  }

  const ResponsesRequest request_;
  ResponseNames names_;
  const std::string model_;
  StoredResponses* const stored_;
  const std::int64_t created_;
  GatheredAnswer answer_;
};

class WholeResponse : public ResponseSink {
 public:
  using ResponseSink::ResponseSink;

  void end(const Usage& usage) override { send(finished(usage)); }

 private:
  std::string error_event(const ApiError&) const override { return ""; }  // never streams
};

class StreamedResponse : public ResponseSink {
 public:
  using ResponseSink::ResponseSink;

  void begin(const Usage&) override {
    begin_stream();
    write("response.created", Json::object().set("response", in_progress()));
    write("response.in_progress", Json::object().set("response", in_progress()));
  }
  void piece(const Piece& piece) override {
    ResponseSink::piece(piece);
    unsent_.insert(unsent_.end(), piece.tokens.begin(), piece.tokens.end());
    if (piece.text.empty()) return;
    if (!std::exchange(has_text_, true)) begin_message();
    write("response.output_text.delta",
          of_part().set("delta", piece.text).set("logprobs", logprobs(unsent_)));
    unsent_.clear();
  }
  void finish(std::uint32_t choice, const Finish& finish) override {
    ResponseSink::finish(choice, finish);
    if (!has_text_ && finish.calls.empty()) begin_message();
    const std::vector<Json> items = output_items(answer(), names(), has_logprobs()).items();
    if (items.size() > finish.calls.size()) end_message(items.front());
    for (std::size_t i = 0; i < finish.calls.size(); ++i)
      write_call(names().calls[i], finish.calls[i]);
  }
  void end(const Usage& usage) override {
    const Json response = finished(usage);
    write(is_cut() ? "response.incomplete" : "response.completed",
          Json::object().set("response", response));
    reply().end();
  }

 private:
  Json of_item(const std::string& id) const {
    return Json::object().set("item_id", id).set("output_index", n_items_);
  }
  Json of_part() const { return of_item(names().message).set("content_index", 0); }
  Json logprobs(const std::vector<DrawnToken>& tokens) const {
    return has_logprobs() ? chat_logprobs(tokens) : Json::array();
  }

  void begin_item(const Json& item) {
    write("response.output_item.added",
          Json::object().set("output_index", n_items_).set("item", item));
  }
  void end_item(const Json& item) {
    write("response.output_item.done",
          Json::object().set("output_index", n_items_++).set("item", item));
  }
  void begin_message() {
    begin_item(message_item(names().message, Json::array(), ItemStatus::kInProgress));
    write("response.content_part.added", of_part().set("part", text_part("", Json::array())));
  }
  void end_message(const Json& item) {
    const Json part = item["content"].items().front();
    write("response.output_text.done",
          of_part().set("text", part["text"]).set("logprobs", part["logprobs"]));
    write("response.content_part.done", of_part().set("part", part));
    end_item(item);
  }
  void write_call(const std::string& id, const MadeCall& made) {
    const std::string arguments = made.call.arguments.dump();
    begin_item(call_item(id, made, "", ItemStatus::kInProgress));
    write("response.function_call_arguments.delta", of_item(id).set("delta", arguments));
    write("response.function_call_arguments.done",
          of_item(id).set("name", made.call.name).set("arguments", arguments));
    end_item(call_item(id, made, arguments, ItemStatus::kCompleted));
  }

  // Each event has its name and its number in it.
  std::string numbered(const char* name, const Json& fields) const {
    Json data = Json::object().set("type", name).set("sequence_number", n_events_);
    for (const std::string& key : fields.keys()) data.set(key, fields[key]);
    return named_event(name, data);
  }
  void write(const char* name, const Json& fields) {
    reply().write(numbered(name, fields));
    ++n_events_;
  }
  std::string error_event(const ApiError& error) const override {
    const Json of_error = error.openai()["error"];
    return numbered("error", Json::object()
                                 .set("code", of_error["code"])
                                 .set("message", of_error["message"])
                                 .set("param", of_error["param"]));
  }

  std::vector<DrawnToken> unsent_;  // whose text has not come yet
  bool has_text_ = false;
  std::uint32_t n_items_ = 0;  // that are over
  std::uint32_t n_events_ = 0;
};

}  // namespace

std::unique_ptr<AnswerSink> responses_sink(const ResponsesRequest& request,
                                           const std::string& model, StoredResponses* stored,
                                           std::shared_ptr<Reply> reply) {
  if (request.streams)
    return std::make_unique<StreamedResponse>(request, model, stored, std::move(reply));
  return std::make_unique<WholeResponse>(request, model, stored, std::move(reply));
}

}  // namespace pc::serve
