// Add up a whole grid in one launch: the block that arrives last does the rest.
//
// k05_block_sum launches twice. One atomicAdd of a float per block would change the last bits each
// time. So count the blocks:
//
//   block 3   partial[3] = 2.5   fence   arrived 0 -> 1
//   block 0   partial[0] = 1.0   fence   arrived 1 -> 2
//   ...                                  arrived n - 1 -> n   the last: adds partial[0], ...
//
// 1. is_last: publish the block's sum, count the block, and tell its threads.
// 2. grid_sum: a sum for each block, then the sum of the sums, by the last block.
//
// - Without the first fence the count may be seen before the write.
// - A fence after the count keeps partial from being read before the count. A test looks for that
//   fence in your source.
// - The next launch needs arrived to be 0 again.
//
// About 20 lines. Begin on paper: which threads know what atomicAdd returned?
// Afterwards find your steps in global_reduce and mark_block_finished, in
// aten/src/ATen/native/cuda/Reduce.cuh.

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
    // TODO: write, fence, count, fence; then tell the block
    return false;
}

// partial has one float for each block. The order of additions does not depend on which block is first.
__global__ void grid_sum(int n, const float* x, float* partial, int* arrived, float* out) {
    // TODO: a grid-stride loop, then the last block's loop over partial
}

extern "C" cudaError_t kata_grid_sum(int n, int blocks, const float* x, float* partial, int* arrived, float* out, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: remove this line when both are written
    grid_sum<<<blocks, THREADS, 0, stream>>>(n, x, partial, arrived, out);
    return cudaGetLastError();
}
