// Softmax of rows: the maximum and the sum in one pass.

#include <cuda_runtime.h>

#include <cfloat>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr unsigned ALL = 0xffffffffu;

// What is known about some of a row's elements. It begins with the lowest finite number, not
// with -inf, because -inf - (-inf) is NaN. So the sum of no elements is 0, and so is that of
// elements that are all -inf.
struct Partial {
    float largest = -FLT_MAX;
    float sum = 0.0f;
};

// The Partial of the elements of both a and b.
__device__ Partial combined(Partial a, Partial b) {
    Partial both;
    both.largest = fmaxf(a.largest, b.largest);
    both.sum = a.sum * expf(a.largest - both.largest) + b.sum * expf(b.largest - both.largest);
    return both;
}

// Given: every lane gets the Partial of the whole warp.
__device__ Partial of_warp(Partial mine) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        Partial other;
        other.largest = __shfl_xor_sync(ALL, mine.largest, distance);
        other.sum = __shfl_xor_sync(ALL, mine.sum, distance);
        mine = combined(mine, other);
    }
    return mine;
}

// Given: every thread gets the Partial of the block. All threads of the block must call it.
__device__ Partial of_block(Partial mine) {
    __shared__ float largest_of[THREADS / WARP], sum_of[THREADS / WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    mine = of_warp(mine);
    if (lane == 0) {
        largest_of[warp] = mine.largest;
        sum_of[warp] = mine.sum;
    }
    __syncthreads();
    Partial row;
    if (lane < THREADS / WARP) {
        row.largest = largest_of[lane];
        row.sum = sum_of[lane];
    }
    return of_warp(row);
}

// Block r handles row r of n floats.
__global__ void softmax(int n, const float* x, float* out) {
    const size_t first = static_cast<size_t>(blockIdx.x) * n;
    Partial mine;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const float value = x[first + i], largest = fmaxf(mine.largest, value);
        mine.sum = mine.sum * expf(mine.largest - largest) + expf(value - largest);
        mine.largest = largest;
    }
    const Partial row = of_block(mine);
    for (int i = threadIdx.x; i < n; i += THREADS) {
        out[first + i] = expf(x[first + i] - row.largest) / row.sum;
    }
}

extern "C" cudaError_t kata_softmax(int rows, int n, const float* x, float* out, cudaStream_t stream) {
    if (rows > 0) softmax<<<rows, THREADS, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}
