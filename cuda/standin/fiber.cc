#include "cuda/standin/fiber.h"

#include <sys/mman.h>

#include <cstdint>

#include "cuda/standin/fatal.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PC_FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define PC_FIBER_TSAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define PC_FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define PC_FIBER_TSAN
#endif

extern "C" {
// Pushes what a function must keep, stores the stack pointer, takes the other one and pops.
[[gnu::visibility("hidden")]] void pc_cuda_standin_switch(void** stored, void* taken);
#ifdef PC_FIBER_ASAN
void __asan_unpoison_memory_region(const volatile void* address, std::size_t bytes);
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* bytes);
#endif
#ifdef PC_FIBER_TSAN
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
#endif
}

#if defined(__x86_64__)
asm(R"(
.pushsection .text
.balign 16
.globl pc_cuda_standin_switch
.hidden pc_cuda_standin_switch
.type pc_cuda_standin_switch, @function
pc_cuda_standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size pc_cuda_standin_switch, . - pc_cuda_standin_switch
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.balign 16
.globl pc_cuda_standin_switch
.hidden pc_cuda_standin_switch
.type pc_cuda_standin_switch, %function
pc_cuda_standin_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size pc_cuda_standin_switch, . - pc_cuda_standin_switch
.popsection
)");
#else
#error "the CUDA stand-in switches fibers on x86-64 and aarch64"
#endif

namespace pc::cuda::standin {
namespace {

// The largest page of either architecture; stacks are committed as they are touched. The
// sanitizers' frames are several times larger than others.
constexpr std::size_t kGuardBytes = 64 << 10;
constexpr std::size_t kStackBytes = 256 << 10;

// Tops of stacks: 16 of them, 256 bytes apart.
constexpr std::size_t kTops = 16;
constexpr std::size_t kTopBytes = 256;

// What is switched to, for begin(); never read on another OS thread.
constinit thread_local Fiber* arriving = nullptr;
#ifdef PC_FIBER_ASAN
constinit thread_local Fiber* departed = nullptr;
#endif

// What pc_cuda_standin_switch pops, and where it then goes.
void* first_frame(std::byte* top, void (*begin)()) {
  auto* word = reinterpret_cast<std::uint64_t*>(top);
  const auto address = reinterpret_cast<std::uint64_t>(begin);
#if defined(__x86_64__)
  constexpr int kKept = 6;
  *--word = 0;  // where begin() would return to
  *--word = address;
  for (int i = 0; i < kKept; ++i) *--word = 0;
#else
  constexpr int kKept = 20, kLink = 11;
  word -= kKept;
  for (int i = 0; i < kKept; ++i) word[i] = i == kLink ? address : 0;
#endif
  return word;
}

}  // namespace

Fiber::Fiber() {
#ifdef PC_FIBER_TSAN
  shadow_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*entry)(Fiber&), std::size_t number) : entry_(entry), bytes_(kStackBytes) {
  void* mapped = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED || mprotect(mapped, kGuardBytes, PROT_NONE) != 0)
    stop("there is no memory for stack %zu of a kernel's threads", number);
  mapping_ = static_cast<std::byte*>(mapped);
  bottom_ = mapping_ + kGuardBytes;
  std::byte* top = mapping_ + kGuardBytes + kStackBytes - number % kTops * kTopBytes;
  stack_pointer_ = first_frame(top, &Fiber::begin);
#ifdef PC_FIBER_TSAN
  shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (!mapping_) return;
#ifdef PC_FIBER_TSAN
  __tsan_destroy_fiber(shadow_);
#endif
#ifdef PC_FIBER_ASAN
  // Frames that never returned left their borders, for whoever is given this memory next.
  __asan_unpoison_memory_region(bottom_, kStackBytes);
#endif
  munmap(mapping_, kGuardBytes + kStackBytes);
}

void Fiber::switch_to(Fiber& other) {
  arriving = &other;
#ifdef PC_FIBER_ASAN
  departed = this;
  __sanitizer_start_switch_fiber(&fake_stack_, other.bottom_, other.bytes_);
#endif
#ifdef PC_FIBER_TSAN
  __tsan_switch_to_fiber(other.shadow_, 0);
#endif
  pc_cuda_standin_switch(&stack_pointer_, other.stack_pointer_);
  arrive();
}

void Fiber::arrive() {
#ifdef PC_FIBER_ASAN
  // Of the OS thread's own stack nobody but the sanitizer knows the bounds.
  __sanitizer_finish_switch_fiber(fake_stack_, &departed->bottom_, &departed->bytes_);
#endif
}

void Fiber::begin() {
  Fiber& self = *arriving;
  self.arrive();
  self.entry_(self);
  stop("a fiber returned");
}

}  // namespace pc::cuda::standin
