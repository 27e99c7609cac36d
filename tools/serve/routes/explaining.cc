#include "tools/serve/routes/explaining.h"

#include "tools/serve/request/api_error.h"

namespace pc::serve {

Json explain(Planner* planner, const Question& question) {
  if (question.n_prompts() > 1)
    throw ApiError::bad_request("prompt must be one prompt here, not a list of them", "prompt");
  const Plan plan = planner->plan(question, false);
  Json remarks = Json::array();
  for (const std::string& remark : plan.remarks) remarks.push(remark);
  return cli::parse_report(plan.prompt.explain())
      .set("mode", name_of(question.mode))
      .set("used", name_of(plan.mode))
      .set("exact", plan.exact)
      .set("remarks", remarks);
}

}  // namespace pc::serve
