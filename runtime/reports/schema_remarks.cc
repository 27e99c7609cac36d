#include "runtime/reports/schema_remarks.h"

#include <algorithm>
#include <cctype>

#include "runtime/prompt/loaded_prompt.h"  // remark_unspelled

namespace pc {
namespace {

std::string name_of(const pml::Module& module) {
  return module.path.empty() ? "the schema's anonymous text" : "module \"" + module.path + "\"";
}

// Does the text hold a date like 2024-05-31? Such text changes, and with it
// the module's key: it belongs into a parameter or the prompt.
bool has_date(const std::string& text) {
  constexpr std::string_view kShape = "dddd-dd-dd";
  for (std::size_t i = 0; i + kShape.size() <= text.size(); ++i) {
    bool fits = true;
    for (std::size_t j = 0; fits && j < kShape.size(); ++j) {
      const auto c = static_cast<unsigned char>(text[i + j]);
      fits = kShape[j] == 'd' ? std::isdigit(c) != 0 : c == '-';
    }
    if (fits) return true;
  }
  return false;
}

// Is there a scaffold of these modules?
bool has_scaffold(const pml::Layout& layout, const ImportSet& set) {
  return std::ranges::any_of(layout.scaffolds, [&](const pml::Scaffold& scaffold) {
    ImportSet paths;
    for (const std::uint32_t module : scaffold.modules)
      paths.push_back(layout.modules[module].path);
    return paths == set;
  });
}

// What a scaffold would be good for.
std::string remark_of(const ImportSet& set, std::uint64_t n, std::uint64_t n_prompts) {
  std::string modules;
  for (const std::string& path : set) modules += (modules.empty() ? "" : " ") + path;
  return std::to_string(n) + " of " + std::to_string(n_prompts) + " prompts imported " + modules +
         " together, which have not seen each other; <scaffold name=\"...\" modules=\"" + modules +
         "\"/> makes such prompts exact, for one more file";
}

// Modules that are imported together and could be encoded together, too.
void add_sets(const LoadedSchema& schema, std::vector<std::string>* remarks) {
  const ImportCounts counts = schema.import_sets().counts();
  for (const auto& [set, n] : frequent_sets(counts)) {
    const bool known = std::ranges::all_of(set, [&](const std::string& path) {
      return schema.layout().find_module(path).has_value();
    });
    if (known && !has_scaffold(schema.layout(), set))
      remarks->push_back(remark_of(set, n, counts.n_prompts));
  }
}

}  // namespace

std::vector<std::string> schema_remarks(const LoadedSchema& schema) {
  const pml::Layout& layout = schema.layout();
  const std::uint32_t window = schema.engine().context_tokens();
  std::vector<std::string> remarks;
  for (std::uint32_t i = 0; i < layout.modules.size(); ++i) {
    const pml::Module& module = layout.modules[i];
    const bool empty = module.n_tokens == 0 && module.slots.empty() && module.extent == 0;
    if (empty && i != pml::kRoot) remarks.push_back(name_of(module) + " is empty");
    std::vector<std::string> unspelled;
    remark_unspelled(schema.engine().tokenizer(), schema.own_text(i), &unspelled);
    for (const std::string& remark : unspelled) remarks.push_back(name_of(module) + ": " + remark);
    if (has_date(schema.own_text(i))) {
      remarks.push_back(
          name_of(module) +
          " holds a date: when it changes, the module is encoded anew; a parameter would not be");
    }
  }
  add_sets(schema, &remarks);
  for (const auto& of : schema.modules()) {
    const Status fits = schema.check_size(*of);
    if (!fits.ok()) remarks.push_back(fits.error().message);
  }
  if (layout.positions == pml::Positions::kSchema && layout.extent > window) {
    remarks.push_back(
        "the schema's positions reach " + std::to_string(layout.extent) +
        ", beyond the context window of " + std::to_string(window) +
        (schema.engine().model().relocates()
             ? "; positions=\"compact\" has no such limit"
             : "; the model's states, bound to their positions, have no other places"));
  }
  return remarks;
}

}  // namespace pc
