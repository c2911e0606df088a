// Other ways to mend: two buffers that take turns, neighbours loaded by other threads, a barrier
// after each halving instead of before it.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 32;

static int blocks_for(int n) { return (n + THREADS - 1) / THREADS; }

__global__ void smooth(int n, const int* x, int* out) {
    __shared__ int tile[THREADS + 2];
    const int t = threadIdx.x, begin = blockIdx.x * THREADS, i = begin + t;
    if (i < n) tile[t + 1] = x[i];
    if (t == 32) tile[0] = begin ? x[begin - 1] : 0;
    if (t == 64 && begin + THREADS < n) tile[THREADS + 1] = x[begin + THREADS];
    __syncthreads();
    if (i >= n) return;
    out[i] = tile[t] + tile[t + 1] + (i < n - 1 ? tile[t + 2] : 0);
}

__global__ void scan(int n, const int* x, int* sums) {
    __shared__ int tile[2][THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    int from = 0;
    tile[from][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int width = 1; width < THREADS; width *= 2) {
        tile[1 - from][t] = tile[from][t] + (t >= width ? tile[from][t - width] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) sums[i] = tile[from][t];
}

__global__ void sum(int n, const int* x, int* total) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x;
    int mine = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) mine += x[i];
    tile[t] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == THREADS - 1) atomicAdd(total, tile[0]);
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
    cudaMemsetAsync(total, 0, sizeof *total, stream);
    if (n > 0) sum<<<min(blocks_for(n), MOST_BLOCKS), THREADS, 0, stream>>>(n, x, total);
    return cudaGetLastError();
}
