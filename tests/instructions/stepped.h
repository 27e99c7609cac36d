// Counts instructions by the CPU's single steps: what callgrind cannot, which knows no AVX-512.
// AMX's instructions are done by the stand-in, whether the CPU has them or not, and count as one.
//
// While a path is counted the process's SIGTRAP is ours; one path at a time, one thread.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/simd/amx_trap.h"

namespace pc::test {

class Stepped {
 public:
  // Addresses of what `path` executed, in order, with a few of the counting itself at both ends.
  template <class Path>
  static const std::vector<std::uintptr_t>& run(const Path& path) {
    struct sigaction action = {}, before;
    action.sa_sigaction = take_step;
    action.sa_flags = SA_SIGINFO;
    executed_.clear();
    executed_.reserve(kMost);  // the handler allocates nothing
    ::sigaction(SIGTRAP, &action, &before);
    begin();
    path();
    end();
    ::sigaction(SIGTRAP, &before, nullptr);
    return executed_;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 22;

  // The step's flag, set and cleared behind the stack's red zone.
  __attribute__((noinline)) static void begin() {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  }
  __attribute__((noinline)) static void end() {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  }

  // Before the instruction that comes next.
  static void take_step(int, siginfo_t*, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto note = [&] {
      const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
      if (executed_.size() < kMost && (executed_.empty() || executed_.back() != at))
        executed_.push_back(at);
    };
    note();
    while (const int length =
               simd::stand_in::Instruction(*static_cast<ucontext_t*>(context)).run()) {
      registers[REG_RIP] += length;
      note();
    }
  }

  static inline std::vector<std::uintptr_t> executed_;
};

}  // namespace pc::test
