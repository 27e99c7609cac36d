#include "tools/exchange/selection.h"

#include "tools/opening/open.h"

namespace pc::cli {

void collect_keys(const Json& modules, ModuleKeys* keys) {
  for (const Json& module : modules.items())
    if (!module["key"].is_null()) keys->insert(module["key"].text());
}

ModuleKeys keys_in_lines(const std::string& lines) {
  ModuleKeys keys;
  for (std::size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1)
    keys.insert(lines.substr(at, end - at));
  return keys;
}

ModuleKeys keys_of_schema(const Options& options) {
  const promptcache::Engine engine = open_engine(options, PC_CACHE_READ_ONLY);
  const promptcache::Schema schema = load_schema(engine, options);
  ModuleKeys keys;
  const Json report = parse_report(schema.describe());
  if (options.prompts.empty())
    for (const char* const kind : {"modules", "scaffolds"}) collect_keys(report[kind], &keys);
  for (const std::string& path : options.prompts)
    collect_keys(parse_report(parse_prompt(schema, read_document(path)).explain())["modules"],
                 &keys);
  return keys;
}

ModuleKeys keys_named(const std::vector<std::string>& names, const ModuleKeys& known,
                      const std::string& where) {
  ModuleKeys keys;
  for (const std::string& name : names) {
    const auto first = known.lower_bound(name);
    if (name.empty() || first == known.end() || !first->starts_with(name))
      throw Failure(kModelOrStore, "no module in " + where + " begins with \"" + name + "\"");
    if (const auto next = std::next(first); next != known.end() && next->starts_with(name))
      throw Failure(kUsage, "more than one module in " + where + " begins with \"" + name + "\"");
    keys.insert(*first);
  }
  return keys;
}

}  // namespace pc::cli
