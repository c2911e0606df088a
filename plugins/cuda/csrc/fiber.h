// A stack for each thread of a block, and the switch between two of them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#if !defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_UCONTEXT
#endif
#ifdef SIMT_UCONTEXT
#ifdef __APPLE__
#define _XOPEN_SOURCE 700
#endif
#include <ucontext.h>
#endif

namespace simt {

// A thread's own variables may have 512 KB, as on a GPU; only the pages that are used cost memory.
constexpr size_t STACK = 576 << 10;
// A larger array ends in the gap below, which belongs to nothing. The odd page keeps the stacks of
// a block from sharing the same lines of the processor's caches.
constexpr size_t STACK_GAP = (1 << 20) + (4 << 10);

#ifdef SIMT_UCONTEXT

// For processors without the switch below: six times slower, as it also saves the signal mask.
struct Context {
    ucontext_t at;
};

inline void prepare(Context& context, char* low, void (*entry)()) {
    getcontext(&context.at);
    context.at.uc_stack.ss_sp = low;
    context.at.uc_stack.ss_size = STACK;
    context.at.uc_link = nullptr;
    makecontext(&context.at, entry, 0);
}

inline void swap(Context& from, Context& to) { swapcontext(&from.at, &to.at); }

#else

struct Context {
    void* top = nullptr;
};

// Keeps the registers that the System V ABI requires a called function to keep.
extern "C" void simt_switch(void** from, void* to);
asm(R"(
    .text
    .hidden simt_switch
    .globl simt_switch
    .type simt_switch, @function
simt_switch:
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
    .size simt_switch, . - simt_switch
)");

inline void prepare(Context& context, char* low, void (*entry)()) {
    // Aligned as after a call, with a return address for the entry, which never returns.
    auto* top = reinterpret_cast<uintptr_t*>((reinterpret_cast<uintptr_t>(low) + STACK) & ~15ul);
    *--top = 0;
    *--top = reinterpret_cast<uintptr_t>(entry);
    for (int saved = 0; saved < 6; ++saved) *--top = 0;
    context.top = top;
}

inline void swap(Context& from, Context& to) { simt_switch(&from.top, to.top); }

#endif

// Stacks with a gap below each, kept for the next launch.
class Stacks {
  public:
    char* at(size_t index) {
        while (lows.size() <= index) {
            void* found = mmap(nullptr, STACK_GAP + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (found == MAP_FAILED) std::abort();
            char* low = static_cast<char*>(found) + STACK_GAP;
            if (mprotect(low, STACK, PROT_READ | PROT_WRITE)) std::abort();
            lows.push_back(low);
        }
        return lows[index];
    }

  private:
    std::vector<char*> lows;
};

}  // namespace simt
