// Let half a warp stop while the other half goes on.
//
// Two rows share a warp. Each row is done when a number above the limit is found:
//
//   lanes  0 .. 15   row 0   found in step 1, on to the barrier
//   lanes 16 .. 31   row 1   step 2, step 3, ...
//
// In step 2 a vote with the mask 0xffffffff waits for lanes that wait at the barrier. A tile has a
// mask of its own:
//
//   tile.thread_rank()   tile.ballot(p)   __ffs(bits), from 1   cg::reduce(tile, v, op)
//
// Write first_above, about 7 lines.
//
// Begin on paper: which lane is bit 0 of tile.ballot when lane 20 calls it?
// Afterwards read warp_reduce in aten/src/ATen/native/cuda/PersistentSoftmax.cuh: it has a width
// and the full mask. Why is that correct?

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int TILE = 16;
constexpr int THREADS = 128;
constexpr int ROWS = THREADS / TILE;

// The column of the first element of row that is greater than limit, or columns if there is none. The
// tile loads TILE neighbours per step, until one of them is greater than limit.
__device__ int first_above(int columns, float limit, const float* row) {
    // TODO: create the tile, with all threads of the block; then go through the row
    return 0;
}

// Given: a row for each tile, without columns past the last one; then the tiles' results are stored.
__global__ void search(int rows, int columns, float limit, const float* x, int* out) {
    __shared__ int found[ROWS];
    const int thread = threadIdx.x, row = blockIdx.x * ROWS + thread / TILE;
    const int first = first_above(row < rows ? columns : 0, limit, x + row * columns);
    if (thread % TILE == 0) found[thread / TILE] = first;
    __syncthreads();
    if (thread < ROWS && blockIdx.x * ROWS + thread < rows) out[blockIdx.x * ROWS + thread] = found[thread];
}

extern "C" cudaError_t kata_first_above(int rows, int columns, float limit, const float* x, int* out, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: remove this line when first_above is written
    const int blocks = (rows + ROWS - 1) / ROWS;
    if (rows > 0) search<<<blocks, THREADS, 0, stream>>>(rows, columns, limit, x, out);
    return cudaGetLastError();
}
