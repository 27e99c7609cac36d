#include "tools/serve/texts/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/serve/request/api_error.h"
#include "tools/serve/texts/watched.h"

namespace pc::serve {
namespace {

using Tokens = std::vector<std::int32_t>;

// What Qwen3-Reranker was trained on (its model card).
constexpr const char* kSystem =
    "Judge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".";

Json message(const char* role, const std::string& text) {
  return Json::object().set("role", role).set("content", text);
}

Question question_about(const RankRequest& request, const std::string& document) {
  const std::string asked = "<Instruct>: " + request.instruction + "\n<Query>: " + request.query +
                            "\n<Document>: " + document;
  Question question;
  question.chat =
      Json::object()
          .set("messages",
               Json::array().push(message("system", kSystem)).push(message("user", asked)))
          .set("variables", Json::object().set("enable_thinking", false));
  return question;
}

std::int32_t word(const ServedModel& model, const char* spelled) {
  const Tokens tokens = model.engine().tokenize(spelled);
  if (tokens.size() != 1)
    throw ApiError::bad_request(std::string("this model has no token of its own for \"") + spelled +
                                "\", by which it could judge a document; ask a model of the "
                                "Qwen3-Reranker kind");
  return tokens.front();
}

}  // namespace

Ranking rank(const ServedModel& model, const RankRequest& request,
             const std::function<bool()>& is_wanted) {
  const Tokens words{word(model, "yes"), word(model, "no")};
  const std::size_t window = model.facts().engine.context_tokens;
  std::vector<Tokens> prompts;
  Ranking ranking;
  for (std::size_t i = 0; i < request.documents.size(); ++i) {
    prompts.push_back(model.prompt_of(question_about(request, request.documents[i])).tokens());
    if (prompts.back().size() > window)
      throw ApiError::too_long({prompts.back().size(), 0, window},
                               "documents[" + std::to_string(i) + "]");
    ranking.n_tokens += prompts.back().size();
  }
  const std::vector<float> logits = model.engine().score(prompts, words, watched(is_wanted));
  for (std::size_t i = 0; i < logits.size(); i += 2)  // yes / (yes + no), of exponentials
    ranking.scores.push_back(1 / (1 + std::exp(static_cast<double>(logits[i + 1]) - logits[i])));
  return ranking;
}

Json ranking_json(const Ranking& ranking, const RankRequest& request, const std::string& model) {
  std::vector<std::size_t> order(ranking.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return ranking.scores[i]; });
  if (request.n_best != 0) order.resize(std::min(order.size(), request.n_best));
  Json results = Json::array();
  for (const std::size_t i : order) {
    Json result = Json::object().set("index", i).set("relevance_score", ranking.scores[i]);
    if (request.returns_documents)
      result.set("document", Json::object().set("text", request.documents[i]));
    results.push(result);
  }
  return Json::object()
      .set("object", "list")
      .set("model", model)
      .set("usage", Json::object()
                        .set("prompt_tokens", ranking.n_tokens)
                        .set("total_tokens", ranking.n_tokens))
      .set("results", results);
}

}  // namespace pc::serve
