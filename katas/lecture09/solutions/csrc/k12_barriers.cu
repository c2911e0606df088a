// Three kernels with the barriers that they need, where all threads reach them.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 32;

static int blocks_for(int n) { return (n + THREADS - 1) / THREADS; }

__global__ void smooth(int n, const int* x, int* out) {
    __shared__ int tile[THREADS + 2];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    tile[t + 1] = i < n ? x[i] : 0;
    if (t == 0) tile[0] = i > 0 ? x[i - 1] : 0;
    if (t == THREADS - 1) tile[THREADS + 1] = i + 1 < n ? x[i + 1] : 0;
    // What a thread adds, its neighbours have loaded.
    __syncthreads();
    if (i < n) out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

__global__ void scan(int n, const int* x, int* sums) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    // Threads without an element stay: the barriers are for all.
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int width = 1; width < THREADS; width *= 2) {
        const int before = t >= width ? tile[t - width] : 0;
        // All have read before anyone writes, and below, the other way round.
        __syncthreads();
        tile[t] += before;
        __syncthreads();
    }
    if (i < n) sums[i] = tile[t];
}

__global__ void sum(int n, const int* x, int* total) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x;
    int mine = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) mine += x[i];
    tile[t] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        // Threads with nothing left to add reach this barrier too.
        __syncthreads();
        if (t < half) {
            tile[t] += tile[t + half];
        }
    }
    if (t == 0) atomicAdd(total, tile[0]);
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
    // No block can do this for the others.
    cudaMemsetAsync(total, 0, sizeof(int), stream);
    if (n > 0) sum<<<min(blocks_for(n), MOST_BLOCKS), THREADS, 0, stream>>>(n, x, total);
    return cudaGetLastError();
}
