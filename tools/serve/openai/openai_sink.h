// What OpenAI's two protocols of completions write alike: who answers, what it took, and the end of
// a stream.
//
// Borrows the model. Threads: those of ReplySink.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "tools/serve/answer/reply_sink.h"
#include "tools/serve/answer/report.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/openai/openai_request.h"
#include "tools/serve/request/names.h"

namespace pc::serve {

class OpenAiSink : public ReplySink {
 public:
  // id_prefix: "chatcmpl-"
  OpenAiSink(const OpenAiRequest& request, const ServedModel& model, std::shared_ptr<Reply> reply,
             const char* id_prefix)
      : ReplySink(std::move(reply), Protocol::kOpenAi),
        request_(request),
        model_(model),
        id_(new_name(id_prefix)),
        created_(std::time(nullptr)) {}

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
  Json report(const char* object, const Json& choices, const Usage& usage) const {
    return head(object)
        .set("choices", choices)
        .set("usage", openai_usage(usage))
        .set("timings", timings(usage))
        .set("prompt_cache", prompt_cache(usage, request_.question));
  }
  void end_stream(const char* object, const Usage& usage) {
    if (request_.includes_usage) reply().write(event(report(object, Json::array(), usage)));
    reply().write("data: [DONE]\n\n");
    reply().end();
  }
  std::string error_event(const ApiError& error) const override { return event(error.openai()); }

  const OpenAiRequest request_;

 private:
  const ServedModel& model_;
  const std::string id_;
  const std::int64_t created_;
};

}  // namespace pc::serve
