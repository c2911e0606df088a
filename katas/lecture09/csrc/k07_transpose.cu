// A matrix transpose that reads rows and writes rows: a tile of shared memory without conflicts.
//
// Write out[j][i] = x[i][j] for a row-major float32 matrix x of n rows and m columns; out is
// row-major too, of m rows and n columns. Bits are moved, not numbers: a NaN keeps its payload.
//
// A thread that reads x[i][j] and writes out[j][i] is right and slow. If a warp reads along a
// row, 32 elements are 128 bytes, 4 sectors of 32 bytes; then it writes down a column, and every
// one of its 32 elements lies in a sector of its own. So a block first copies a tile of x, row by
// row, to an array of shared memory, waits for all its threads, and then writes the same tile as
// rows of out. Going down a column is left to shared memory, which has no sectors. It has 32
// banks: the 4-byte word at address a lies in bank a / 4 mod 32, and lanes of a warp that ask for
// different words of one bank are served one after the other. Choose the place of element (r, c)
// of the tile such that neither going along a row nor going down a column needs a bank twice: by
// a longer row (padding) or by another order within the row (a swizzle).
//
// `kata_transpose` launches one kernel on `stream`, none if n or m is 0, and returns
// cudaGetLastError(). Grid, block and tile are yours. The tests ask for the following.
//
// * Any n and m with n m < 2^30, also a row or a column of many millions. gridDim.y and gridDim.z
//   end at 65535, which are fewer than the tiles of such a matrix; gridDim.x ends at 2^31 - 1. So
//   number the tiles along x: gridDim.y and gridDim.z are 1.
// * A block for every 64 x 64 elements at least, as long as these are not more than 64 blocks.
//   Beyond that a block may take several tiles.
// * Global memory: each element is loaded once and stored once, n m loads and n m stores or, with
//   vector types, fewer. If n and m are multiples of 8, all requests of all warps together touch
//   n m / 8 sectors with loads, and as many with stores: 4 per request of 32 lanes. If they are
//   not, rows begin amid a sector: twice as many are allowed.
// * Shared memory: no bank conflicts, for any n and m, neither when the tile is filled nor when it
//   is read.
// * All threads of a block must come to each __syncthreads(), also those whose element lies
//   beyond the edge of the matrix.
// * Where nvcc is installed, a test reads what it makes of the kernel: no instruction computes with
//   floats, and nothing is in local memory, where an array of a thread's own goes if an index into
//   it is not known when compiling.
//
// TILE and ROWS are a suggestion: a block of TILE x ROWS threads moves a tile of TILE x TILE, each
// thread TILE / ROWS elements. You may change them. The name and the arguments of
// `kata_transpose` stay as they are, those of the kernel are yours.
// About 20 lines. Without a GPU the kernel runs on the CPU, in another order at each call.
//
// In PyTorch: x.t() moves nothing, it swaps strides. x.t().contiguous() runs
// direct_copy_kernel_cuda of aten/src/ATen/native/cuda/Copy.cu, which has no tile. A tile whose
// rows are padded by one stands in aten/src/ATen/native/cuda/layer_norm_kernel.cu,
// GammaBetaBackwardCUDAKernelTemplate: it is called padded_bx there.

#include <cuda_runtime.h>

constexpr int TILE = 32;
constexpr int ROWS = 8;

__global__ void transpose(int n, int m, const float* x, float* out) {
    // TODO: a tile of x, row by row, to shared memory; then to out, row by row
}

extern "C" cudaError_t kata_transpose(int n, int m, const float* x, float* out, cudaStream_t stream) {
    // TODO: launch the kernel
    return cudaErrorNotYetImplemented;
}
