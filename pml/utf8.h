// Is this UTF-8? Pure. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pc::pml {

// Offset of the first byte that cannot belong to UTF-8 (overlong forms,
// surrogates and cut-off characters included); nullopt where all is well.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

}  // namespace pc::pml
