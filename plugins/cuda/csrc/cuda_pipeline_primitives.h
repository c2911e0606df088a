// Copies from global to shared memory that a thread begins, commits in batches and waits for.
#pragma once
#include "simt.h"

using __pipeline_t = void;

SIMT_PLAIN inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    if (bytes != 4 && bytes != 8 && bytes != 16) simt::report("invalid copy", SIMT_HERE, "copies %zu bytes; 4, 8 and 16 are possible", bytes);
    simt::copy_later(to, from, bytes - zeros, zeros, static_cast<unsigned>(zeros ? 4 : bytes), nullptr, SIMT_HERE);
}
SIMT_PLAIN inline void __pipeline_commit() { simt::commit(nullptr); }
SIMT_PLAIN inline void __pipeline_wait_prior(size_t batches) { simt::complete(nullptr, static_cast<unsigned>(batches)); }
