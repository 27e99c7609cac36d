#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {

ExitCode tokenize(const Options& options) {
  const bool from_input = options.text.empty() || options.text.front() == "-";
  const std::string text = from_input ? read_document("-").text : options.text.front();
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  Json list = Json::array();
  Table table({{"id", Table::Align::kRight}, {"piece"}});
  const auto tokens = engine.tokenize(text);
  for (const std::int32_t& token : tokens) {
    const std::string piece = engine.detokenize(&token, 1);
    table.add_row({std::to_string(token), "\"" + printable(piece) + "\""});
    list.push(Json::object().set("id", static_cast<std::uint32_t>(token)).set("piece", piece));
  }
  print(options.json ? Json::object().set("count", tokens.size()).set("tokens", list).dump() + "\n"
                     : table.text() + format_count(tokens.size(), "token") + "\n");
  return kSuccess;
}

}  // namespace pc::cli
