// Fuzzes manifests: what is read is written as it was, and finds each of its keys.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "modules/tiers/manifest.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = pc::Manifest::parse(text);
  if (!manifest.ok()) return 0;
  require(manifest->text() == text);
  for (const pc::ManifestEntry& entry : manifest->entries())
    require(manifest->find(entry.key) == &entry);
  return 0;
}
