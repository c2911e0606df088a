// Debug: three kernels that are right in the middle, and wrong where something ends.
//
// All this code is written. It is right for a block full of threads, a warp full of lanes, a vector
// full of elements, and wrong in seven places where one of these is not full, or where the warp
// ends though the data goes on. A GPU may read and write what belongs to others then, hang, or
// bring wrong numbers; on the CPU the run stops at the first such place, or a value is wrong.
// (Nothing returns cudaErrorNotYetImplemented here.)
//
// * `scale`: out[i] = a * x[i] for n elements of float32. Four elements at a time are a float4,
//   which is loaded and stored as a whole. What users see: the last elements of out are whatever
//   was there before, as if they had been forgotten; small tensors stop with an invalid
//   configuration; and x[1:] stops with a misaligned address, though x does not.
// * `row_sum`: sums[r] = the sum of row r of a matrix of int32, rows * n elements, in a block for
//   each row. Each thread adds up every 256th element, each warp its threads, the block its warps.
//   What users see: for short rows the kernel hangs, or brings sums that change. For long ones the
//   sums look right on the GPUs that they have, but on the CPU a fault is found in every launch.
// * `differences`: out[i] = x[i + 1] - x[i] for n elements of int32, of which out has n - 1. Every
//   thread loads one element and gets the next one from its neighbour in the warp. What users see:
//   each 32nd difference is 0, and the last one is sometimes wrong.
//
// The rules: a grid has enough threads for the last elements, and is not launched without blocks. A
// vector is loaded and stored where all its elements exist, and at an address that is a multiple
// of its size, 16 bytes; a tensor begins at a multiple of 4, and where it does not begin at one of
// 16 its elements go one by one. In a shuffle or a vote the mask names the lanes that come to it:
// all of them come to the same call, with the same mask, and none stands outside an `if`. (Since
// Volta those that have returned are excused.) A lane reads from a lane that the mask names and that
// is still there, even where it does not use what it gets, for that would be undefined. And one that
// asks past the end of the warp (or of its part of it, if a width is given) gets its own value.
//
// Mend the bugs and keep the structure, which tests count: per call one launch (none if there is
// nothing to write) with blocks of 256 threads, and of global memory
// * `scale`: where x begins at a multiple of 16 bytes (out always does), at most n / 4 + 3 loads
//   and as many stores, each by one thread, which touch 1 sector of 32 bytes for each 6 elements
//   and 4 more; at most n / 1024 blocks, rounded up, and at least a thread for each float4. Else
//   at most n loads and n stores, which touch 3 sectors for each 4 elements, and at least a thread
//   for each 4 elements.
// * `row_sum`: one block for each row; one load for each element, and one sector for each 8 where n
//   is a multiple of 8. For each block at most 56 shuffles and votes (each by one warp), 80 loads
//   and stores of shared memory (each by one thread) and 2 barriers, and no atomic operation; from
//   n = 256 on at least one shuffle or vote and one store to shared memory for each warp.
// * `differences`: one thread for each element, of x or of out, rounded up to whole blocks; one
//   load for each element and one more for each warp, and one sector for each 8 elements and one
//   more for each warp. No shared memory. For each warp at least 1 and at most 2 shuffles and votes.
// Names and arguments of the kata_* functions stay; those of the kernels are yours. About 15 lines
// change. rows, n or both may be 0. There are at most 2^30 elements and rows; all sums fit an int.
// Where nvcc is installed, a test reads what it makes of `scale`: 4 floats in a load and in a store.
//
// In PyTorch: aten/src/ATen/native/cuda/CUDALoops.cuh, whose vectorized_elementwise_kernel goes one
// by one in the last block; aten/src/ATen/native/cuda/MemoryAccess.cuh (can_vectorize_up_to), which
// asks where a tensor begins; aten/src/ATen/native/cuda/block_reduce.cuh (BlockReduceSum), where
// the whole first warp adds up what the warps have.

#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;

// TODO: three bugs in scale and the function that launches it, two in row_sum, two in differences.

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
