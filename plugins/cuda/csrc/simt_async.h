// What the copies of cooperative groups, pipelines and barriers have in common.
#pragma once
#include "simt.h"

namespace cuda {
// A number of bytes, and what they are a multiple of.
template <size_t Alignment>
struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    SIMT_PLAIN explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    SIMT_PLAIN constexpr operator size_t() const { return value; }
};
}  // namespace cuda

namespace simt {

template <class Size>
SIMT_PLAIN size_t byte_count(const Size& size) {
    return static_cast<size_t>(size);
}

// One thread of a group copies its part: pieces as wide as the addresses allow, side by side.
SIMT_PLAIN inline void copy_of_group(void* to, const void* from, size_t bytes, unsigned long long rank, unsigned long long threads,
                                     const void* owner, const void* here) {
    const auto bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
    const unsigned step = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
    for (size_t at = rank * step; at < bytes; at += threads * step) {
        copy_later(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, step, 0, step, owner, here);
    }
}

}  // namespace simt
