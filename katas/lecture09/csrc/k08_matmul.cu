// A matrix product by tiles: load once into shared memory, use many times.
//
// Write out = a @ b: a is a row-major float32 matrix of m rows and k columns, b of k rows and n
// columns, out of m rows and n columns. out[i][j] is the sum of a[i][p] * b[p][j] over p, summed
// in float32 and in any order.
//
// A thread per element of out that goes through a row of a and a column of b loads 2 m n k
// numbers in all: every element of a is loaded n times, every element of b m times. Instead, the
// threads of a block, which together make a tile of out, go along k in steps of a tile. In each
// step they load one tile of a and one tile of b into shared memory, every thread a few elements,
// wait for each other, and add to their sums what these two tiles contribute. With tiles of
// TILE x TILE every number that is loaded serves TILE threads: 2 m n k / TILE loads.
//
// `kata_matmul` launches one kernel on `stream`, none if m or n is 0, and returns
// cudaGetLastError(). Grid, block and tiles are yours. The tests ask for the following.
//
// * Any m, k and n up to 2^19, 0 included, with m k, k n and m n < 2^30. Where k is 0 there is
//   nothing to sum: out is 0.
// * What lies beyond the edge of a or b is 0 in the tile, in both of them: 0 times what a memory
//   holds by chance, or times an infinity from another place, is not always 0. So infinities and
//   NaN of a row of a come to this row of out alone, those of a column of b to this column.
// * Loads of global memory: with m, k and n rounded up to multiples of 32, at most a sixteenth of
//   2 m n k. Stores: one for each element of out, so the sum stays in a register. With vector
//   types both may be fewer.
// * Sectors, if m, k and n are multiples of 32: at most m n k / 64 with loads and m n / 8 with
//   stores, which are 4 for each request of 32 lanes that the line above allows. So a warp goes
//   along a row, in a, in b and in out.
// * Shared memory: no bank conflicts. Lanes of a warp that want different words want them from
//   different banks; lanes that read the same word get it together.
// * If m and n are multiples of 64, at least one block for every 64 x 64 elements of out and at
//   most one for every 16 x 16; a block that stores nothing does not count.
// * All threads of a block must come to each __syncthreads(), also those whose element lies
//   beyond the edge of out.
// * Where nvcc is installed, a test reads what it makes of the kernel: product and sum are one
//   instruction, a fused multiply-add (fma), no product stands alone, nothing is in float64, and
//   nothing is in local memory, where an array of a thread's own goes if an index into it is not
//   known when compiling. Another test reads your text for a double, or a literal without an f
//   that meets a float.
//
// TILE is a suggestion: blocks of TILE x TILE threads, each of which makes one element of out. You
// may change it. The name and the arguments of `kata_matmul` stay as they are, those of the
// kernel are yours. About 20 lines. Without a GPU the kernel runs on the CPU, in another order at
// each call.
//
// In PyTorch: mm_out_cuda in aten/src/ATen/native/cuda/Blas.cpp, which leaves the work to cuBLAS:
// gemm in aten/src/ATen/cuda/CUDABlas.h. Its kernels have tiles too, of tiles, down to registers.

#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void matmul(int m, int k, int n, const float* a, const float* b, float* out) {
    // TODO: step by step along k: a tile of a and one of b to shared memory, then their products
}

extern "C" cudaError_t kata_matmul(int m, int k, int n, const float* a, const float* b, float* out, cudaStream_t stream) {
    // TODO: launch the kernel
    return cudaErrorNotYetImplemented;
}
