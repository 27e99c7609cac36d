// Help in 80 columns: what an option is called on the left, what it does on the
// right, folded between words. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace pc::cli {

inline constexpr std::size_t kHelpWidth = 80;
inline constexpr std::size_t kHelpLeft = 30;  // where the right side starts

std::string help_entry(std::string_view left, std::string_view right);

}  // namespace pc::cli
