// Lists of numbers as llama-bench reads them: commas between them, and ranges, "first-last",
// "first-last+step" and "first-last*factor", whose last number need not be met. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pc::cli {

// "16,512-2048*2": 16, 512, 1024, 2048. None, and why ("...is not a range"), for what is no such
// list, a range that is empty or does not end, and more than 10,000 numbers.
std::optional<std::vector<std::uint32_t>> parse_number_list(std::string_view text,
                                                            std::string* why);

}  // namespace pc::cli
