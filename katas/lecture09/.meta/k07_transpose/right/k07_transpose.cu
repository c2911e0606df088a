// A transpose by another way: a swizzled tile of 64 x 32 in dynamic shared memory, blocks that go
// from tile to tile.

#include <cuda_runtime.h>

constexpr int WIDE = 32;
constexpr int HIGH = 64;
constexpr int THREADS = 128;

// Word c of row r lies at c ^ r: both along a row and down a column all banks are different.
__device__ int place(int r, int c) { return r * WIDE + (c ^ r % WIDE); }

__global__ void turn(const float* x, float* out, int n, int m) {
    extern __shared__ float tile[];
    const int across = (m + WIDE - 1) / WIDE, tiles = (n + HIGH - 1) / HIGH * across;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        const int row = t / across * HIGH, col = t % across * WIDE;
        for (int i = threadIdx.x; i < HIGH * WIDE; i += THREADS) {
            const int r = i / WIDE, c = i % WIDE;
            if (row + r >= n || col + c >= m) continue;
            tile[place(r, c)] = x[(row + r) * m + col + c];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < HIGH * WIDE; i += THREADS) {
            const int r = i % HIGH, c = i / HIGH;
            if (row + r < n && col + c < m) out[(col + c) * n + row + r] = tile[place(r, c)];
        }
        __syncthreads();
    }
}

extern "C" cudaError_t kata_transpose(int n, int m, const float* x, float* out, cudaStream_t stream) {
    if (n == 0 || m == 0) return cudaSuccess;
    const int tiles = (n + HIGH - 1) / HIGH * ((m + WIDE - 1) / WIDE);
    turn<<<min(tiles, 256), THREADS, HIGH * WIDE * sizeof(float), stream>>>(x, out, n, m);
    return cudaGetLastError();
}
