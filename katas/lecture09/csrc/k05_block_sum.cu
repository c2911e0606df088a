// A sum in two launches: the threads of a block add up in shared memory.
//
// Write the sum of n contiguous float32 elements, all of them added in float32, to *out. The sum
// of no elements is 0.
//
// * The kernel `block_sum`, a `__global__` function, makes one sum per block: out[blockIdx.x] is
//   the sum of what the threads of that block read. A launch has gridDim.x blocks of 256 threads
//   along x. Each thread first adds up its own elements in a register, in a grid-stride loop as
//   in k03_axpy; then the block's 256 sums become one by a tree in shared memory: in each step
//   half as many threads as before add a neighbour's value to their own, until one is left. Every
//   thread takes part: one that has no element has the sum 0.
// * `kata_block_sum` launches it twice on `stream`, both times with blocks of 256 threads: first
//   with `blocks` blocks on x, one sum per block in `partial`, which has room for `blocks`
//   floats; then with one block on `partial`, which leaves the sum in `out`. `blocks` is given:
//   one for each 256 elements, at least 1 and at most 64 on the CPU, 1,024 on a GPU. Both launches
//   happen whatever n is. It returns cudaGetLastError().
//
// One launch and an atomicAdd per block would do too, but in another order of additions each
// time, and so with other last bits. Here the order does not depend on which block is first:
// the same input gives the same bits at every call. So there are no atomic operations at all.
//
// What it may cost, per launch:
// * each element of x, then of partial, is read once: ceil(n / 8) sectors of 32 bytes are all
//   that there is to read, for x as for partial, and neighbouring threads read neighbours; each
//   block writes one value of global memory;
// * at most 10 barriers (__syncthreads) per block: log2(256) = 8 steps, and 2 more;
// * no bank conflicts in shared memory (32 banks of 4 bytes: float i is in bank i % 32);
// * at most 64 wavefronts of shared memory per block. A warp takes one for each load or store,
//   even if only one of its threads takes part, so let the threads that are still at work be
//   neighbours: then whole warps are done after the first steps. A tree that halves takes 45;
//   one in which every second thread works, then every fourth, takes 150.
//
// Where nvcc is installed, a test reads what it makes of the kernel: all is added in float32, with
// no instruction about float64. Another test reads your text for a double, or a literal without an
// f that meets a float.
//
// All threads of a block must come to the same __syncthreads(), also those that have nothing to
// add. (A GPU since Volta waits for those only that have not returned; CUDA's guide is as strict as
// this.) Shared memory holds anything until it is written. The names and arguments of `block_sum`
// and `kata_block_sum` stay as they are; n plus the threads of the grid fits an int. About 20
// lines.
//
// In PyTorch: aten/src/ATen/native/cuda/Reduce.cuh, `block_x_reduce`, the same tree down to one
// warp; `global_reduce` there puts the blocks' sums together in the same launch, by the block
// that is done last.

#include <cuda_runtime.h>

__global__ void block_sum(int n, const float* x, float* out) {
    // TODO: a sum per thread, then the tree
}

extern "C" cudaError_t kata_block_sum(int n, int blocks, const float* x, float* partial, float* out, cudaStream_t stream) {
    // TODO: two launches
    return cudaErrorNotYetImplemented;
}
