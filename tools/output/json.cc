#include "tools/output/json.h"

#include "tools/output/failure.h"

namespace pc::cli {

Json parse_report(std::string_view text) {
  // No report is null.
  Json report = Json::read(text);
  if (report.is_null())
    throw Failure(kFailure, "the library's report is not JSON; please report this defect");
  return report;
}

}  // namespace pc::cli
