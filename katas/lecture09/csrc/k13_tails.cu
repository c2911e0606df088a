// Debug: three kernels that are right while blocks and vectors are full, and wrong at the ends.
//
// Users report:
//
//   scale         a * x, by float4           the last elements hold old memory; small tensors stop with
//                                            an invalid configuration, x[1:] with a misaligned address
//   row_sum       a block for each row       short rows hang, or give sums that change
//   differences   x[i + 1] - x[i]            every 32nd is 0, the last one sometimes wrong
//
// Fix the seven bugs; about 15 lines change.
//
// - Vectors are whole, at multiples of 16 bytes; every other element has a thread of its own.
// - Every lane that a shuffle's mask names reaches that call, and reads from a lane that did, too.
// - Keep vectors, shuffles and grids, which are counted: an aligned tensor has blocks for its
//   vectors and last elements, a misaligned one a thread for each element.
//
// Begin on paper: which threads of row_sum reach the shuffle for rows of 40?
// Afterwards read can_vectorize_up_to in aten/src/ATen/native/cuda/MemoryAccess.cuh.

#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;

// TODO: three bugs in scale and the function that launches it, two in row_sum, two in differences.
// The code is complete: nothing returns cudaErrorNotYetImplemented here.

__global__ void scale(int n, float a, const float* x, float* out) {
    const int thread = blockIdx.x * THREADS + threadIdx.x;
    if (4 * thread < n) {
        const float4 v = reinterpret_cast<const float4*>(x)[thread];
        reinterpret_cast<float4*>(out)[thread] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }
}

__global__ void row_sum(int n, const int* x, int* sums) {
    __shared__ int parts[WARPS];
    const int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    int mine = 0;
    for (int i = t; i < n; i += THREADS) mine += x[blockIdx.x * n + i];
    if (t < n) {
        for (int below = WARP / 2; below > 0; below /= 2) mine += __shfl_down_sync(ALL, mine, below);
    }
    if (lane == 0) parts[warp] = mine;
    __syncthreads();
    if (t < WARPS) {
        mine = parts[t];
        for (int below = WARP / 2; below > 0; below /= 2) mine += __shfl_down_sync(0xff, mine, below);
        if (t == 0) sums[blockIdx.x] = mine;
    }
}

__global__ void differences(int n, const int* x, int* out) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n - 1) return;
    const int mine = x[i];
    const int next = __shfl_down_sync(ALL, mine, 1);
    out[i] = next - mine;
}

// out is new, and begins at a multiple of 16 bytes.
extern "C" cudaError_t kata_scale(int n, float a, const float* x, float* out, cudaStream_t stream) {
    if (n > 0) scale<<<n / (4 * THREADS), THREADS, 0, stream>>>(n, a, x, out);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_row_sum(int rows, int n, const int* x, int* sums, cudaStream_t stream) {
    if (rows > 0) row_sum<<<rows, THREADS, 0, stream>>>(n, x, sums);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_differences(int n, const int* x, int* out, cudaStream_t stream) {
    if (n > 1) differences<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}
