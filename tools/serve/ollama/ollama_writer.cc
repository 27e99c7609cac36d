#include "tools/serve/ollama/ollama_writer.h"

#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include "tools/serve/answer/report.h"

namespace pc::serve {
namespace {

constexpr std::uint64_t kNanoseconds = 1000;  // a microsecond

std::string line(const Json& json) {
  return json.dump() + "\n";
}

Json call_json(const MadeCall& call, std::size_t number) {
  return Json::object()
      .set("id", call.id)
      .set("function", Json::object()
                           .set("index", number)
                           .set("name", call.name)
                           .set("arguments", call.input()));
}

class OllamaWriter : public AnswerWriter {
 public:
  OllamaWriter(const OllamaRequest& request, std::string model)
      : request_(request), model_(std::move(model)) {}

  Protocol protocol() const override { return Protocol::kOllama; }
  std::string content_type() const override { return "application/x-ndjson"; }
  std::string heartbeat() const override { return ""; }  // clients read each line as JSON

  std::string stream(const Event& event) override {
    return std::visit(
        Of{[&](const Said& said) { return whole_call() + piece(said.text, "", Json()); },
           [&](const Thought& said) { return whole_call() + piece("", said.text, Json()); },
           [&](const CallBegun& begun) {
             std::string before = whole_call();
             call_ = MadeCall{begun.id, begun.name, ""};
             return before;
           },
           [&](const CallSaid& said) {
             call_->arguments += said.arguments;
             return std::string();
           },
           [&](const ChoiceEnded& ended) {
             finish_ = ended.finish;
             return whole_call();
           },
           [&](const Ended& ended) {
             return line(end_json(message("", "", Json()), finish_, ended.usage));
           },
           [](const Failed& failed) { return line(failed.error.ollama()); },
           [](const auto&) { return std::string(); }},
        event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    const GatheredAnswer& answer = answers.choices.front();
    Json calls = Json::array();
    for (const MadeCall& call : answer.calls()) calls.push(call_json(call, calls.items().size()));
    return end_json(message(answer.text(), answer.text(Block::Kind::kThought),
                            calls.items().empty() ? Json() : calls),
                    answer.finish, answers.usage)
        .dump();
  }

 private:
  // Calls are told whole.
  std::string whole_call() {
    if (!call_) return "";
    const Json call = call_json(*std::exchange(call_, std::nullopt), n_calls_++);
    return piece("", "", Json::array().push(call));
  }

  std::string piece(const std::string& text, const std::string& thought, const Json& calls) const {
    if (text.empty() && thought.empty() && calls.is_null()) return "";
    return line(message(text, thought, calls).set("done", false));
  }

  Json head() const {
    return Json::object()
        .set("model", model_)
        .set("created_at", ollama_time(static_cast<std::int64_t>(std::time(nullptr))));
  }

  Json message(const std::string& text, const std::string& thought, const Json& calls) const {
    Json out = request_.is_chat ? Json::object().set("role", "assistant").set("content", text)
                                : head().set("response", text);
    if (!thought.empty()) out.set("thinking", thought);
    if (!calls.is_null()) out.set("tool_calls", calls);
    return request_.is_chat ? head().set("message", out) : out;
  }

  Json end_json(Json out, const Finish& finish, const Usage& usage) const {
    return out.set("done", true)
        .set("done_reason", finish.how == PC_FINISH_LENGTH ? "length" : "stop")
        .set("total_duration", (usage.prompt_us + usage.decode_us) * kNanoseconds)
        .set("load_duration", 0)
        .set("prompt_eval_count", usage.prompt_tokens)
        .set("prompt_eval_duration", usage.prompt_us * kNanoseconds)
        .set("eval_count", usage.generated_tokens)
        .set("eval_duration", usage.decode_us * kNanoseconds)
        .set("prompt_cache", prompt_cache(usage, request_.question));
  }

  const OllamaRequest request_;
  const std::string model_;
  std::optional<MadeCall> call_;  // which has begun
  std::size_t n_calls_ = 0;       // told
  Finish finish_;
};

}  // namespace

std::unique_ptr<AnswerWriter> ollama_writer(const OllamaRequest& request,
                                            const std::string& model) {
  return std::make_unique<OllamaWriter>(request, model);
}

Json ollama_loaded(const OllamaRequest& request, const std::string& model) {
  Json out = Json::object()
                 .set("model", model)
                 .set("created_at", ollama_time(static_cast<std::int64_t>(std::time(nullptr))));
  if (request.is_chat)
    out.set("message", Json::object().set("role", "assistant").set("content", ""));
  else
    out.set("response", "");
  return out.set("done", true).set("done_reason", "load");
}

std::string ollama_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace pc::serve
