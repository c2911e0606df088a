// The first element of a row that is greater than a limit: the least column of a tile, by a reduction.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int TILE = 16;
constexpr int THREADS = 128;
constexpr int ROWS = THREADS / TILE;

__device__ int first_above(int columns, float limit, const float* row) {
    const cg::thread_block_tile<TILE> tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    const int rank = tile.thread_rank();
    int first = columns;
    for (int start = 0; start < columns && first == columns; start += TILE) {
        const int column = start + rank;
        const int mine = column < columns && row[column] > limit ? column : columns;
        first = cg::reduce(tile, mine, cg::less<int>());
    }
    return first;
}

__global__ void search(int rows, int columns, float limit, const float* x, int* out) {
    __shared__ int found[ROWS];
    const int thread = threadIdx.x, row = blockIdx.x * ROWS + thread / TILE;
    const int first = row < rows ? first_above(columns, limit, x + row * columns) : 0;
    if (thread % TILE == 0) found[thread / TILE] = first;
    __syncthreads();
    if (thread < ROWS && blockIdx.x * ROWS + thread < rows) out[blockIdx.x * ROWS + thread] = found[thread];
}

extern "C" cudaError_t kata_first_above(int rows, int columns, float limit, const float* x, int* out, cudaStream_t stream) {
    const int blocks = (rows + ROWS - 1) / ROWS;
    if (rows > 0) search<<<blocks, THREADS, 0, stream>>>(rows, columns, limit, x, out);
    return cudaGetLastError();
}
