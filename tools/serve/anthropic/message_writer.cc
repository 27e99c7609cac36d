#include "tools/serve/anthropic/message_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/request/names.h"

namespace pc::serve {
namespace {

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
  if (finish.n_calls > 0 && !finish.cuts_call) return "tool_use";
  if (finish.how == PC_FINISH_LENGTH) return "max_tokens";
  return finish.how == PC_FINISH_STOP ? "stop_sequence" : "end_turn";
}

Json stop_sequence(const Finish& finish) {
  return finish.stop.empty() ? Json() : Json(finish.stop);
}

// A block with what it has said so far.
Json block_json(const Block& block) {
  const Json typed = Json::object();
  switch (block.kind) {
    case Block::Kind::kThought:
      return Json(typed).set("type", "thinking").set("thinking", block.text).set("signature", "");
    case Block::Kind::kText:
      return Json(typed).set("type", "text").set("text", block.text);
    case Block::Kind::kCall:
      return Json(typed)
          .set("type", "tool_use")
          .set("id", block.call.id)
          .set("name", block.call.name)
          .set("input", block.call.input());
  }
  return typed;
}

// An event has its name in it, too.
std::string event_of(const char* name, const Json& fields) {
  Json data = Json::object().set("type", name);
  for (const std::string& key : fields.keys()) data.set(key, fields[key]);
  return named_event(name, data);
}

class MessageWriter : public AnswerWriter {
 public:
  MessageWriter(const AnthropicRequest& request, std::string model)
      : question_(request.question), model_(std::move(model)), id_(new_name("msg_")) {}

  Protocol protocol() const override { return Protocol::kAnthropic; }
  std::string heartbeat() const override { return event_of("ping", Json::object()); }

  std::string stream(const Event& event) override {
    return std::visit(
        Of{[&](const Begun& begun) {
             const Json empty = message(Json::array(), {}, begun.usage);
             return event_of("message_start", Json::object().set("message", empty));
           },
           [&](const Said& said) {
             return piece(Block::Kind::kText, "text_delta", "text", said.text);
           },
           [&](const Thought& said) {
             return piece(Block::Kind::kThought, "thinking_delta", "thinking", said.text);
           },
           [&](const CallBegun& call) {
             std::string events = end_block();
             return events +=
                    begin_block({.kind = Block::Kind::kCall, .call = {call.id, call.name, {}}});
           },
           [&](const CallSaid& said) {
             return delta("input_json_delta", "partial_json", said.arguments);
           },
           [&](const ChoiceEnded& ended) {
             finish_ = ended.finish;
             return end_block();
           },
           [&](const Ended& ended) { return end(ended.usage); },
           [](const Failed& failed) { return named_event("error", failed.error.anthropic()); },
           [](const auto&) { return std::string(); }},
        event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    const GatheredAnswer& answer = answers.choices.front();
    Json content = Json::array();
    for (const Block& block : answer.blocks) content.push(block_json(block));
    return message(content, answer.finish, answers.usage)
        .set("prompt_cache", prompt_cache(answers.usage, question_))
        .dump();
  }

 private:
  Json message(const Json& content, const Finish& finish, const Usage& usage) const {
    const bool is_over = finish.how != PC_FINISH_NONE;
    return Json::object()
        .set("id", id_)
        .set("type", "message")
        .set("role", "assistant")
        .set("model", model_)
        .set("content", content)
        .set("stop_reason", is_over ? stop_reason(finish) : Json())
        .set("stop_sequence", stop_sequence(finish))
        .set("usage", usage_json(usage));
  }

  Json of_block() const { return Json::object().set("index", n_blocks_); }
  std::string begin_block(const Block& block) {
    open_ = block.kind;
    return event_of("content_block_start", of_block().set("content_block", block_json(block)));
  }
  std::string end_block() {
    if (!std::exchange(open_, std::nullopt)) return "";
    const std::string event = event_of("content_block_stop", of_block());
    ++n_blocks_;
    return event;
  }
  std::string delta(const char* type, const char* key, const std::string& text) const {
    const Json delta = Json::object().set("type", type).set(key, text);
    return event_of("content_block_delta", of_block().set("delta", delta));
  }
  std::string piece(Block::Kind kind, const char* type, const char* key, const std::string& text) {
    if (text.empty()) return "";
    std::string events;
    if (open_ != kind) {
      events = end_block();
      events += begin_block({.kind = kind});
    }
    return events += delta(type, key, text);
  }
  std::string end(const Usage& usage) const {
    const Json delta = Json::object()
                           .set("stop_reason", stop_reason(finish_))
                           .set("stop_sequence", stop_sequence(finish_));
    return event_of("message_delta", Json::object()
                                         .set("delta", delta)
                                         .set("usage", usage_json(usage))
                                         .set("prompt_cache", prompt_cache(usage, question_))) +
           event_of("message_stop", Json::object());
  }

  const Question question_;
  const std::string model_, id_;
  Finish finish_;
  std::optional<Block::Kind> open_;  // of the block that is not over
  std::uint32_t n_blocks_ = 0;       // that are over
};

}  // namespace

std::unique_ptr<AnswerWriter> anthropic_writer(const AnthropicRequest& request,
                                               const std::string& model) {
  return std::make_unique<MessageWriter>(request, model);
}

}  // namespace pc::serve
