// Other ways to mend: a scalar kernel beside the one for vectors, whose last thread does the rest;
// a reduction by 8 lanes with a width of 8; blocks for differences and not for elements.

#include <cuda_runtime.h>

#include <cstdint>

constexpr int THREADS = 256;
constexpr unsigned ALL = 0xffffffffu;

static int blocks_for(int threads) { return (threads + THREADS - 1) / THREADS; }

__global__ void scale_one(int n, float a, const float* x, float* out) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) out[i] = a * x[i];
}

__global__ void scale_four(int n, float a, const float* x, float* out) {
    const int begin = 4 * (blockIdx.x * THREADS + threadIdx.x);
    if (begin + 4 <= n) {
        float4 v = *reinterpret_cast<const float4*>(x + begin);
        v.x *= a;
        v.y *= a;
        v.z *= a;
        v.w *= a;
        *reinterpret_cast<float4*>(out + begin) = v;
    } else {
        for (int i = begin; i < n; ++i) out[i] = a * x[i];
    }
}

__global__ void row_sum(int n, const int* x, int* sums) {
    __shared__ int parts[THREADS / 32];
    const int t = threadIdx.x;
    x += blockIdx.x * n;
    int mine = 0;
    for (int i = t; i < n; i += THREADS) mine += x[i];
    const unsigned some = __ballot_sync(ALL, t < n);
    for (int mask = 16; some && mask > 0; mask /= 2) mine += __shfl_xor_sync(ALL, mine, mask);
    if (t % 32 == 31) parts[t / 32] = mine;
    __syncthreads();
    if (t >= 8) return;
    mine = parts[t];
    for (int below = 4; below > 0; below /= 2) mine += __shfl_down_sync(0xff, mine, below, 8);
    if (t == 0) sums[blockIdx.x] = mine;
}

// Here lane 31 asks for its neighbour's element before the shuffle.
__global__ void differences(int n, const int* x, int* out) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const bool last = threadIdx.x % 32 == 31;
    int mine = 0, next = 0;
    if (i < n) mine = x[i];
    if (last && i + 1 < n) next = x[i + 1];
    const int given = __shfl_sync(ALL, mine, min(31, int(threadIdx.x % 32) + 1));
    if (!last) next = given;
    if (i + 1 < n) out[i] = next - mine;
}

extern "C" cudaError_t kata_scale(int n, float a, const float* x, float* out, cudaStream_t stream) {
    if (n == 0) return cudaGetLastError();
    const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0;
    if (aligned) {
        scale_four<<<blocks_for((n + 3) / 4), THREADS, 0, stream>>>(n, a, x, out);
    } else {
        scale_one<<<blocks_for((n + 3) / 4), THREADS, 0, stream>>>(n, a, x, out);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t kata_row_sum(int rows, int n, const int* x, int* sums, cudaStream_t stream) {
    if (rows > 0) row_sum<<<rows, THREADS, 0, stream>>>(n, x, sums);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_differences(int n, const int* x, int* out, cudaStream_t stream) {
    if (n >= 2) differences<<<blocks_for(n - 1), THREADS, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}
