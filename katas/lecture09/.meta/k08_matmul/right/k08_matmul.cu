// A matrix product by another way: a block makes 64 x 64 elements, each of its 256 threads 4 x 4
// of them in registers; the tiles are 64 x 8 of a and 8 x 64 of b, used while the next are loaded.

#include <cuda_runtime.h>

constexpr int OUT = 64;
constexpr int DEPTH = 8;
constexpr int EACH = 4;
constexpr int THREADS = 256;
constexpr int ACROSS = OUT / EACH;

__global__ void product(const float* a, const float* b, float* out, int m, int k, int n) {
    // Column by column, with a row of 4 words more: what a warp stores lies in 32 banks.
    __shared__ float tile_a[2][DEPTH][OUT + 4], tile_b[2][DEPTH][OUT];
    const int across = (n + OUT - 1) / OUT, thread = threadIdx.x;
    const int top = blockIdx.x / across * OUT, left = blockIdx.x % across * OUT;
    float sums[EACH][EACH] = {};
    for (int start = 0, side = 0; start < k; start += DEPTH, side ^= 1) {
        for (int i = thread; i < OUT * DEPTH; i += THREADS) {
            const int r = i / DEPTH, c = i % DEPTH, row = top + r, col = start + c;
            tile_a[side][c][r] = row < m && col < k ? a[row * k + col] : 0.0f;
        }
        for (int i = thread; i < OUT * DEPTH; i += THREADS) {
            const int r = i / OUT, c = i % OUT, row = start + r, col = left + c;
            tile_b[side][r][c] = row < k && col < n ? b[row * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < DEPTH; ++i) {
            float ours[EACH], theirs[EACH];
            for (int r = 0; r < EACH; ++r) ours[r] = tile_a[side][i][thread / ACROSS + r * ACROSS];
            for (int c = 0; c < EACH; ++c) theirs[c] = tile_b[side][i][thread % ACROSS + c * ACROSS];
            for (int r = 0; r < EACH; ++r) {
                for (int c = 0; c < EACH; ++c) sums[r][c] += ours[r] * theirs[c];
            }
        }
    }
    for (int r = 0; r < EACH; ++r) {
        for (int c = 0; c < EACH; ++c) {
            const int row = top + thread / ACROSS + r * ACROSS, col = left + thread % ACROSS + c * ACROSS;
            if (row < m && col < n) out[row * n + col] = sums[r][c];
        }
    }
}

extern "C" cudaError_t kata_matmul(int m, int k, int n, const float* a, const float* b, float* out, cudaStream_t stream) {
    const int blocks = (m + OUT - 1) / OUT * ((n + OUT - 1) / OUT);
    if (blocks > 0) product<<<blocks, THREADS, 0, stream>>>(a, b, out, m, k, n);
    return cudaGetLastError();
}
