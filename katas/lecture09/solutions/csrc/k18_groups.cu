// The first element of a row that is greater than a limit, by tiles of 16 lanes.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int TILE = 16;
constexpr int THREADS = 128;
constexpr int ROWS = THREADS / TILE;

// The column of the first element of row that is greater than limit; columns if there is none. The
// tile loads TILE neighbours in each step, until one of them is greater.
__device__ int first_above(int columns, float limit, const float* row) {
    const auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    for (int start = 0; start < columns; start += TILE) {
        const int column = start + tile.thread_rank();
        const unsigned above = tile.ballot(column < columns && row[column] > limit);
        if (above != 0) return start + __ffs(above) - 1;
    }
    return columns;
}

// Given: a row for each tile; then the tiles' results are stored.
__global__ void search(int rows, int columns, float limit, const float* x, int* out) {
    __shared__ int found[ROWS];
    const int thread = threadIdx.x, row = blockIdx.x * ROWS + thread / TILE;
    const int first = first_above(row < rows ? columns : 0, limit, x + row * columns);
    if (thread % TILE == 0) found[thread / TILE] = first;
    __syncthreads();
    if (thread < ROWS && blockIdx.x * ROWS + thread < rows) out[blockIdx.x * ROWS + thread] = found[thread];
}

extern "C" cudaError_t kata_first_above(int rows, int columns, float limit, const float* x, int* out, cudaStream_t stream) {
    const int blocks = (rows + ROWS - 1) / ROWS;
    if (rows > 0) search<<<blocks, THREADS, 0, stream>>>(rows, columns, limit, x, out);
    return cudaGetLastError();
}
