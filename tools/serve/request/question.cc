#include "tools/serve/request/question.h"

#include <array>
#include <utility>

namespace pc::serve {
namespace {

constexpr std::array<std::pair<Mode, const char*>, 5> kModes = {{{Mode::kPrefix, "prefix"},
                                                                 {Mode::kMarked, "marked"},
                                                                 {Mode::kTools, "tools"},
                                                                 {Mode::kDocuments, "documents"},
                                                                 {Mode::kOff, "off"}}};

}  // namespace

const char* name_of(Mode mode) {
  for (const auto& [known, name] : kModes)
    if (known == mode) return name;
  return "unknown";
}

std::optional<Mode> mode_of(const std::string& name) {
  for (const auto& [mode, known] : kModes)
    if (known == name) return mode;
  return std::nullopt;
}

std::string mode_names() {
  std::string names;
  for (const auto& [mode, name] : kModes) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace pc::serve
