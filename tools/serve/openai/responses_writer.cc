#include "tools/serve/openai/responses_writer.h"

#include <ctime>
#include <utility>
#include <vector>

#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/openai/openai_logprobs.h"
#include "tools/serve/openai/response_json.h"
#include "tools/serve/request/names.h"

namespace pc::serve {
namespace {

// The words of events about an item's one part.
struct PartEvents {
  const char *delta, *done;
};

PartEvents events_of(Block::Kind kind) {
  switch (kind) {
    case Block::Kind::kThought:
      return {"response.reasoning_text.delta", "response.reasoning_text.done"};
    case Block::Kind::kText:
      return {"response.output_text.delta", "response.output_text.done"};
    case Block::Kind::kCall:
      return {"response.function_call_arguments.delta", "response.function_call_arguments.done"};
  }
  return {};
}

class ResponseWriter : public AnswerWriter {
 public:
  ResponseWriter(const ResponsesRequest& request, std::string model, StoredResponses* stored)
      : request_(request),
        model_(std::move(model)),
        stored_(stored),
        id_(new_name("resp_")),
        created_(std::time(nullptr)) {}

  Protocol protocol() const override { return Protocol::kOpenAi; }

  std::string stream(const Event& event) override {
    return std::visit(
        Of{[&](const Begun&) { return begin(); }, [&](const Said& said) { return say(said); },
           [&](const Thought& thought) {
             return thought.text.empty() ? "" : piece(thought, Block::Kind::kThought, thought.text);
           },
           [&](const CallBegun& call) {
             std::string events = end_item(false);
             return events += begin_item(call);
           },
           [&](const CallSaid& said) {
             told_.add(said);
             return delta(said.arguments);
           },
           [&](const ChoiceEnded& ended) { return end_choice(ended); },
           [&](const Ended& ended) {
             const Json response = finished(answer(), ended.usage);
             return write(is_cut(answer()) ? "response.incomplete" : "response.completed",
                          Json::object().set("response", response));
           },
           [&](const Failed& failed) { return error_event(failed.error); },
           [](const auto&) { return std::string(); }},
        event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    GatheredAnswer answer = answers.choices.front();
    if (answer.blocks.empty()) answer.blocks.push_back({});
    for (const Block& block : answer.blocks) items_.push_back(new_item_name(block));
    return finished(answer, answers.usage).dump();
  }

 private:
  static bool is_cut(const GatheredAnswer& answer) { return answer.finish.how == PC_FINISH_LENGTH; }
  const GatheredAnswer& answer() const { return told_.choices.front(); }
  bool has_logprobs() const { return request_.question.top_logprobs.has_value(); }
  Json logprobs(const std::vector<DrawnToken>& tokens) const {
    return has_logprobs() ? chat_logprobs(tokens) : Json::array();
  }

  // ---- Whole responses
  // The first text of an answer has the chances of all its tokens.
  Json item(const GatheredAnswer& answer, std::size_t i, ItemStatus status) const {
    bool is_first = true;
    for (std::size_t k = 0; k < i; ++k)
      is_first = is_first && answer.blocks[k].kind != Block::Kind::kText;
    const Json chances = is_first ? logprobs(answer.tokens) : Json::array();
    return item_json(items_[i], answer.blocks[i], chances, true, status);
  }
  // Of an answer that is cut the last item is not whole.
  ItemStatus status_of(const GatheredAnswer& answer, std::size_t i) const {
    const bool is_last = i + 1 == answer.blocks.size();
    return is_last && is_cut(answer) ? ItemStatus::kIncomplete : ItemStatus::kCompleted;
  }
  // The whole of it, which is remembered where the answer is over and the request wants that.
  Json finished(const GatheredAnswer& answer, const Usage& usage) {
    Json output = Json::array();
    for (std::size_t i = 0; i < answer.blocks.size(); ++i)
      output.push(item(answer, i, status_of(answer, i)));
    Json response = with_output(is_cut(answer) ? "incomplete" : "completed", output, is_cut(answer))
                        .set("completed_at", std::time(nullptr))
                        .set("usage", responses_usage(usage))
                        .set("prompt_cache", prompt_cache(usage, request_.question));
    if (request_.stores && answer.finish.how != PC_FINISH_NONE) {
      Json conversation = request_.conversation;
      conversation.push(answer_message(answer));
      stored_->put(id_, {response.dump(), conversation.dump()});
    }
    return response;
  }
  Json with_output(const char* status, const Json& output, bool is_cut) const {
    Json response = Json::object()
                        .set("id", id_)
                        .set("object", "response")
                        .set("created_at", created_)
                        .set("status", status)
                        .set("error", Json())
                        .set("incomplete_details",
                             is_cut ? Json::object().set("reason", "max_output_tokens") : Json())
                        .set("model", model_)
                        .set("output", output)
                        .set("usage", Json());
    for (const std::string& key : request_.echo.keys()) response.set(key, request_.echo[key]);
    return response;
  }

  // ---- Events
  // Each has its name and its number in it.
  std::string write(const char* name, const Json& fields) {
    Json data = Json::object().set("type", name).set("sequence_number", n_events_++);
    for (const std::string& key : fields.keys()) data.set(key, fields[key]);
    return named_event(name, data);
  }
  std::string begin() {
    const Json response =
        Json::object().set("response", with_output("in_progress", Json::array(), false));
    std::string events = write("response.created", response);
    return events += write("response.in_progress", response);
  }
  Json of_item() const {
    return Json::object().set("item_id", items_.back()).set("output_index", items_.size() - 1);
  }
  Json of_part() const { return is_call() ? of_item() : of_item().set("content_index", 0); }
  bool is_call() const { return answer().blocks.back().kind == Block::Kind::kCall; }

  // What begins a new block of the answer.
  std::string begin_item(const Event& event) {
    told_.add(event);
    const Block& block = answer().blocks.back();
    items_.push_back(new_item_name(block));
    const Json item =
        item_json(items_.back(), block, Json::array(), false, ItemStatus::kInProgress);
    std::string events =
        write("response.output_item.added",
              Json::object().set("output_index", items_.size() - 1).set("item", item));
    if (!is_call())
      events += write("response.content_part.added", of_part().set("part", part_of({block.kind})));
    is_open_ = true;
    return events;
  }
  Json part_of(const Block& block) const {
    const bool is_text = block.kind == Block::Kind::kText;
    return is_text ? text_part(block.text, Json::array()) : thought_part(block.text);
  }
  std::string delta(const std::string& text) {
    const Block::Kind kind = answer().blocks.back().kind;
    Json fields = of_part().set("delta", text);
    if (kind == Block::Kind::kText) {
      fields.set("logprobs", logprobs(unsent_));
      unsent_.clear();
    }
    return write(events_of(kind).delta, fields);
  }
  std::string piece(const Event& event, Block::Kind kind, const std::string& text) {
    if (is_open_ && answer().blocks.back().kind == kind) {
      told_.add(event);
      return delta(text);
    }
    std::string events = end_item(false);
    events += begin_item(event);
    return events += delta(text);
  }
  std::string say(const Said& said) {
    unsent_.insert(unsent_.end(), said.tokens.begin(), said.tokens.end());
    if (!said.text.empty()) return piece(said, Block::Kind::kText, said.text);
    told_.add(said);
    return "";
  }
  // is_last: of the answer.
  std::string end_item(bool is_last) {
    if (!std::exchange(is_open_, false)) return "";
    const std::size_t i = items_.size() - 1;
    const Block& block = answer().blocks.back();
    const Json whole = item(answer(), i, is_last ? status_of(answer(), i) : ItemStatus::kCompleted);
    const PartEvents events = events_of(block.kind);
    Json done = of_part();
    if (is_call())
      done.set("name", block.call.name).set("arguments", block.call.arguments);
    else
      done.set("text", block.text);
    const Json part = is_call() ? Json() : whole["content"].items().front();
    if (block.kind == Block::Kind::kText) done.set("logprobs", part["logprobs"]);
    std::string written = write(events.done, done);
    if (!is_call()) written += write("response.content_part.done", of_part().set("part", part));
    return written += write("response.output_item.done",
                            Json::object().set("output_index", i).set("item", whole));
  }
  // An answer that says nothing is an empty message.
  std::string end_choice(const ChoiceEnded& ended) {
    told_.add(ended);
    std::string events;
    if (answer().blocks.empty()) {
      told_.choices.front().blocks.push_back({});
      events = begin_item(Said{});
    }
    return events += end_item(true);
  }
  std::string error_event(const ApiError& error) {
    const Json of_error = error.openai()["error"];
    return write("error", Json::object()
                              .set("code", of_error["code"])
                              .set("message", of_error["message"])
                              .set("param", of_error["param"]));
  }

  const ResponsesRequest request_;
  const std::string model_;
  StoredResponses* const stored_;
  const std::string id_;
  const std::int64_t created_;
  GatheredAnswers told_{1};         // of a stream: what was written
  std::vector<std::string> items_;  // names, one for each block
  std::vector<DrawnToken> unsent_;  // of a stream: whose text has not come yet
  bool is_open_ = false;            // the last item is not over
  std::uint32_t n_events_ = 0;
};

}  // namespace

std::unique_ptr<AnswerWriter> responses_writer(const ResponsesRequest& request,
                                               const std::string& model, StoredResponses* stored) {
  return std::make_unique<ResponseWriter>(request, model, stored);
}

}  // namespace pc::serve
