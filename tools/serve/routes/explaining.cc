#include "tools/serve/routes/explaining.h"

namespace pc::serve {

Json explain(Planner* planner, const Question& question) {
  const Plan plan = planner->plan(question, false);
  Json remarks = Json::array();
  for (const std::string& remark : plan.remarks) remarks.push(remark);
  return Json::parse(plan.prompt.explain())
      .set("mode", name_of(question.mode))
      .set("used", name_of(plan.mode))
      .set("exact", plan.exact)
      .set("remarks", remarks);
}

}  // namespace pc::serve
