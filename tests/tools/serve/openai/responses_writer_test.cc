// What clients of the Responses protocol are sent: the events of an answer, in order, and the same
// answer whole.
#include "tools/serve/openai/responses_writer.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/recorded_reply.h"

namespace pc::serve {
namespace {

struct Asked {
  explicit Asked(bool streams) : reply(std::make_shared<test::RecordedReply>()) {
    ResponsesRequest request = read_responses(
        read_body(streams ? R"({"input": "Hi", "stream": true})" : R"({"input": "Hi"})"), {});
    go_on(Json::array(), &request);
    delivery.emplace(reply, responses_writer(request, "m", &stored), streams, 1u);
  }

  void take(const Event& event) { delivery->take(event); }
  void answer(const std::vector<std::string>& texts, pc_finish how, std::uint32_t n_calls = 0) {
    take(Begun{});
    for (const std::string& text : texts) take(Said{0, text, {}});
    for (std::uint32_t i = 0; i < n_calls; ++i) {
      take(CallBegun{0, i, "call" + std::to_string(i), "now"});
      take(CallSaid{0, i, "{\"in\":\"Oslo\"}"});
    }
    take(ChoiceEnded{0, {how, {}, n_calls, false}});
    take(Ended{});
  }
  std::vector<Json> events() const { return reply->events(); }

  StoredResponses stored;
  std::shared_ptr<test::RecordedReply> reply;
  std::optional<Delivery> delivery;
};

std::vector<std::string> types(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) types.push_back(event["type"].string());
  return types;
}

TEST_CASE("an answer of text has its events in order, numbered") {
  Asked asked(true);
  asked.answer({"On the", "", " hill."}, PC_FINISH_EOS);
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
  silent.answer({}, PC_FINISH_EOS, 1);
  CHECK(types(silent.events()) ==
        std::vector<std::string>{
            "response.created", "response.in_progress", "response.output_item.added",
            "response.function_call_arguments.delta", "response.function_call_arguments.done",
            "response.output_item.done", "response.completed"});
  telling.answer({"Let me see."}, PC_FINISH_EOS, 2);
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
  asked.answer({}, PC_FINISH_EOS);
  CHECK(asked.events().back()["response"]["output"].items()[0]["content"].items()[0]["text"] ==
        Json(""));
}

TEST_CASE("an answer that was cut says so") {
  Asked asked(true);
  asked.answer({"On"}, PC_FINISH_LENGTH);
  const Json event = asked.events().back();
  CHECK(event["type"] == Json("response.incomplete"));
  CHECK(event["response"]["incomplete_details"]["reason"] == Json("max_output_tokens"));
  CHECK(event["response"]["output"].items()[0]["status"] == Json("incomplete"));
}

TEST_CASE("an answer is remembered, with its conversation, once it is over") {
  Asked asked(false), left(false);
  asked.answer({"Hello."}, PC_FINISH_EOS, 1);
  const Json response = Json::read(asked.reply->whole.body);
  const auto stored = asked.stored.find(response["id"].string());
  REQUIRE(stored);
  CHECK(stored->response == asked.reply->whole.body);
  CHECK(Json::read(stored->conversation) == Json::read(R"([{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "Hello.", "tool_calls": [{"id": "call0", "type": "function",
       "function": {"name": "now", "arguments": {"in": "Oslo"}}}]}])"));
  left.take(Begun{});
  left.take(Said{0, "Hel", {}});
  left.take(Ended{});
  CHECK_FALSE(left.stored.find(Json::read(left.reply->whole.body)["id"].string()));
}

TEST_CASE("an error in a stream is its last event, and before it the status") {
  Asked asked(true), early(true);
  asked.take(Begun{});
  asked.take(Failed{ApiError::bad_request("no", "input")});
  const Json event = asked.events().back();
  CHECK(event == Json::read(R"({"type": "error", "sequence_number": 2, "code": null,
                                "message": "no", "param": "input"})"));
  CHECK(asked.reply->is_over);
  early.take(Failed{ApiError::bad_request("no", "input")});
  CHECK(early.reply->whole.status == 400);
  CHECK(early.reply->stream.empty());
}

}  // namespace
}  // namespace pc::serve
