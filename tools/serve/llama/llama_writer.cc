#include "tools/serve/llama/llama_writer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"

namespace pc::serve {
namespace {

const char* stop_type(const Finish& finish) {
  if (finish.how == PC_FINISH_LENGTH) return "limit";
  return finish.how == PC_FINISH_STOP ? "word" : "eos";
}

Json chance_json(const TokenChance& token) {
  Json bytes = Json::array();
  for (const char c : token.bytes) bytes.push(static_cast<unsigned>(static_cast<unsigned char>(c)));
  return Json::object()
      .set("id", token.id)
      .set("token", token.bytes)
      .set("bytes", bytes)
      .set("logprob", static_cast<double>(token.logprob));
}

Json chances_json(const std::vector<DrawnToken>& tokens) {
  Json list = Json::array();
  for (const DrawnToken& drawn : tokens) {
    Json top = Json::array();
    for (const TokenChance& token : drawn.top) top.push(chance_json(token));
    list.push(chance_json(drawn.token).set("top_logprobs", top));
  }
  return list;
}

Json ids_json(const std::vector<DrawnToken>& tokens) {
  Json list = Json::array();
  for (const DrawnToken& drawn : tokens) list.push(drawn.token.id);
  return list;
}

class LlamaWriter : public AnswerWriter {
 public:
  LlamaWriter(const LlamaRequest& request, const ServedModel& model)
      : request_(request), model_(model), ends_(request.question.n_choices()) {}

  Protocol protocol() const override { return Protocol::kOpenAi; }

  std::string stream(const Event& event) override {
    return std::visit(Of{[&](const Progress& progress) { return of_progress(progress); },
                         [&](const Said& said) { return serve::event(piece(said)); },
                         [&](const ChoiceEnded& ended) {
                           ends_[ended.choice] = ended.finish;
                           return std::string();
                         },
                         [&](const Ended& ended) { return all_ends(ended.usage); },
                         [](const Failed& failed) { return serve::event(failed.error.openai()); },
                         [](const auto&) { return std::string(); }},
                      event);
  }

  std::string whole(const GatheredAnswers& answers) override {
    Json list = Json::array();
    for (std::uint32_t i = 0; i < answers.choices.size(); ++i) {
      const GatheredAnswer& answer = answers.choices[i];
      Json json =
          end_json(i, answer.finish, answers.usage)
              .set("content", answer.text())
              .set("tokens", request_.returns_tokens ? ids_json(answer.tokens) : Json::array());
      if (question().top_logprobs)
        json.set("completion_probabilities", chances_json(answer.tokens));
      list.push(json);
    }
    return (request_.is_list ? list : list.items().front()).dump();
  }

 private:
  const Question& question() const { return request_.question; }

  Json piece(const Said& said) const {
    Json json = Json::object()
                    .set("index", said.choice)
                    .set("content", said.text)
                    .set("tokens", ids_json(said.tokens))
                    .set("stop", false);
    if (question().top_logprobs) json.set("completion_probabilities", chances_json(said.tokens));
    return json;
  }

  // Without the text, which a stream has told by then.
  Json end_json(std::uint32_t choice, const Finish& finish, const Usage& usage) const {
    const RawPrompt& prompt = question().raw[choice / question().n];
    return Json::object()
        .set("index", choice)
        .set("content", "")
        .set("tokens", Json::array())
        .set("stop", true)
        .set("model", model_.id())
        .set("tokens_predicted", finish.counts.drawn)
        .set("tokens_evaluated", finish.counts.prompt)
        .set("tokens_cached", finish.counts.cached)
        .set("generation_settings",
             llama_settings(question(), model_.facts()).set("stream", request_.streams))
        .set("prompt", model_.text_of(prompt))
        .set("truncated", false)
        .set("stop_type", stop_type(finish))
        .set("stopping_word", finish.stop)
        .set("timings", timings(usage))
        .set("prompt_cache", prompt_cache(usage, question()));
  }

  std::string all_ends(const Usage& usage) const {
    std::string all;
    for (std::uint32_t i = 0; i < ends_.size(); ++i)
      all += serve::event(end_json(i, ends_[i], usage));
    return all;
  }

  std::string of_progress(const Progress& progress) const {
    if (!request_.returns_progress) return "";
    const Json of_prompt =
        Json::object().set("total", progress.n_tokens).set("processed", progress.n_done);
    return serve::event(Json::object()
                            .set("index", 0)
                            .set("content", "")
                            .set("tokens", Json::array())
                            .set("stop", false)
                            .set("prompt_progress", of_prompt));
  }

  const LlamaRequest request_;
  const ServedModel& model_;
  std::vector<Finish> ends_;  // of each answer
};

}  // namespace

std::unique_ptr<AnswerWriter> llama_writer(const LlamaRequest& request, const ServedModel& model) {
  return std::make_unique<LlamaWriter>(request, model);
}

Json llama_settings(const Question& question, const ModelFacts& model) {
  const Sampling& s = question.sampling;
  Json stop = Json::array();
  for (const std::string& one : s.stop) stop.push(one);
  const Json most = s.max_tokens ? Json(*s.max_tokens) : Json(-1);
  const Json seed = s.seed == PC_SEED_RANDOM ? Json(-1) : Json(s.seed);
  return Json::object()
      .set("n_ctx", model.engine.context_tokens)
      .set("n_predict", most)
      .set("max_tokens", most)
      .set("seed", seed)
      .set("temperature", static_cast<double>(s.temperature))
      .set("top_k", s.top_k)
      .set("top_p", static_cast<double>(s.top_p))
      .set("min_p", static_cast<double>(s.min_p))
      .set("repeat_penalty", static_cast<double>(s.repetition_penalty))
      .set("presence_penalty", static_cast<double>(s.presence_penalty))
      .set("frequency_penalty", static_cast<double>(s.frequency_penalty))
      .set("stop", stop)
      .set("n_probs", question.top_logprobs.value_or(0));
}

}  // namespace pc::serve
