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
      "machine: A \"fast\" CPU, of sorts, 2 threads read 31.2 GB/s; last-level cache 32.0 MiB\n"
      "system: kernel 6.1.0, 4 cores on 1 socket, governor powersave, memory 16.0 GiB, huge pages "
      "madvise; load average 0.25 before, 1.75 after\n");
}

TEST_CASE("types of states have columns where there are several, and threads each their line") {
  BenchReport other = made_report();
  other.subject.kv_type = "q8";
  other.subject.threads = 1;
  other.subject.machine.read_bytes_per_s = 20e9;
  const std::string text = markdown_of({made_report(), other});
  CHECK(text.find("| threads | type_k | type_v |") != text.npos);
  CHECK(text.find("|       2 |   bf16 |   bf16 |           pp512 |") != text.npos);
  CHECK(text.find("|       1 |     q8 |     q8 |           pp512 |") != text.npos);
  CHECK(text.find("states in bf16, q8\n") != text.npos);
  CHECK(text.find(", 2 threads read 31.2 GB/s, 1 thread reads 20.0 GB/s;") != text.npos);
  CHECK(markdown_of({}).empty());
}

TEST_CASE("a table that would be empty is left out") {
  BenchReport only = made_report();
  only.rows.resize(2);
  const std::string text = markdown_of({only});
  CHECK(text.find("t/s") != text.npos);
  CHECK(text.find("sooner") == text.npos);
}
