// Puts documents in order by how well they answer a query, as models of the Qwen3-Reranker kind do:
// the model is asked whether a document meets the query, and its probability of "yes" beside "no"
// is the document's score.
//
// The question is a chat of the model's own template, without thoughts; what the query and the
// documents spell is text in it. Threads: any; blocks as long as the model computes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/serve/models/served_model.h"
#include "tools/serve/texts/text_job.h"

namespace pc::serve {

struct Ranking {
  std::vector<double> scores;  // [documents], 0 to 1
  std::uint64_t n_tokens = 0;  // of all prompts
};

// is_wanted: asked after each step. Throws ApiError.
Ranking rank(const ServedModel& model, const RankRequest& request,
             const std::function<bool()>& is_wanted);

// {"model", "object", "usage", "results": [{"index", "relevance_score", "document"}]}, the best
// first.
Json ranking_json(const Ranking& ranking, const RankRequest& request, const std::string& model);

}  // namespace pc::serve
