#include "pml/layout/scaffold.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "pml/syntax/names.h"

namespace pc::pml {
namespace {

Error scaffold_error(const SchemaScaffold& scaffold, const std::string& what) {
  return broken_rule(scaffold.place, "scaffold " + quote(scaffold.name) + ": " + what);
}

// The index behind each path of the list, in document order.
Result<std::vector<std::uint32_t>> scaffold_modules(const SchemaScaffold& scaffold,
                                                    const Layout& layout) {
  std::vector<std::uint32_t> modules;
  for (const std::string& path : scaffold.modules) {
    const auto index = layout.find_module(path);
    if (!index) {
      std::vector<std::string_view> known;
      for (const Module& module : layout.modules)
        if (!module.path.empty()) known.push_back(module.path);
      return scaffold_error(scaffold, "there is no module " + quote(path) + name_hint(path, known));
    }
    if (!layout.modules[*index].cache)
      return scaffold_error(scaffold,
                            quote(path) + " has cache=\"false\" and cannot be encoded ahead");
    modules.push_back(*index);
  }
  std::sort(modules.begin(), modules.end());
  const auto twice = std::adjacent_find(modules.begin(), modules.end());
  if (twice != modules.end())
    return scaffold_error(scaffold, quote(layout.modules[*twice].path) + " is listed twice");
  return modules;
}

}  // namespace

Result<Scaffold> lay_out_scaffold(const SchemaScaffold& written, const Layout& layout) {
  Scaffold scaffold;
  scaffold.name = written.name;
  PC_TRY(scaffold.modules, scaffold_modules(written, layout));
  std::unordered_map<std::uint32_t, std::uint32_t> member_of;
  for (const std::uint32_t index : scaffold.modules) {
    const Module& module = layout.modules[index];
    const std::string path = quote(module.path);
    if (module.parent != kRoot &&
        !std::binary_search(scaffold.modules.begin(), scaffold.modules.end(), module.parent))
      return scaffold_error(written, path + " is inside " +
                                         quote(layout.modules[module.parent].path) +
                                         ", which must be listed too");
    if (module.union_id == kNone) continue;
    const auto [other, first] = member_of.emplace(module.union_id, index);
    if (!first)
      return scaffold_error(written, quote(layout.modules[other->second].path) + " and " + path +
                                         " are members of one union and never imported together");
  }
  return scaffold;
}

}  // namespace pc::pml
