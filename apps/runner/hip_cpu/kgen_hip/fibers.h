/// \file
/// Fibers: stacks, and the switch between them. A thread of a kernel that waits keeps its stack; all fibers run on the
/// thread that launched the kernel.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

extern "C" {
/// Saves the registers that a call preserves on the running stack, stores its address in *from, and goes on with the
/// stack `to`.
__attribute__((visibility("hidden"))) void kgen_hip_switch(void** from, void* to);
/// The first instructions of a fiber. They end the chain of frames and call kgen_hip_fiber_main().
__attribute__((visibility("hidden"))) void kgen_hip_fiber_start();
__attribute__((visibility("hidden"), used, noreturn)) void kgen_hip_fiber_main();
}

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.hidden kgen_hip_switch
.globl kgen_hip_switch
.type kgen_hip_switch, @function
kgen_hip_switch:
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
.size kgen_hip_switch, . - kgen_hip_switch
.p2align 4
.hidden kgen_hip_fiber_start
.globl kgen_hip_fiber_start
.type kgen_hip_fiber_start, @function
kgen_hip_fiber_start:
  xorl %ebp, %ebp
  call kgen_hip_fiber_main
  ud2
.size kgen_hip_fiber_start, . - kgen_hip_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.hidden kgen_hip_switch
.globl kgen_hip_switch
.type kgen_hip_switch, %function
kgen_hip_switch:
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
.size kgen_hip_switch, . - kgen_hip_switch
.p2align 4
.hidden kgen_hip_fiber_start
.globl kgen_hip_fiber_start
.type kgen_hip_fiber_start, %function
kgen_hip_fiber_start:
  mov x29, xzr
  bl kgen_hip_fiber_main
  brk #1
.size kgen_hip_fiber_start, . - kgen_hip_fiber_start
)");
#else
#error "HIP kernels are executed on x86-64 and aarch64 only"
#endif

namespace kgen_hip {

/// One stack, and the place where its fiber goes on.
struct Fiber {
  void* resume = nullptr;
  char* top = nullptr;
};

/// Bytes of a stack. Only what a fiber touches is memory; a private array of a kernel lies here.
constexpr std::size_t k_stack_bytes = 128 << 10;
/// The largest page of the processor, which mprotect() takes.
#if defined(__x86_64__)
constexpr std::size_t k_guard_bytes = 4 << 10;
#else
constexpr std::size_t k_guard_bytes = 64 << 10;
#endif
constexpr std::size_t k_stacks_of_a_mapping = 32;
/// A guard page below each stack splits a mapping, and a process may have some 65,000 of them.
constexpr std::size_t k_guarded_stacks = 12'000;
/// Threads that may wait at the same time.
constexpr std::size_t k_max_fibers = 33'000;

/// Owns all stacks, and hands out those that are not in use.
class FiberPool {
 public:
  FiberPool() = default;
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// Returns a fiber at its beginning, or one that has ended a thread.
  Fiber* take() {
    if (idle_.empty()) grow();
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  void give_back(Fiber* fiber) { idle_.push_back(fiber); }

  /// Forgets what all fibers did: after a failure their threads never go on.
  void reset() {
    idle_.clear();
    for (Fiber* fiber : all_) {
      prepare(*fiber);
      idle_.push_back(fiber);
    }
  }

 private:
  void grow() {
    constexpr std::size_t k_each = k_stack_bytes + k_guard_bytes;
    void* memory = mmap(nullptr, k_each * k_stacks_of_a_mapping, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the stacks of the kernel's threads");
    for (std::size_t i = 0; i < k_stacks_of_a_mapping; ++i) {
      char* low = static_cast<char*>(memory) + i * k_each;
      if (all_.size() < k_guarded_stacks) mprotect(low, k_guard_bytes, PROT_NONE);
      // Stacks that begin at different lines of the cache do not evict each other.
      auto* fiber = new Fiber{nullptr, low + k_each - (all_.size() % 32) * 128};
      prepare(*fiber);
      all_.push_back(fiber);
      idle_.push_back(fiber);
    }
  }

  static void prepare(Fiber& fiber) {
    auto** slots = reinterpret_cast<void**>(fiber.top);
    auto* start = reinterpret_cast<void*>(&kgen_hip_fiber_start);
#if defined(__x86_64__)
    // Six registers and the return address. kgen_hip_fiber_start begins at a multiple of 16, as its call needs.
    slots -= 9;
    for (int i = 0; i < 6; ++i) slots[i] = nullptr;
    slots[6] = start;
#else
    slots -= 20;
    for (int i = 0; i < 20; ++i) slots[i] = nullptr;
    slots[11] = start;
#endif
    fiber.resume = slots;
  }

  std::vector<Fiber*> all_;
  std::vector<Fiber*> idle_;
};

}  // namespace kgen_hip
