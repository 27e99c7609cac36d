// Fuzzes files of hints: whatever a file holds, it says nothing or names keys, at most as many as
// it may have, and takes another link afterwards.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "modules/link_hints.h"
#include "tests/support/temp_folder.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const pc::test::TempFolder folder;
  static const pc::LinkHints hints = pc::LinkHints::open(folder.path(), true);
  const pc::Digest place{7};
  const std::string path = folder.path() + "/v3/next/" + pc::to_hex(place);
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  std::vector<std::int32_t> tokens(64);
  std::iota(tokens.begin(), tokens.end(), 1);
  require(hints.likely(place, tokens).size() <= pc::LinkHints::kMostRecords);
  const pc::ModuleKey key{pc::Digest{9}};
  hints.add(place, tokens, key);
  const auto keys = hints.likely(place, tokens);
  require(std::ranges::find(keys, key) != keys.end());
  return 0;
}
