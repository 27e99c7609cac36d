// The routes about whole texts: vectors of them in three protocols, and documents put in order.
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/http/request_log.h"
#include "tools/serve/request/failure_of.h"
#include "tools/serve/routes/routes.h"
#include "tools/serve/texts/embedding.h"
#include "tools/serve/texts/ranking.h"
#include "tools/serve/texts/text_requests.h"

namespace pc::serve {
namespace {

// As the client called the model.
std::string called(const Asked& asked) {
  const std::string name = asked.body["model"].string();
  return name.empty() ? asked.model().id() : name;
}

// Does anybody wait for it, and is there time?
class Wanted {
 public:
  Wanted(const Service& service, const std::shared_ptr<Reply>& reply)
      : deadline_(service.deadline()) {
    reply->on_gone([is_gone = is_gone_] { *is_gone = true; });
  }
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }
  bool operator()() const { return !*is_gone_ && !is_late(); }

 private:
  const std::chrono::steady_clock::time_point deadline_;
  const std::shared_ptr<std::atomic<bool>> is_gone_ = std::make_shared<std::atomic<bool>>(false);
};

// On a thread for answers: make(is_wanted) gives the JSON, and counts the tokens it read.
template <class Make>
void reply_with(Service* service, const Asked& asked, Protocol protocol,
                const std::shared_ptr<Reply>& reply, Make make) {
  service->submit([loaded = asked.loaded, notes = asked.http.notes, protocol, reply,
                   is_wanted = Wanted(*service, reply), make = std::move(make)] {
    guard(protocol, reply, [&] {
      std::uint64_t n_tokens = 0;
      try {
        const Json made = make(loaded->model, is_wanted, &n_tokens);
        if (notes) notes->set_tokens({n_tokens, 0, 0});
        send(reply, made);
      } catch (const promptcache::Error&) {
        if (is_wanted.is_late()) throw ApiError::too_late();
        throw;
      }
    });
  });
}

Json with_ignored(Json made, const std::vector<std::string>& ignored) {
  if (ignored.empty()) return made;
  Json list = Json::array();
  for (const std::string& name : ignored) list.push(name);
  return made.set("prompt_cache", Json::object().set("ignored_fields", list));
}

using ReadEmbed = EmbedRequest (*)(const Json&, const ModelFacts&);

// write(made, request, model's name)
template <class Write>
void add_embedding(Service* service, Router* router, const char* path, Protocol protocol,
                   ReadEmbed read, Write write) {
  router->add_of_model(
      "POST", path,
      [=](const Asked& asked, const auto& reply) {
        EmbedRequest request = read(asked.body, asked.model().facts());
        reply_with(service, asked, protocol, reply,
                   [request = std::move(request), name = called(asked), write](
                       const ServedModel& model, const auto& is_wanted, std::uint64_t* n_tokens) {
                     const Embeddings made = embed(model, request, is_wanted);
                     *n_tokens = made.n_tokens;
                     return write(made, request, name);
                   });
      },
      protocol);
}

void add_rerank(Service* service, Router* router, const char* path) {
  router->add_of_model("POST", path, [=](const Asked& asked, const auto& reply) {
    reply_with(service, asked, Protocol::kOpenAi, reply,
               [request = read_rerank(asked.body), name = called(asked)](
                   const ServedModel& model, const auto& is_wanted, std::uint64_t* n_tokens) {
                 const Ranking ranking = rank(model, request, is_wanted);
                 *n_tokens = ranking.n_tokens;
                 return with_ignored(ranking_json(ranking, request, name), request.ignored);
               });
  });
}

}  // namespace

void add_embedding_routes(Service* service, Router* router) {
  const auto openai = [](const auto& made, const auto& request, const auto& name) {
    return with_ignored(openai_embeddings(made, request, name), request.ignored);
  };
  for (const char* const path : {"/v1/embeddings", "/embeddings"})
    add_embedding(service, router, path, Protocol::kOpenAi, read_openai_embeddings, openai);
  add_embedding(service, router, "/embedding", Protocol::kOpenAi, read_llama_embedding,
                [](const auto& made, const auto&, const auto&) { return llama_embeddings(made); });
  add_embedding(
      service, router, "/api/embed", Protocol::kOllama, read_ollama_embed,
      [](const auto& made, const auto&, const auto& name) { return ollama_embed(made, name); });
  add_embedding(service, router, "/api/embeddings", Protocol::kOllama, read_ollama_embeddings,
                [](const auto& made, const auto&, const auto&) { return ollama_embedding(made); });
  for (const char* const path : {"/v1/rerank", "/rerank", "/v1/reranking", "/reranking"})
    add_rerank(service, router, path);
}

}  // namespace pc::serve
