// Running sums by shuffles: what a warp can do without shared memory.
//
// In shared memory, 1024 running sums take ten rounds of barriers. The lanes of a warp need
// none: they read each other's registers.
//
//     lane      0  1   2   3    4
//     value     a  b   c   d    e
//     up by 1   a  ab  bc  cd   de        lane 0 adds nothing
//     up by 2   a  ab  abc abcd bcde      then by 4, 8 and 16: five shuffles
//
// 1. warp_scan: these five steps.
// 2. scan: each warp scans its columns, one warp scans all totals, each warp adds what came
//    before. About 25 lines.
//
// - No shuffle inside an `if` that some lanes of its mask skip.
// - Shared memory is for totals, with at most 2 barriers.
// - Subtract nothing: inf - inf is NaN.
//
// Begin on paper: what do the lanes without a column do, if there are 33 columns?
// Afterwards read BlockReduceSum in aten/src/ATen/native/cuda/block_reduce.cuh.

#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr unsigned ALL = 0xffffffff;  // the mask that names all 32 lanes

// Returns the sum of the values from lane 0 up to the caller's lane. All 32 lanes call it together.
//
// __shfl_up_sync(mask, value, d) returns the value of the lane d lanes below, or the lane's own where
// there is none. mask has a bit for each lane that takes part.
__device__ float warp_scan(float value) {
    // TODO: five steps. Who shuffles, and who adds?
    return value;
}

// out[r][c] = x[r][0] + ... + x[r][c], for 1 to 1024 columns. Block r does
// row r, with one thread per column, rounded up to whole warps. A thread past the last column neither
// loads nor stores, but takes part in each shuffle (with 0) and each __syncthreads().
//
// Each element is loaded and stored once. For each warp at most: 2 floats stored in shared memory, 5
// wavefronts of it (a load or store that the lanes make together), 12 shuffles and votes. No array
// with an index that is unknown at compile time: it goes to local memory.
__global__ void scan(int columns, const float* x, float* out) {
    __shared__ float totals[WARP];
    const int column = threadIdx.x, lane = column % WARP, warp = column / WARP;
    const int warps = blockDim.x / WARP;
    const int place = blockIdx.x * columns + column;
    // TODO: load, scan the warp, scan the totals, add, store
}

// Given: one block per row, in whole warps. Without rows or columns there is nothing to launch.
extern "C" cudaError_t kata_scan(int rows, int columns, const float* x, float* out, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: delete this line when the kernel is written
    if (rows > 0 && columns > 0) {
        const int threads = (columns + WARP - 1) / WARP * WARP;
        scan<<<rows, threads, 0, stream>>>(columns, x, out);
    }
    return cudaGetLastError();
}
