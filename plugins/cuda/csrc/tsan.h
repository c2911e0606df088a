// What -fsanitize=thread calls: each access of a kernel comes in here.
#pragma once

#include "accesses.h"

#define PLAIN_ACCESS(NAME, BYTES, KIND)                                                                  \
    extern "C" void __tsan_##NAME(void* address) {                                                       \
        simt::touch(reinterpret_cast<uintptr_t>(address), BYTES, simt::Kind::KIND, SIMT_HERE);           \
    }
#define SIZED_ACCESS(BYTES)                      \
    PLAIN_ACCESS(read##BYTES, BYTES, Read)       \
    PLAIN_ACCESS(write##BYTES, BYTES, Write)     \
    PLAIN_ACCESS(unaligned_read##BYTES, BYTES, Read) \
    PLAIN_ACCESS(unaligned_write##BYTES, BYTES, Write)
#define VOLATILE_ACCESS(NAME, BYTES, KIND)                                                                \
    extern "C" void __tsan_##NAME(void* address) {                                                       \
        simt::touch<true>(reinterpret_cast<uintptr_t>(address), BYTES, simt::Kind::KIND, SIMT_HERE);     \
    }
#define SIZED_VOLATILE(BYTES)                                     \
    VOLATILE_ACCESS(volatile_read##BYTES, BYTES, Read)            \
    VOLATILE_ACCESS(volatile_write##BYTES, BYTES, Write)          \
    VOLATILE_ACCESS(unaligned_volatile_read##BYTES, BYTES, Read)  \
    VOLATILE_ACCESS(unaligned_volatile_write##BYTES, BYTES, Write)
SIZED_VOLATILE(1)
SIZED_VOLATILE(2)
SIZED_VOLATILE(4)
SIZED_VOLATILE(8)
SIZED_VOLATILE(16)
SIZED_ACCESS(1)
SIZED_ACCESS(2)
SIZED_ACCESS(4)
SIZED_ACCESS(8)

// What is copied whole, as a structure is: an access to each 4 bytes, or 8 of a structure with such an
// alignment, which clang does not say and g++ says only of some sizes.
static void range(const void* address, size_t bytes, simt::Kind kind, const void* pc) {
    const auto low = reinterpret_cast<uintptr_t>(address);
    // Most copies are between a thread's own variables.
    if (!machine.me && bytes) simt::touch(low, 1, kind, pc);
    if (!machine.me || low - reinterpret_cast<uintptr_t>(machine.me->low) < simt::STACK) return;
    const simt::Region* region = machine.regions.find(low);
    const auto by = [&](unsigned step) { return low % step == 0 && bytes % step == 0; };
    const bool wide = region && (region->wide || region->wide_launch == machine.attempts);
    const unsigned step = wide && by(8) ? 8 : by(4) ? 4 : by(2) ? 2 : 1;
    const bool whole = region && region->space != simt::Space::Arguments && bytes <= region->high - low;
    const bool free = whole && simt::held(*machine.me, *region, low, low + bytes, kind, simt::place_of(pc));
    for (size_t at = 0; at < bytes; at += step) simt::touch(low + at, step, kind, pc, free ? simt::Tally::No : simt::Tally::Yes);
}
#define WIDE_ACCESS(NAME, KIND) \
    extern "C" void __tsan_##NAME(void* address) { range(address, 16, simt::Kind::KIND, SIMT_HERE); }
WIDE_ACCESS(read16, Read)
WIDE_ACCESS(write16, Write)
WIDE_ACCESS(unaligned_read16, Read)
WIDE_ACCESS(unaligned_write16, Write)
extern "C" void __tsan_read_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Read, SIMT_HERE); }
extern "C" void __tsan_write_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Write, SIMT_HERE); }
extern "C" void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    machine.called = SIMT_HERE;
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    machine.called = SIMT_HERE;
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memset(void* to, int value, size_t bytes) {
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memset(to, value, bytes);
}
// What std::atomic becomes, and the counts of a std::shared_ptr, which host code may use.
#define ATOMIC_CHANGE(BITS, NAME, WORK)                                                                  \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t value, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_##WORK(at, value, __ATOMIC_SEQ_CST);                                             \
    }
#define ATOMIC_COMPARE(BITS, NAME)                                                                       \
    extern "C" int __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t* expected, uint##BITS##_t value, int, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }
#define ATOMIC_OPERATIONS(BITS)                                                                          \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t* at, int) {       \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                    \
    extern "C" void __tsan_atomic##BITS##_store(volatile uint##BITS##_t* at, uint##BITS##_t value, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                    \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(volatile uint##BITS##_t* at, uint##BITS##_t expected, uint##BITS##_t value, int, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
        return expected;                                                                                 \
    }                                                                                                    \
    ATOMIC_COMPARE(BITS, compare_exchange_strong)                                                        \
    ATOMIC_COMPARE(BITS, compare_exchange_weak)                                                          \
    ATOMIC_CHANGE(BITS, exchange, exchange_n)                                                            \
    ATOMIC_CHANGE(BITS, fetch_add, fetch_add)                                                            \
    ATOMIC_CHANGE(BITS, fetch_sub, fetch_sub)                                                            \
    ATOMIC_CHANGE(BITS, fetch_and, fetch_and)                                                            \
    ATOMIC_CHANGE(BITS, fetch_or, fetch_or)                                                              \
    ATOMIC_CHANGE(BITS, fetch_xor, fetch_xor)                                                            \
    ATOMIC_CHANGE(BITS, fetch_nand, fetch_nand)
ATOMIC_OPERATIONS(8)
ATOMIC_OPERATIONS(16)
ATOMIC_OPERATIONS(32)
ATOMIC_OPERATIONS(64)
extern "C" void __tsan_atomic_thread_fence(int) {
    if (machine.me) simt::fence(simt::Scope::Device);
}
extern "C" void __tsan_atomic_signal_fence(int) {}

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}
