// Softmax with the maximum and the sum in one pass.
//
// out[i] = exp(x[i] - m) / s, with m the largest element of the row and s the sum of exp(x[j] - m):
// three passes. Softmax is bound by memory, so get m and s in one pass. Two parts become one:
//
//   a: m 3, s 2.0      m = max(3, 5)
//   b: m 5, s 1.5      s = 2.0 * exp(3 - 5) + 1.5 * exp(5 - 5)
//
// 1. combined: this rule.
// 2. softmax: a pass where each thread keeps a Partial; a pass that stores.
//
// About 12 lines.
//
// - Load each element at most twice, by neighbouring threads. Compute in float: expf.
// - -inf masks an element: it becomes 0. But -inf - (-inf) is NaN.
// - A row of only -inf becomes NaN, as in PyTorch.
//
// Begin on paper: what is a Partial of no elements?
// Afterwards read online_softmax_combine in torch/_inductor/runtime/triton_helpers.py.
// Real life differs: PyTorch keeps a short row in registers.

#include <cuda_runtime.h>

#include <cfloat>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr unsigned ALL = 0xffffffffu;

// What is known about some of a row's elements: the largest, and the sum of exp(x - largest).
struct Partial {
    float largest = 0.0f;  // TODO: what is it for no elements?
    float sum = 0.0f;
};

// The Partial of the elements of both a and b.
__device__ Partial combined(Partial a, Partial b) {
    // TODO: the larger maximum, and both sums corrected to it
    return a;
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
    // TODO: a pass for a Partial, of_block, a pass for the results
}

// Given: a block for each row.
extern "C" cudaError_t kata_softmax(int rows, int n, const float* x, float* out, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: delete this line when the kernel is written
    if (rows > 0) softmax<<<rows, THREADS, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}
