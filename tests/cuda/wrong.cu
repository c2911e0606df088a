// Kernels that are wrong, each in one way; the line that says WRONG is the one to be named.

#include <cuda_runtime.h>

#include "call.cuh"

constexpr unsigned FULL = 0xffffffffu;

#define KERNEL(NAME, GRID, BLOCK)                                      \
    extern "C" cudaError_t kata_##NAME(int n, const float* x, float* y) { \
        NAME<<<GRID, BLOCK>>>(n, x, y);                                \
        return cudaSuccess;                                            \
    }

__global__ void no_barrier(int n, const float* x, float* y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[63 - threadIdx.x];  // WRONG
}
KERNEL(no_barrier, 1, 64)

__global__ void no_second_barrier(int n, const float* x, float* y) {
    __shared__ float tile[64];
    for (int k = 0; k < 2; ++k) {
        tile[threadIdx.x] = x[threadIdx.x] + k;  // WRONG
        __syncthreads();
        y[threadIdx.x] = tile[(threadIdx.x + 32) % 64];
    }
}
KERNEL(no_second_barrier, 1, 64)

// A thread reads what it has stored itself, and stores to it again: no sum, so a barrier does help.
__global__ void tile_filled_too_early(int n, const float* x, float* y) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int k = 0; k < 2; ++k) {
        tile[threadIdx.x] = x[threadIdx.x] + k;  // WRONG
        __syncthreads();
        for (int i = 0; i < 64; ++i) sum += tile[i];
    }
    y[threadIdx.x] = sum;
}
KERNEL(tile_filled_too_early, 1, 64)

__global__ void no_syncwarp(int n, const float* x, float* y) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[threadIdx.x ^ 1];  // WRONG
}
KERNEL(no_syncwarp, 1, 32)

// A shuffle makes lanes meet, but orders no memory.
__global__ void shuffle_is_no_barrier(int n, const float* x, float* y) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    const float one = __shfl_sync(FULL, 1.0f, 0);
    y[threadIdx.x] = one * tile[threadIdx.x ^ 1];  // WRONG
}
KERNEL(shuffle_is_no_barrier, 1, 32)

__global__ void plain_sum(int n, const float* x, float* y) {
    if (threadIdx.x == 0) y[0] = y[0] + x[blockIdx.x];  // WRONG
}
extern "C" cudaError_t kata_plain_sum(int n, const float* x, float* y) {
    cudaMemset(y, 0, n * sizeof(float));
    plain_sum<<<4, 32>>>(n, x, y);
    return cudaSuccess;
}

__global__ void counts_without_atomics(int n, const float* x, float* y) {
    __shared__ float counts[2];
    if (threadIdx.x < 2) counts[threadIdx.x] = 0.0f;
    __syncthreads();
    counts[x[threadIdx.x] > 0.0f] += 1.0f;  // WRONG
    __syncthreads();
    if (threadIdx.x < 2) y[threadIdx.x] = counts[threadIdx.x];
}
KERNEL(counts_without_atomics, 1, 64)

// The same by two statements.
__global__ void counts_in_two_steps(int n, const float* x, float* y) {
    __shared__ float counts[2];
    if (threadIdx.x < 2) counts[threadIdx.x] = 0.0f;
    __syncthreads();
    const float before = counts[x[threadIdx.x] > 0.0f];
    counts[x[threadIdx.x] > 0.0f] = before + 1.0f;  // WRONG
    __syncthreads();
    if (threadIdx.x < 2) y[threadIdx.x] = counts[threadIdx.x];
}
KERNEL(counts_in_two_steps, 1, 64)

__global__ void no_fence(int n, const float* x, float* y, unsigned* counter) {
    y[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(counter, gridDim.x) == gridDim.x - 1) {
        for (int i = 0; i < gridDim.x; ++i) y[4 + i] = y[i];  // WRONG
    }
}
extern "C" cudaError_t kata_no_fence(int n, const float* x, float* y) {
    unsigned* counter;
    cudaMalloc(&counter, sizeof(unsigned));
    cudaMemset(counter, 0, sizeof(unsigned));
    no_fence<<<4, 1>>>(n, x, y, counter);
    cudaFree(counter);
    return cudaSuccess;
}

__global__ void atomic_and_plain(int n, const float* x, float* y) {
    if (threadIdx.x < 32) atomicAdd(&y[0], x[threadIdx.x]);
    else if (threadIdx.x == 32) y[0] = 0.0f;  // WRONG
}
extern "C" cudaError_t kata_atomic_and_plain(int n, const float* x, float* y) {
    cudaMemset(y, 0, n * sizeof(float));
    atomic_and_plain<<<1, 64>>>(n, x, y);
    return cudaSuccess;
}

// The zero of the first block may come after what the others have added.
__global__ void zeroes_while_adding(int n, const float* x, float* y) {
    if (blockIdx.x == 0) y[0] = 0.0f;
    atomicAdd(&y[0], x[blockIdx.x]);  // WRONG
}
extern "C" cudaError_t kata_zeroes_while_adding(int n, const float* x, float* y) {
    cudaMemset(y, 0, n * sizeof(float));
    zeroes_while_adding<<<4, 1>>>(n, x, y);
    return cudaSuccess;
}

__global__ void barrier_in_branch(int n, const float* x, float* y) {
    if (threadIdx.x < 32) {
        __syncthreads();  // WRONG
    } else {
        __syncthreads();
    }
    y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(barrier_in_branch, 1, 64)

__global__ void returns_early(int n, const float* x, float* y) {
    if (threadIdx.x >= 60) return;
    y[threadIdx.x] = x[threadIdx.x];
    __syncthreads();  // WRONG
}
KERNEL(returns_early, 1, 64)

__global__ void past_the_end(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];  // WRONG
}
KERNEL(past_the_end, (n + 47) / 48, 48)

struct Pair {
    float a, b;
};
__global__ void pair_past_the_end(int n, const float* x, float* y) {
    const Pair* pairs = reinterpret_cast<const Pair*>(x);
    const Pair pair = pairs[threadIdx.x + 1];  // WRONG
    y[threadIdx.x] = pair.a;
}
KERNEL(pair_past_the_end, 1, n / 2)

__global__ void copies_past_the_end(int n, const float* x, float* y) {
    memcpy(y, x, (n + 1) * sizeof(float));  // WRONG
}
KERNEL(copies_past_the_end, 1, 1)

__global__ void before_the_start(int n, const float* x, float* y) {
    y[threadIdx.x] = x[static_cast<int>(threadIdx.x) - 1];  // WRONG
}
KERNEL(before_the_start, 1, 64)

__global__ void past_the_tile(int n, const float* x, float* y) {
    __shared__ float tile[4][8];
    tile[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(past_the_tile, 1, 64)

__global__ void null_pointer(int n, const float* x, float* y) {
    const float* nothing = nullptr;
    y[threadIdx.x] = nothing[threadIdx.x];  // WRONG
}
KERNEL(null_pointer, 1, 64)

__global__ void misaligned(int n, const float* x, float* y) {
    const float4 v = reinterpret_cast<const float4*>(x + 1)[threadIdx.x];  // WRONG
    y[threadIdx.x] = v.x;
}
KERNEL(misaligned, 1, 8)

__global__ void unwritten_shared(int n, const float* x, float* y) {
    __shared__ float tile[64];
    if (threadIdx.x > 0) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];  // WRONG
}
KERNEL(unwritten_shared, 1, 64)

__global__ void adds_to_nothing(int n, const float* x, float* y) {
    y[threadIdx.x] += x[threadIdx.x];  // WRONG
}
KERNEL(adds_to_nothing, 1, 64)

__global__ void mask_without_me(int n, const float* x, float* y) {
    float v = x[threadIdx.x];
    v += __shfl_down_sync(0x0000ffffu, v, 8);  // WRONG
    y[threadIdx.x] = v;
}
KERNEL(mask_without_me, 1, 32)

__global__ void reads_who_left(int n, const float* x, float* y) {
    if (threadIdx.x >= 24) return;
    y[threadIdx.x] = __shfl_down_sync(FULL, x[threadIdx.x], 8);  // WRONG
}
KERNEL(reads_who_left, 1, 32)

__global__ void reads_no_lane(int n, const float* x, float* y) {
    y[threadIdx.x] = __shfl_down_sync(FULL, x[threadIdx.x], 8);  // WRONG
}
KERNEL(reads_no_lane, 1, 24)

__global__ void shuffle_in_branch(int n, const float* x, float* y) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) {
        v = __shfl_xor_sync(FULL, v, 1);  // WRONG
    } else {
        __syncthreads();
    }
    y[threadIdx.x] = v;
}
KERNEL(shuffle_in_branch, 1, 32)

__global__ void endless(int n, const float* x, float* y) {
    while (x[0] < 2.0f) y[threadIdx.x] = x[0];  // WRONG
}
KERNEL(endless, 1, 1)

__global__ void endless_without_memory(int n, const float* x, float* y) {
    for (unsigned i = 1; i != 0; i += 2) continue;
}
KERNEL(endless_without_memory, 1, 1)

__global__ void waits_for_a_block(int n, const float* x, float* y) {
    if (blockIdx.x == 0) atomicExch(&y[0], 1.0f);
    else while (atomicAdd(&y[0], 0.0f) == 0.0f) continue;
}
extern "C" cudaError_t kata_waits_for_a_block(int n, const float* x, float* y) {
    cudaMemset(y, 0, n * sizeof(float));
    waits_for_a_block<<<2, 1>>>(n, x, y);
    return cudaSuccess;
}

__global__ void changes_input(int n, const float* x, float* y) {
    const_cast<float*>(x)[threadIdx.x] = 0.0f;  // WRONG
}
KERNEL(changes_input, 1, 64)

__global__ void leaves_some(int n, const float* x, float* y) {
    if (threadIdx.x != 5) y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(leaves_some, 1, 64)

__device__ void copied(int n, const float* x, float* y) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}
#define SAME(NAME) \
    __global__ void NAME(int n, const float* x, float* y) { copied(n, x, y); }
SAME(fine)
SAME(launches_nothing)
SAME(too_many_threads)
SAME(too_deep)
SAME(too_many_blocks)
KERNEL(launches_nothing, 0, 64)
KERNEL(too_many_threads, 1, 1025)
KERNEL(too_deep, 1, dim3(1, 1, 65))
KERNEL(too_many_blocks, dim3(1, 65536), 32)
extern "C" cudaError_t kata_too_much_dynamic(int n, const float* x, float* y) {
    fine<<<1, 64, 50000>>>(n, x, y);
    return cudaSuccess;
}
extern "C" cudaError_t kata_asked_for(int n, const float* x, float* y) {
    fine<<<1, 2048>>>(n, x, y);
    if (cudaGetLastError() == cudaErrorInvalidConfiguration) fine<<<1, 64>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void too_much_static(int n, const float* x, float* y) {
    __shared__ float tile[12289];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(too_much_static, 1, 64)

extern "C" cudaError_t kata_unused_bytes(int n, const float* x, float* y) {
    fine<<<1, 64, 256>>>(n, x, y);
    return cudaGetLastError();
}

__global__ void too_much_of_both(int n, const float* x, float* y) {
    extern __shared__ float more[];
    __shared__ float tile[64];
    more[threadIdx.x] = tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = more[threadIdx.x];
}
extern "C" cudaError_t kata_too_much_of_both(int n, const float* x, float* y) {
    too_much_of_both<<<1, 64, 49152>>>(n, x, y);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_never_freed(int n, const float* x, float* y) {
    float* scratch;
    cudaMalloc(&scratch, n * sizeof(float));
    fine<<<1, 64>>>(n, x, y);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_host_reads(int n, const float* x, float* y) {
    fine<<<1, 64>>>(n, x, y);
    if (x[0] > 2.0f) return cudaErrorInvalidValue;  // WRONG
    return cudaSuccess;
}

extern "C" cudaError_t kata_copies_too_much(int n, const float* x, float* y) {
    return cudaMemcpy(y, x, (n + 1) * sizeof(float), cudaMemcpyDeviceToDevice);
}

__global__ void uses_freed(int n, const float* scratch, float* y) {
    y[threadIdx.x] = scratch[threadIdx.x];  // WRONG
}
extern "C" cudaError_t kata_uses_freed(int n, const float* x, float* y) {
    float* scratch;
    cudaMalloc(&scratch, n * sizeof(float));
    cudaMemcpy(scratch, x, n * sizeof(float), cudaMemcpyDeviceToDevice);
    cudaFree(scratch);
    uses_freed<<<1, 64>>>(n, scratch, y);
    return cudaSuccess;
}

extern "C" cudaError_t kata_copies_to_host(int n, const float* x, float* y) {
    float first;
    fine<<<1, 64>>>(n, x, y);
    return cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
}
extern "C" cudaError_t kata_copies_as_if_on_host(int n, const float* x, float* y) {
    float first;
    fine<<<1, 64>>>(n, x, y);
    return cudaMemcpy(&first, x, sizeof first, cudaMemcpyHostToHost);
}

__device__ float everybodys = 0.0f;
__global__ void races_on_a_variable(int n, const float* x, float* y) {
    everybodys += x[threadIdx.x];  // WRONG
    y[threadIdx.x] = x[threadIdx.x];
}
KERNEL(races_on_a_variable, 1, 64)

// What cannot be seen.

__global__ void past_a_row(int n, const float* x, float* y) {
    __shared__ float tile[8][8];
    tile[0][threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[0][threadIdx.x];
}
KERNEL(past_a_row, 1, 64)
