#include "runtime/reports/schema_remarks.h"

#include <cctype>

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

std::string own_text(const LoadedSchema& schema, const pml::Module& module) {
  const pml::Layout& layout = schema.layout();
  std::string text;
  for (const std::uint32_t index : module.own) {
    const pml::Item& item = layout.items[index];
    if (item.kind != pml::ItemKind::kPiece) continue;
    for (const TokenId token : layout.pieces[item.index].tokens) {
      schema.engine().tokenizer().append_bytes(token, &text);
    }
  }
  return text;
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
    if (has_date(own_text(schema, module))) {
      remarks.push_back(
          name_of(module) +
          " holds a date: when it changes, the module is encoded anew; a parameter would not be");
    }
  }
  for (const auto& of : schema.modules()) {
    const Status fits = schema.check_size(*of);
    if (!fits.ok()) remarks.push_back(fits.error().message);
  }
  if (layout.positions == pml::Positions::kSchema && layout.extent > window) {
    remarks.push_back("the schema's positions reach " + std::to_string(layout.extent) +
                      ", beyond the context window of " + std::to_string(window) +
                      (schema.engine().model().relocates()
                           ? "; positions=\"compact\" has no such limit"
                           : "; the model's learned positions allow no other places"));
  }
  return remarks;
}

}  // namespace pc
