// What clients of the Responses protocol are sent: the events of an answer, in order, and the same
// answer whole.
#include "tools/serve/openai/responses_sink.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pc::serve {
namespace {

// Keeps what was sent.
class Recorded : public Reply {
 public:
  void send(HttpResponse response) override { whole = response; }
  void begin(HttpResponse) override {}
  void write(std::string bytes) override { stream += bytes; }
  void end() override { is_over = true; }
  std::size_t queued_bytes() const override { return 0; }
  void on_gone(std::function<void()>) override {}

  HttpResponse whole;
  std::string stream;
  bool is_over = false;
};

struct Asked {
  explicit Asked(bool streams) : reply(std::make_shared<Recorded>()) {
    request = read_responses(
        read_body(streams ? R"({"input": "Hi", "stream": true})" : R"({"input": "Hi"})"),
        ModelFacts{"m", {}});
    go_on(Json::array(), &request);
    sink = responses_sink(request, "m", &stored, reply);
  }

  void answer(const std::vector<std::string>& texts, const Finish& finish) {
    sink->begin({});
    for (const std::string& text : texts) sink->piece({0, text, {}});
    sink->finish(0, finish);
    sink->end({});
  }

  std::vector<Json> events() const {
    std::vector<Json> events;
    std::size_t at = 0;
    for (std::size_t data; (data = reply->stream.find("data: ", at)) != std::string::npos;) {
      at = reply->stream.find("\n\n", data);
      events.push_back(Json::parse(reply->stream.substr(data + 6, at - data - 6)));
    }
    return events;
  }

  ResponsesRequest request;
  StoredResponses stored;
  std::shared_ptr<Recorded> reply;
  std::unique_ptr<AnswerSink> sink;
};

Finish finish(pc_finish how, int n_calls = 0) {
  Finish finish{how, {}, {}};
  for (int i = 0; i < n_calls; ++i)
    finish.calls.push_back({"call" + std::to_string(i), {"now", Json::object().set("in", "Oslo")}});
  return finish;
}

std::vector<std::string> types(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) types.push_back(event["type"].string());
  return types;
}

TEST_CASE("an answer of text has its events in order, numbered") {
  Asked asked(true);
  asked.answer({"On the", "", " hill."}, finish(PC_FINISH_EOS));
  const std::vector<Json> events = asked.events();
  CHECK(types(events) ==
        std::vector<std::string>{"response.created", "response.in_progress",
                                 "response.output_item.added", "response.content_part.added",
                                 "response.output_text.delta", "response.output_text.delta",
                                 "response.output_text.done", "response.content_part.done",
                                 "response.output_item.done", "response.completed"});
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(events[i]["sequence_number"].number() == i);
  const Json response = events.back()["response"];
  CHECK(response["status"] == Json("completed"));
  CHECK(response["output"].items()[0] == events[8]["item"]);
  CHECK(events[6]["text"] == Json("On the hill."));
  CHECK(events[2]["item"]["id"] == events[8]["item"]["id"]);
  CHECK(asked.reply->is_over);
}

TEST_CASE("calls are items of their own, behind the text or without one") {
  Asked silent(true), telling(true);
  silent.answer({}, finish(PC_FINISH_EOS, 1));
  CHECK(types(silent.events()) ==
        std::vector<std::string>{
            "response.created", "response.in_progress", "response.output_item.added",
            "response.function_call_arguments.delta", "response.function_call_arguments.done",
            "response.output_item.done", "response.completed"});
  telling.answer({"Let me see."}, finish(PC_FINISH_EOS, 2));
  const std::vector<Json> events = telling.events();
  CHECK(events.size() == 17);
  CHECK(events[8]["output_index"].number() == 1u);
  CHECK(events[15]["output_index"].number() == 2u);
  CHECK(events[15]["item"]["arguments"] == Json("{\"in\":\"Oslo\"}"));
  const std::vector<Json> output = events.back()["response"]["output"].items();
  REQUIRE(output.size() == 3);
  CHECK(output[2] == events[15]["item"]);
  CHECK(output[2]["call_id"] == Json("call1"));
}

TEST_CASE("an answer that says nothing is an empty message") {
  Asked asked(true);
  asked.answer({}, finish(PC_FINISH_EOS));
  CHECK(asked.events().back()["response"]["output"].items()[0]["content"].items()[0]["text"] ==
        Json(""));
}

TEST_CASE("an answer that was cut says so") {
  Asked asked(true);
  asked.answer({"On"}, finish(PC_FINISH_LENGTH));
  const Json event = asked.events().back();
  CHECK(event["type"] == Json("response.incomplete"));
  CHECK(event["response"]["incomplete_details"]["reason"] == Json("max_output_tokens"));
  CHECK(event["response"]["output"].items()[0]["status"] == Json("incomplete"));
}

TEST_CASE("an answer is remembered, with its conversation, once it is over") {
  Asked asked(false), left(false);
  asked.answer({"Hello."}, finish(PC_FINISH_EOS, 1));
  const Json response = Json::parse(asked.reply->whole.body);
  const auto stored = asked.stored.find(response["id"].string());
  REQUIRE(stored);
  CHECK(stored->response == asked.reply->whole.body);
  CHECK(Json::parse(stored->conversation) == Json::read(R"([{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "Hello.", "tool_calls": [{"id": "call0", "type": "function",
       "function": {"name": "now", "arguments": {"in": "Oslo"}}}]}])"));
  left.sink->begin({});
  left.sink->piece({0, "Hel", {}});
  left.sink->end({});
  CHECK_FALSE(left.stored.find(Json::parse(left.reply->whole.body)["id"].string()));
}

TEST_CASE("an error in a stream is its last event, and before it the status") {
  Asked asked(true), early(true);
  asked.sink->begin({});
  asked.sink->fail(ApiError::bad_request("no", "input"));
  const Json event = asked.events().back();
  CHECK(event == Json::read(R"({"type": "error", "sequence_number": 2, "code": null,
                                "message": "no", "param": "input"})"));
  CHECK(asked.reply->is_over);
  early.sink->fail(ApiError::bad_request("no", "input"));
  CHECK(early.reply->whole.status == 400);
  CHECK(early.reply->stream.empty());
}

}  // namespace
}  // namespace pc::serve
