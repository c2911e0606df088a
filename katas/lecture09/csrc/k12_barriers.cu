// Debug: three kernels whose threads do not wait for each other where they must.
//
// All this code is written, and nearly all of it is right if things happen in the order in which one
// reads it. Nothing on a GPU promises that. Seven bugs are in it: barriers that are missing, barriers
// that not all threads of a block come to, a read past the end, and blocks that disturb each
// other. A GPU may hang then, bring wrong sums, or right ones for years; on the CPU the run stops
// at the first such place, in one order of threads or another, and the test says who did what.
// (Nothing returns cudaErrorNotYetImplemented here.) All elements are int32, all sums fit.
//
// * `smooth`: out[i] = x[i - 1] + x[i] + x[i + 1], where what is before the first and after the
//   last element counts as 0. Each block loads its 256 elements and a neighbour on either side
//   into shared memory, and adds from there. What users see: now and then a sum is wrong, mostly
//   beside an element that another warp loads; and for some n the last sum is wrong, or the
//   kernel stops with an illegal address.
// * `scan`: sums[i] = the sum of x[j] for all j up to i in the same block of 256 elements: each
//   256 elements begin anew. It takes 8 steps, of width 1, 2, 4, ..., 128; after the first of
//   them each thread has the sum of up to 2 elements, then of up to 4, and so on. What users see:
//   some sums are wrong, other ones at every run, or the kernel hangs.
// * `sum`: total[0] = the sum of all x[i]. Each thread adds up in a grid-stride loop, each block
//   adds up its threads' sums in 8 halvings, all blocks add to the total. What users see: it seemed
//   right before Volta, whose threads each go on by itself; with several blocks the total is wrong,
//   another one at every run; and with n == 0, where 0 is wanted, it is whatever was there before.
//
// The rules: all threads of a block come to each __syncthreads(), and each to the same one. (Since
// Volta it waits for those only that have not returned. The rule here is stricter, as CUDA's guide
// is: a barrier in a branch is for a condition that is the same for the whole block.)
// Between a write to shared memory and what another thread does there, read or write, stands a
// barrier; and likewise between a read and another thread's write. Blocks run in any order, with
// no barrier between them: what several blocks change they change atomically, and what must be
// there before any of them starts is put there on `stream` before the launch.
//
// Mend the bugs and keep the structure, which tests count: per call one launch (of no kernel if
// n == 0) with the grid it has now and blocks of 256 threads;
// * `smooth`: no global load beside one per element and two per block; one barrier per block; at
//   most 3 shared loads per thread.
// * `scan`: one global load per element; at most 17 barriers per block; at most 20 shared loads
//   per thread.
// * `sum`: one global load per element; one global atomic per block at most; at most 9 barriers
//   per block; at most 3 shared loads per thread.
// In all three shared memory is used by many threads at a time, and by no atomic operation: a load
// or store is made by 16 lanes of a warp or more, on average. About ten lines change. Names and
// arguments stay.
//
// In PyTorch: aten/src/ATen/native/cuda/ScanUtils.cuh, whose
// tensor_kernel_scan_innermost_dim_impl has rows that do not exist, and barriers all the same;
// aten/src/ATen/native/cuda/block_reduce.cuh (BlockReduceSum), with a barrier for the next call.

#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 32;

static int blocks_for(int n) { return (n + THREADS - 1) / THREADS; }

// TODO: two bugs in smooth, two in scan, three in sum and the function that launches it.

__global__ void smooth(int n, const int* x, int* out) {
    __shared__ int tile[THREADS + 2];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    tile[t + 1] = i < n ? x[i] : 0;
    if (t == 0) tile[0] = i > 0 ? x[i - 1] : 0;
    if (t == THREADS - 1) tile[THREADS + 1] = i < n ? x[i + 1] : 0;
    if (i < n) out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

__global__ void scan(int n, const int* x, int* sums) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    tile[t] = i < n ? x[i] : 0;
    for (int width = 1; width < THREADS; width *= 2) {
        int before = 0;
        if (t >= width) {
            before = tile[t - width];
            __syncthreads();
        }
        tile[t] += before;
        __syncthreads();
    }
    if (i < n) sums[i] = tile[t];
}

__global__ void sum(int n, const int* x, int* total) {
    __shared__ int tile[THREADS];
    const int t = threadIdx.x;
    if (blockIdx.x == 0 && t == 0) *total = 0;
    int mine = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) mine += x[i];
    tile[t] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        // The last 32 are one warp, which goes in step.
        if (half >= 32) __syncthreads();
        if (t < half) {
            tile[t] += tile[t + half];
        }
    }
    if (t == 0) *total += tile[0];
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
    if (n > 0) sum<<<min(blocks_for(n), MOST_BLOCKS), THREADS, 0, stream>>>(n, x, total);
    return cudaGetLastError();
}
