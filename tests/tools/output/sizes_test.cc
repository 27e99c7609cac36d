#include "tools/output/sizes.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

TEST_CASE("sizes are read in powers of 1024, with B alone in powers of 1000") {
  CHECK(parse_size("0") == 0u);
  CHECK(parse_size("4096") == 4096u);
  CHECK(parse_size("4096B") == 4096u);
  CHECK(parse_size("1K") == 1024u);
  CHECK(parse_size("1KiB") == 1024u);
  CHECK(parse_size("1kb") == 1000u);
  CHECK(parse_size("512M") == 512ull << 20);
  CHECK(parse_size("8GiB") == 8ull << 30);
  CHECK(parse_size("8gib") == 8ull << 30);
  CHECK(parse_size("2GB") == 2'000'000'000u);
  CHECK(parse_size("1.5G") == 3ull << 29);
  CHECK(parse_size("3TiB") == 3ull << 40);
  CHECK(parse_size("16777215T") == 16777215ull << 40);
}

TEST_CASE("what is no size is refused") {
  for (const char* text : {"", " ", "K", "-1", "-1K", "1 K", "1Q", "1KK", "1KiBs", "1i", "0x10",
                           "1e3", "inf", "nan", "16777216T", "99999999999999999999999", "٣"}) {
    INFO(text);
    CHECK(!parse_size(text));
  }
  CHECK(!parse_size(std::string_view("1K\0", 3)));
}

TEST_CASE("what is printed as a size reads back as nearly the same") {
  for (std::uint64_t bytes = 1; bytes < 1ull << 50; bytes = bytes * 7 / 3 + 1) {
    std::string text = format_size(bytes);
    text.erase(text.find(' '), 1);
    const auto again = parse_size(text);
    REQUIRE(again);
    CHECK(static_cast<double>(*again) == Approx(static_cast<double>(bytes)).epsilon(0.051));
  }
}

TEST_CASE("sizes, durations and counts never print a figure that rounds into the next unit") {
  CHECK(format_size(0) == "0 B");
  CHECK(format_size(1023) == "1023 B");
  CHECK(format_size(1024) == "1.0 KiB");
  CHECK(format_size((1 << 20) - 1) == "1.0 MiB");
  CHECK(format_size(8ull << 30) == "8.0 GiB");
  CHECK(format_duration(0) == "0.0 ms");
  CHECK(format_duration(12'400) == "12.4 ms");
  CHECK(format_duration(99'949) == "99.9 ms");
  CHECK(format_duration(99'951) == "100 ms");
  CHECK(format_duration(999'499) == "999 ms");
  CHECK(format_duration(999'501) == "1.00 s");
  CHECK(format_duration(61'230'000) == "61.23 s");
  CHECK(format_count(0, "file") == "0 files");
  CHECK(format_count(1, "file") == "1 file");
}
