// A sum in one launch: the block that arrives last adds up the sums of all blocks.

#include <cuda_runtime.h>

constexpr int THREADS = 64;

// Given: the sum of the threads' arguments, for thread 0. Every thread of the block must call it.
__device__ float block_sum(float own) {
    __shared__ float sums[THREADS];
    __syncthreads();
    sums[threadIdx.x] = own;
    for (int width = THREADS / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    }
    return threadIdx.x == 0 ? sums[0] : 0.0f;
}

// Thread 0 has the block's sum: store it in partial, and count the block in arrived. Return true to
// every thread of the last block, and false to all others.
__device__ bool is_last(float sum, float* partial, int* arrived) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// partial has one float for each block. The order of additions does not depend on which block is first.
__global__ void grid_sum(int n, const float* x, float* partial, int* arrived, float* out) {
    float own = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) own += x[i];
    if (!is_last(block_sum(own), partial, arrived)) return;
    own = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS) own += partial[i];
    own = block_sum(own);
    if (threadIdx.x == 0) {
        *out = own;
        *arrived = 0;
    }
}

extern "C" cudaError_t kata_grid_sum(int n, int blocks, const float* x, float* partial, int* arrived, float* out, cudaStream_t stream) {
    grid_sum<<<blocks, THREADS, 0, stream>>>(n, x, partial, arrived, out);
    return cudaGetLastError();
}
