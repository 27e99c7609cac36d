#include "tools/answers/approximation.h"

#include <cstddef>
#include <set>

namespace pc::cli {

// Arguments and nested modules cut a module into several runs; anonymous text has no name.
std::string approximation(const Json& plan, const std::string& repair) {
  std::set<std::string> modules, unaware;
  for (const Json& run : plan["runs"].items()) {
    if (run["kind"].text() != "cached") continue;
    const std::string name = run["label"].text();
    modules.insert(name);
    const bool is_exact = !run["exact"].is_boolean() || run["exact"].truth();
    const bool is_anew = (repair.empty() ? run["repair"].text() : repair) == "all";
    if (!is_exact && !is_anew) unaware.insert(name);
  }
  if (unaware.empty()) return "";
  return std::to_string(unaware.size()) + " of " + std::to_string(modules.size()) +
         " modules have not seen what stands before them here: the answer is approximate";
}

}  // namespace pc::cli
