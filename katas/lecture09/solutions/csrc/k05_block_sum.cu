// A sum in two launches: per thread in a register, per block by a tree in shared memory.

#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void block_sum(int n, const float* x, float* out) {
    __shared__ float sums[THREADS];
    const int thread = threadIdx.x;
    float own = 0.0f;
    for (int i = blockIdx.x * THREADS + thread; i < n; i += gridDim.x * THREADS) {
        own += x[i];
    }
    sums[thread] = own;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        // What the other half has written, here or in the step before, is there after this.
        __syncthreads();
        if (thread < half) {
            sums[thread] += sums[thread + half];
        }
    }
    if (thread == 0) {
        out[blockIdx.x] = sums[0];
    }
}

extern "C" cudaError_t kata_block_sum(int n, int blocks, const float* x, float* partial, float* out, cudaStream_t stream) {
    block_sum<<<blocks, THREADS, 0, stream>>>(n, x, partial);
    block_sum<<<1, THREADS, 0, stream>>>(blocks, partial, out);
    return cudaGetLastError();
}
