#include "tools/bench/bench_table.h"

#include <catch2/catch.hpp>

#include "tests/tools/made_bench_report.h"

using namespace pc::cli;

TEST_CASE("Markdown has the columns of llama-bench, and the floors behind them") {
  CHECK(
      markdown_of({made_report()}) ==
      "| model      |     size | params | backend | threads |            test |             t/s | "
      "memory floor, t/s | reached |\n"
      "| ---------- | -------: | -----: | ------- | ------: | --------------: | --------------: | "
      "----------------: | ------: |\n"
      "| llama Q4_0 | 1.50 GiB | 2.50 B | CPU     |       2 |           pp512 | 384.00 ± 181.02 | "
      "                - |       - |\n"
      "| llama Q4_0 | 1.50 GiB | 2.50 B | CPU     |       2 |           tg100 |    25.00 ± 0.00 | "
      "            50.00 |    50 % |\n"
      "| llama Q4_0 | 1.50 GiB | 2.50 B | CPU     |       2 | 4 x tg100 @ d64 |    50.00 ± 0.00 | "
      "           100.00 |    50 % |\n"
      "\n"
      "| model      |     size | params | backend | threads |           test |  full prefill, ms | "
      "    cached, ms | times sooner | memory floor, ms |\n"
      "| ---------- | -------: | -----: | ------- | ------: | -------------: | ----------------: | "
      "-------------: | -----------: | ---------------: |\n"
      "| llama Q4_0 | 1.50 GiB | 2.50 B | CPU     |       2 | ttft32 @ d1024 | 2500.00 ± 2121.32 | "
      "150.00 ± 70.71 | 15.00 ± 7.07 |            50.00 |\n"
      "\n"
      "build: promptcache 1.2.3, avx512; states in bf16\n"
      "machine: A \"fast\" CPU, of sorts, 2 threads read 31.2 GB/s; last-level cache 32.0 MiB\n");
}

TEST_CASE("a table that would be empty is left out") {
  BenchReport only = made_report();
  only.rows.resize(2);
  const std::string text = markdown_of({only});
  CHECK(text.find("t/s") != text.npos);
  CHECK(text.find("sooner") == text.npos);
}
