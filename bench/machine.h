// What this machine can do, measured in the run that uses it as a floor:
// the bandwidth of reading memory, and the peak of multiply-adds in registers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace pc::bench {

// Seconds since some start: of the wall clock; or, for work of one thread, of
// the process's CPU time, which the load of others does not enter.
double now_seconds(std::uint32_t threads);

struct Machine {
  std::string cpu;  // as /proc/cpuinfo names it
  std::uint32_t threads = 1;
  double read_gb_per_s = 0;  // ReadProbe's
  double f32_gflops = 0;     // FMA chains in registers, all threads
  double bf16_gflops = 0;    // AVX512_BF16 or AMX likewise; 0 where both are missing
  double int8_gops = 0;      // products of bytes likewise, by AMX, VNNI or else AVX2; or 0

  // What multiplies weights of these types fastest here.
  double best_bf16() const { return bf16_gflops > f32_gflops ? bf16_gflops : f32_gflops; }
  double best_int8() const { return int8_gops > best_bf16() ? int8_gops : best_bf16(); }
};

// The bandwidth of reading one array of 512 MiB, which it owns: in large pages, as the library
// has its files, by all threads.
class ReadProbe {
 public:
  explicit ReadProbe(std::uint32_t threads);
  double gb_per_s(int tries) const;  // the best of them; 10 to 20 ms each

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::uint32_t threads_;
  std::unique_ptr<float, Free> data_;
};

// Takes about a second; the best of several tries, since others use the machine too.
Machine measure_machine(std::uint32_t threads);

}  // namespace pc::bench
