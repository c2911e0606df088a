// NMS on a GPU: first a bit for each pair, then one pass over the bits.

#include <cuda_runtime.h>

constexpr int BITS = 64;
constexpr int MOST_WORDS = 64;

typedef unsigned long long Word;

// Given: whether the IoU of two boxes x0, y0, x1, y1 is above the threshold.
__device__ bool above(const float* a, const float* b, float threshold) {
    const float width = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), height = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    const float both = fmaxf(width, 0.0f) * fmaxf(height, 0.0f);
    const float areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
    return both > threshold * (areas - both);
}

__global__ void nms_masks(int n, int words, float threshold, const float* boxes, Word* masks) {
    __shared__ float tile[4 * BITS];
    const int row = blockIdx.y, col = blockIdx.x, thread = threadIdx.x;
    if (col < row) return;
    const int count = min(n - col * BITS, BITS);
    for (int k = thread; k < 4 * count; k += BITS) {
        tile[k] = boxes[4 * BITS * col + k];
    }
    __syncthreads();
    const int i = row * BITS + thread;
    if (i >= n) return;
    const float own[4] = {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
    Word word = 0;
    for (int k = row == col ? thread + 1 : 0; k < count; ++k) {
        if (above(own, tile + 4 * k, threshold)) word |= 1ULL << k;
    }
    masks[i * words + col] = word;
}

__global__ void sweep(int n, int words, const Word* masks, bool* kept) {
    __shared__ Word removed[MOST_WORDS];
    const int thread = threadIdx.x;
    if (thread < words) removed[thread] = 0;
    for (int i = 0; i < n; ++i) {
        __syncthreads();
        const bool alive = (removed[i / BITS] >> (i % BITS) & 1ULL) == 0;
        __syncthreads();
        if (alive && thread < words) removed[thread] |= masks[i * words + thread];
        if (thread == 0) kept[i] = alive;
    }
}

extern "C" cudaError_t kata_nms_masks(int n, int words, float threshold, const float* boxes, Word* masks, cudaStream_t stream) {
    nms_masks<<<dim3(words, words), BITS, 0, stream>>>(n, words, threshold, boxes, masks);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_sweep(int n, int words, const Word* masks, bool* kept, cudaStream_t stream) {
    sweep<<<1, BITS, 0, stream>>>(n, words, masks, kept);
    return cudaGetLastError();
}
