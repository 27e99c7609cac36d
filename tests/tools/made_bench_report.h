// A report of `promptcache bench` with one row of each kind, and figures that divide evenly.
#pragma once

#include "tools/bench/bench_report.h"

namespace pc::cli {

inline BenchReport made_report() {
  BenchSubject s;
  s.build = "1.2.3";
  s.instruction_set = "avx512";
  s.compiler = "C++ 12.2.0";
  s.machine = {"A \"fast\" CPU, of sorts", std::uint64_t{32} << 20, 31.25e9};
  s.facts = {8, 4, 1, "6.1.0", "powersave", std::uint64_t{16} << 30, "madvise", 0};
  s.load_before = 0.25;
  s.load_after = 1.75;
  s.backend = "cpu";
  s.model_path = "dir/model.gguf";
  s.model_type = "llama Q4_0";
  s.kv_type = "bf16";
  s.precision = "fast";
  s.weight_bytes = std::uint64_t{1536} << 20;
  s.n_parameters = 2'500'000'000;
  s.threads = 2;
  const std::string time = "2026-01-31T12:00:00Z";
  return {s,
          {{{{BenchCase::Kind::kPrefill, 0, 512, 0, 1}, {1, 2}, {}}, time, {}},
           {{{BenchCase::Kind::kDecode, 0, 0, 100, 1}, {4, 4}, {}}, time, 2.0},
           {{{BenchCase::Kind::kDecode, 64, 0, 100, 4}, {8}, {}}, time, 4.0},
           {{{BenchCase::Kind::kFirstToken, 1024, 32, 0, 1}, {0.1, 0.2}, {1, 4}}, time, 0.05}}};
}

}  // namespace pc::cli
