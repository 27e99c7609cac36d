// What can this machine do at most?
//
//   machine_bench [--threads 0]
//
// Prints one JSON object: the CPU's name, the bandwidth of reading memory and
// the peak of multiply-adds in registers for f32, bf16 and int8, with all
// threads that the process may use. bench/report.py and the comparisons with
// peers take their floors from it.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/parallel.h"
#include "bench/machine.h"
#include "runtime/json/json_writer.h"

int main(int argc, char** argv) {
  const bool given = argc == 3 && std::strcmp(argv[1], "--threads") == 0;
  if (argc != 1 && !given) {
    std::fprintf(stderr, "usage: machine_bench [--threads N]\n");
    return 2;
  }
  const auto asked = given ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 0u;
  const pc::bench::Machine m = pc::bench::measure_machine(asked ? asked : pc::usable_threads());
  std::string text;
  pc::JsonWriter json(&text);
  json.begin_object().key("cpu").value(m.cpu).key("threads").value(m.threads);
  json.key("read_gb_per_s").value(m.read_gb_per_s).key("f32_gflops").value(m.f32_gflops);
  json.key("bf16_gflops").value(m.bf16_gflops).key("int8_gops").value(m.int8_gops).end_object();
  std::printf("%s\n", text.c_str());
}
