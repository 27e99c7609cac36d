// Byte counts, durations and counts as people write and read them.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pc::cli {

// "8GiB", "512M", "1.5G", "4096": K, M, G and T, alone or as KiB..TiB, are
// powers of 1024; KB..TB are powers of 1000; case does not matter. Nothing for
// anything else, and for more than 2^64 - 1 bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

std::string format_size(std::uint64_t bytes);                      // "480.0 KiB"
std::string format_duration(std::uint64_t microseconds);           // "12.4 ms", "1.93 s"
std::string format_count(std::uint64_t n, std::string_view noun);  // "1 file", "2 files"

}  // namespace pc::cli
