// Add up a vector in two launches: the threads of a block share memory, and wait for each other.
//
// An atomicAdd per block would do, but blocks arrive in any order: the last bits change on every
// call. A tree adds in the same order each time:
//
//   sums  a   b   c   d   e   f   g   h         8 threads
//         ae  bf  cg  dh                        4 add, then a barrier
//         aecg    bfdh                          2
//         all                                   1
//
// 1. block_sum: each thread adds its own elements in a register, in a grid-stride loop; then the
//    tree; then one thread stores.
// 2. kata_block_sum: block_sum on x, with one sum per block into partial; block_sum once more, with
//    one block.
//
// - Every thread of a block reaches each __syncthreads(), even with nothing to add.
// - Keep the working threads adjacent, so that whole warps finish early.
// - Float only, no atomics. Each element is loaded once, by neighbouring threads.
//
// About 20 lines. Begin on paper: between which two lines of the tree does a thread read what
// another wrote?
// Afterwards read block_x_reduce in aten/src/ATen/native/cuda/Reduce.cuh.
// Real life differs: on an H200 torch.sum took 0.65 of the time: it loads vectors.

#include <cuda_runtime.h>

// out[blockIdx.x] is the sum of what the threads of the block load. Blocks have 256 threads. At most 10
// barriers and 64 wavefronts of shared memory per block (a wavefront is a load or store that a warp makes
// together), without bank conflicts: float i is in bank i % 32.
__global__ void block_sum(int n, const float* x, float* out) {
    // TODO: a sum per thread, then the tree
}

// Two launches of 256 threads per block, whatever n is: `blocks` blocks, then one. The sum of nothing is 0.
// partial has room for `blocks` floats. Return cudaGetLastError().
extern "C" cudaError_t kata_block_sum(int n, int blocks, const float* x, float* partial, float* out, cudaStream_t stream) {
    // TODO: two launches
    return cudaErrorNotYetImplemented;
}
