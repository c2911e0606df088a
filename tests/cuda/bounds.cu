// Accesses outside a buffer of 64 floats, between `a`, which is before it, and `b`, which is after it.
// `test_simt_bounds.py` gives them memory with 8 floats between the two, and expects the buffer's name.
#include <cuda_runtime.h>

#include "call.cuh"

#define BOTH(NAME, BLOCK, ...)                                                       \
    __global__ void NAME(const float* a, const float* b, float* y) {                 \
        const int i = threadIdx.x;                                                   \
        __VA_ARGS__                                                                  \
    }                                                                                \
    extern "C" cudaError_t kata_##NAME(int, const float* a, const float* b, float* y) { \
        NAME<<<1, BLOCK>>>(a, b, y);                                                 \
        return cudaGetLastError();                                                   \
    }

// ---- The first access of all, by the only thread

BOTH(first_after, 1, y[0] = a[70];)
BOTH(first_before, 1, y[0] = b[-6];)
BOTH(first_store, 1, y[66] = a[0] + b[0];)
BOTH(first_of_a_row, 1, const float* row = a + 60; y[0] = row[10];)
BOTH(first_pair, 1, y[0] = reinterpret_cast<const float2*>(a)[35].x;)
BOTH(first_atomic, 1, atomicAdd(y + 66, 1.0f);)
struct Pair {
    float a, b;
};
BOTH(first_struct, 1, const Pair p = reinterpret_cast<const Pair*>(a)[35]; y[0] = p.b;)
struct Inputs {
    const float *a, *b;
};
__global__ void first_member(Inputs x, float* y) { y[0] = x.a[70] + x.b[0]; }
extern "C" cudaError_t kata_first_member(int, const float* a, const float* b, float* y) {
    first_member<<<1, 1>>>(Inputs{a, b}, y);
    return cudaGetLastError();
}
__device__ float cells[8];
BOTH(first_variable, 1, cells[8 + i] = a[0];)

// ---- In other threads the same line is right

BOTH(some_after, 64, y[i] = a[i + 7];)
BOTH(some_before, 64, y[i] = b[i - 7] + a[i];)
BOTH(only_one, 64, if (i == 0) y[i] = a[i + 70]; else y[i] = b[i];)
BOTH(some_rows, 64, const float* row = a + i + 7; y[i] = row[0];)
BOTH(some_vectors, 32, const float2 v = reinterpret_cast<const float2*>(a)[i + 4]; y[i] = v.x;)
BOTH(some_stores, 64, reinterpret_cast<Pair*>(y)[i + 33 - 33 * (i < 30)] = {a[i], b[i]};)
BOTH(in_a_loop, 1, float sum = 0.0f; for (int k = 0; k < 80; ++k) sum += a[k]; y[0] = sum + b[0];)
BOTH(by_a_pointer, 1, float sum = 0.0f; for (const float* p = a; p < a + 80; ++p) sum += *p; y[0] = sum + b[0];)

// ---- A function is called for both buffers

__device__ float at(const float* p, int k) { return p[k]; }
BOTH(function_before, 64, y[i] = at(a, i) + at(b, i - 6);)
BOTH(function_after, 64, y[i] = at(b, i) + at(a, i + 7);)

// ---- Shared memory, with 256 bytes between two arrays

BOTH(shared_after, 8, __shared__ float s[8]; __shared__ float t[8]; s[i] = t[i] = a[0]; __syncthreads(); y[i] = s[i + 240];)
BOTH(shared_before, 1, __shared__ float s[8]; __shared__ float t[8]; s[0] = t[0] = 1.0f; y[i] = t[-200] + s[0];)

// ---- Nothing tells: a pointer that was outside when it was made, and a call with two pointers

BOTH(made_outside, 1, const float* row = a + 70; y[0] = row[0];)
BOTH(given_before, 1, atomicAdd(y + 66, a[1]);)
BOTH(given_to_a_call, 1, memcpy(y, b - 6, 8);)
BOTH(from_nowhere, 1, const float* p = reinterpret_cast<const float*>(size_t{1} << 40); y[0] = p[0];)
