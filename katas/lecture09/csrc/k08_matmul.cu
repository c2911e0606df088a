// Multiply matrices by tiles: load a number once, and use it 16 times.
//
// A thread that goes through a row of a and a column of b loads 2 k numbers for one element of out.
// So a block loads tiles, and all its threads use them:
//
//            b   .  B  .            step along k
//                .  B' .       1    A  with B
//    a  A A'  .    out tile    2    A' with B'
//                              ...
//
// Write the kernel, about 12 lines. In each step a thread loads one element of a and one of b,
// waits, adds 16 products, and waits again.
//
// - Beyond an edge both tiles hold 0: 0 times whatever is in memory may be NaN.
// - Every thread reaches each barrier.
// - A warp goes along rows, in a, b and out. The sum stays in a register.
//
// Begin on paper: why two barriers per step?
// Afterwards read gemm in aten/src/ATen/cuda/CUDABlas.h: PyTorch leaves the rest to cuBLAS.

#include <cuda_runtime.h>

constexpr int TILE = 16;

// out = a @ b, all row-major: a has m rows and k columns, b k rows and n columns. A block has TILE x TILE
// threads. If k is 0, out is 0. At most 2 m n k / TILE loads, rounded up to whole tiles.
__global__ void matmul(int m, int k, int n, const float* a, const float* b, float* out) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    // TODO: step by step along k: a tile of a and one of b to shared memory, then their products
}

// Given: a block for each tile of out.
extern "C" cudaError_t kata_matmul(int m, int k, int n, const float* a, const float* b, float* out, cudaStream_t stream) {
    return cudaErrorNotYetImplemented;  // TODO: delete this line when the kernel is written
    const dim3 tiles((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    if (m > 0 && n > 0) matmul<<<tiles, dim3(TILE, TILE), 0, stream>>>(m, k, n, a, b, out);
    return cudaGetLastError();
}
