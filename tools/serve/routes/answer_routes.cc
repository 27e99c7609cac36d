// The routes that answer: OpenAI's completions and Anthropic's messages, and what makes a prompt
// ready for them.
#include <utility>

#include "tools/serve/answer/answering.h"
#include "tools/serve/answer/report.h"
#include "tools/serve/anthropic/anthropic.h"
#include "tools/serve/anthropic/message_writer.h"
#include "tools/serve/http/json_reply.h"
#include "tools/serve/openai/chat_writer.h"
#include "tools/serve/openai/openai_chat.h"
#include "tools/serve/openai/openai_text.h"
#include "tools/serve/openai/text_writer.h"
#include "tools/serve/request/failure_of.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

void add_openai(Service* service, Router* router) {
  using ReadQuestion = OpenAiRequest (*)(const Json&, const ModelFacts&);
  using MakeWriter = std::unique_ptr<AnswerWriter> (*)(const OpenAiRequest&, const ServedModel&);
  const auto add = [=](const char* path, ReadQuestion read, MakeWriter make) {
    router->add_of_model("POST", path, [=](const Asked& asked, const auto& reply) {
      OpenAiRequest request = read(asked.body, asked.model().facts());
      service->complete(asked.http, &request.question);
      auto writer = make(request, asked.model());
      service->answer(asked.loaded, std::move(request.question), std::move(writer), request.streams,
                      reply);
    });
  };
  for (const char* const path : {"/v1/chat/completions", "/chat/completions"})
    add(path, read_openai_chat, openai_chat_writer);
  for (const char* const path : {"/v1/completions", "/completions"})
    add(path, read_openai_text, openai_text_writer);
}

void add_anthropic(Service* service, Router* router) {
  router->add_of_model(
      "POST", "/v1/messages",
      [service](const Asked& asked, const auto& reply) {
        AnthropicRequest request = read_anthropic(asked.body, asked.model().facts(), false);
        service->complete(asked.http, &request.question);
        auto writer = anthropic_writer(request, asked.model().id());
        service->answer(asked.loaded, std::move(request.question), std::move(writer),
                        request.streams, reply);
      },
      Protocol::kAnthropic);
}

void add_prewarm(Service* service, Router* router) {
  router->add_of_model(
      "POST", "/v1/prompt_cache/prewarm", [service](const Asked& asked, const auto& reply) {
        Question question = question_of(asked.body, asked.model().facts());
        service->complete(asked.http, &question);
        service->fit(asked.loaded, &question);
        service->submit([loaded = asked.loaded, question = std::move(question), reply] {
          guard(Protocol::kOpenAi, reply, [&] {
            const Usage usage = prewarm(loaded->model, loaded->planner, question);
            send(reply, Json::object()
                            .set("object", "prompt_cache.prewarm")
                            .set("usage", openai_usage(usage))
                            .set("prompt_cache", prompt_cache(usage, question)));
          });
        });
      });
}

}  // namespace

void add_answer_routes(Service* service, Router* router) {
  add_openai(service, router);
  add_anthropic(service, router);
  add_prewarm(service, router);
}

}  // namespace pc::serve
