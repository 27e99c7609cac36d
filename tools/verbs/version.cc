#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {

ExitCode version(const Options& options) {
  const std::string report = promptcache::build_describe();
  const Json json = parse_report(report);
  Table table({{}, {}});
  table.add_row({"instruction set", cell(json["isa"]["selected"]) + " (this machine has: " +
                                        cell(json["isa"]["supported"]) + ")"});
  const std::string timed_on = cell(json["isa"]["timed_on"]);
  table.add_row({"timed on", timed_on == "-" ? "none yet: tested only" : timed_on});
  table.add_row({"matrix products", cell(json["matrix"])});
  table.add_row({"threads", cell(json["threads"])});
  table.add_row({"compiler", cell(json["compiler"])});
  print(options.json ? report + "\n"
                     : "promptcache " + std::string(pc_version()) + "\n" + table.text());
  return kSuccess;
}

}  // namespace pc::cli
