// Debug: three kernels that are right in the order in which you read them.
//
// A GPU promises no such order. It may hang, return wrong sums, or return right sums for years.
// Users report:
//
//   smooth   x[i - 1] + x[i] + x[i + 1]      sometimes wrong; for some n the last sum is wrong, or
//                                            the kernel stops with an illegal address
//   scan     running sums of each 256        different wrong sums in each run, or it hangs
//   sum      the sum of all x                wrong since Volta; wrong with several blocks; not 0
//                                            where n is 0
//
// Fix the seven bugs; about ten lines change. The simulator stops at the first pair of accesses
// that nothing orders, and names both threads.
//
// - All threads of a block reach each __syncthreads(), and the same one.
// - A barrier goes between a write to shared memory and another thread's access, and between a
//   read and another thread's write.
// - No barrier reaches another block. A value that several blocks change needs an atomic operation.
// - Keep the structure: grids, loads and barriers are counted.
//
// Begin with smooth: which thread loads tile[0] of your neighbour's sum?
// Afterwards read tensor_kernel_scan_innermost_dim_impl in aten/src/ATen/native/cuda/ScanUtils.cuh.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 32;

static int blocks_for(int n) { return (n + THREADS - 1) / THREADS; }

// TODO: two bugs in smooth, two in scan, three in sum and the function that launches it.
// smooth may take 1 barrier per block, scan 17, sum 9 and one global atomic. Elements and sums fit an int.
// The code is complete: nothing returns cudaErrorNotYetImplemented here.

__global__ void smooth(int n, const int* x, int* out) {
    __shared__ int tile[THREADS + 2];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    tile[t + 1] = i < n ? x[i] : 0;
    if (t == 0) tile[0] = i > 0 ? x[i - 1] : 0;
    if (t == THREADS - 1) tile[THREADS + 1] = i < n ? x[i + 1] : 0;
    if (i < n) out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

__global__ void scan(int n, const int* x, int* sums) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    tile[t] = i < n ? x[i] : 0;
    for (int width = 1; width < THREADS; width *= 2) {
        int before = 0;
        if (t >= width) {
            before = tile[t - width];
            __syncthreads();
        }
        tile[t] += before;
        __syncthreads();
    }
    if (i < n) sums[i] = tile[t];
}

__global__ void sum(int n, const int* x, int* total) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x;
    if (blockIdx.x == 0 && t == 0) *total = 0;
    int mine = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) mine += x[i];
    tile[t] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        // The last 32 are one warp, which goes in step.
        if (half >= 32) __syncthreads();
        if (t < half) {
            tile[t] += tile[t + half];
        }
    }
    if (t == 0) *total += tile[0];
}

extern "C" cudaError_t kata_smooth(int n, const int* x, int* out, cudaStream_t stream) {
    if (n > 0) smooth<<<blocks_for(n), THREADS, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_scan(int n, const int* x, int* sums, cudaStream_t stream) {
    if (n > 0) scan<<<blocks_for(n), THREADS, 0, stream>>>(n, x, sums);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_sum(int n, const int* x, int* total, cudaStream_t stream) {
    if (n > 0) sum<<<min(blocks_for(n), MOST_BLOCKS), THREADS, 0, stream>>>(n, x, total);
    return cudaGetLastError();
}
