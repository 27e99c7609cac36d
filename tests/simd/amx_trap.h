// Runs the real AMX code on a CPU that has none: each of its instructions raises
// SIGILL, whose handler decodes it and does on the stand-in's tiles what it would
// have done. So the bytes that were compiled are tested, not only their source.
//
// While a Trap lives the process's SIGILL is its: one at a time, for all threads.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "tests/simd/amx_stand_in.h"

namespace pc::simd::stand_in {

// VEX.128.{NP,F3,F2}.0F38.W0 op /r: the form of all six.
class Instruction {
 public:
  explicit Instruction(const ucontext_t& context)
      : registers_(context.uc_mcontext.gregs),
        at_(reinterpret_cast<const unsigned char*>(registers_[REG_RIP])) {
    read();
  }

  // Its length, or 0 for anything else: nothing was done then.
  int run() {
    const bool registers = modrm_ >> 6 == 3;
    if (is(0, 0x49) && modrm_ == 0xc0) return release(), length_;
    if (is(0, 0x49) && !registers && reg() == 0) return configure(memory()), length_;
    if (is(3, 0x49) && registers) return zero(reg()), length_;
    if (is(3, 0x4b) && !registers && has_sib_) return load(reg(), memory(), stride_), length_;
    if (is(2, 0x4b) && !registers && has_sib_) return store(reg(), memory(), stride_), length_;
    if (is(2, 0x5c) && registers) return dot_bf16(reg(), modrm_ & 7, ~vex_[1] >> 3 & 7), length_;
    return 0;
  }

 private:
  // pp of the prefix: 0 none, 2 F3, 3 F2. Map 2 is 0F38; W and L are 0.
  bool is(int pp, int opcode) const {
    return at_[0] == 0xc4 && (vex_[0] & 31) == 2 && (vex_[1] & 0x87) == pp && at_[3] == opcode;
  }
  int reg() const { return modrm_ >> 3 & 7; }
  unsigned char* memory() const { return reinterpret_cast<unsigned char*>(address_); }

  std::uint64_t value(int number) const {
    constexpr int kNames[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<std::uint64_t>(registers_[kNames[number]]);
  }

  void read() {
    std::memcpy(vex_, at_ + 1, 2);
    modrm_ = at_[4];
    const int mod = modrm_ >> 6, rm = modrm_ & 7;
    const int extend_index = (vex_[0] & 0x40) ? 0 : 8, extend_base = (vex_[0] & 0x20) ? 0 : 8;
    int base = rm;
    length_ = 5;
    if (mod == 3) return;
    has_sib_ = rm == 4;
    if (has_sib_) {
      const int sib = at_[length_++], index = (sib >> 3 & 7) + extend_index;
      if (index != 4) stride_ = value(index) << (sib >> 6);
      base = sib & 7;
    }
    const int displacement = mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
    std::int32_t offset = 0;
    if (displacement == 1) offset = static_cast<std::int8_t>(at_[length_]);
    if (displacement == 4) std::memcpy(&offset, at_ + length_, 4);
    length_ += displacement;
    address_ = static_cast<std::uint64_t>(std::int64_t{offset});
    if (mod != 0 || base != 5) {
      address_ += value(base + extend_base);
    } else if (!has_sib_) {
      address_ += reinterpret_cast<std::uint64_t>(at_) + static_cast<unsigned>(length_);
    }
  }

  const greg_t* registers_;
  const unsigned char* at_;
  unsigned char vex_[2];
  int modrm_ = 0, length_ = 0;
  bool has_sib_ = false;
  std::uint64_t address_ = 0, stride_ = 0;
};

class Trap {
 public:
  Trap() {
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
      const int length = Instruction(*static_cast<ucontext_t*>(context)).run();
      if (length == 0) ::signal(SIGILL, SIG_DFL);  // and it comes again
      registers[REG_RIP] += length;
    };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGILL, &action, &before_);
  }
  ~Trap() { ::sigaction(SIGILL, &before_, nullptr); }
  Trap(const Trap&) = delete;
  Trap& operator=(const Trap&) = delete;

 private:
  struct sigaction before_;
};

}  // namespace pc::simd::stand_in
