// What OpenAI's two protocols of completions write alike: who answers, what it took, and the end of
// a stream.
//
// Borrows the model. Threads: one at a time.
#pragma once

#include <ctime>
#include <string>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/openai/openai_request.h"
#include "tools/serve/request/names.h"

namespace pc::serve {

class OpenAiWriter : public AnswerWriter {
 public:
  // id_prefix: "chatcmpl-"
  OpenAiWriter(const OpenAiRequest& request, const ServedModel& model, const char* id_prefix)
      : request_(request), model_(model), id_(new_name(id_prefix)), created_(std::time(nullptr)) {}

  Protocol protocol() const override { return Protocol::kOpenAi; }

 protected:
  // object: "chat.completion"
  Json head(const char* object) const {
    return Json::object()
        .set("id", id_)
        .set("object", object)
        .set("created", created_)
        .set("model", model_.id())
        .set("system_fingerprint", model_.fingerprint(request_.question.mode));
  }
  // One chunk of a stream, of one answer.
  std::string chunk(const char* object, const Json& choice) const {
    Json chunk = head(object).set("choices", Json::array().push(choice));
    if (request_.includes_usage) chunk.set("usage", Json());
    return event(chunk);
  }
  Json report(const char* object, const Json& choices, const Usage& usage) const {
    return head(object)
        .set("choices", choices)
        .set("usage", openai_usage(usage))
        .set("timings", timings(usage))
        .set("prompt_cache", prompt_cache(usage, request_.question));
  }
  std::string end(const char* object, const Usage& usage) const {
    const std::string done = "data: [DONE]\n\n";
    return request_.includes_usage ? event(report(object, Json::array(), usage)) + done : done;
  }
  // llama-server's, where the request has "return_progress".
  std::string progress(const char* object, const Progress& progress) const {
    if (!request_.returns_progress) return "";
    const Json of_prompt =
        Json::object().set("total", progress.n_tokens).set("processed", progress.n_done);
    return event(head(object).set("choices", Json::array()).set("prompt_progress", of_prompt));
  }

  const OpenAiRequest request_;

 private:
  const ServedModel& model_;
  const std::string id_;
  const std::int64_t created_;
};

}  // namespace pc::serve
