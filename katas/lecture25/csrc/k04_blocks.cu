// EmbeddingBag on a GPU: a block for each bag, and two ways back.
//
// Forward needs no care: block b alone writes row b of the result. Backward does: two bags may hold the
// same id, and then two blocks add to one row of the table's gradient.
//
//   atomics   block b, bag b:            grad[b]  ──► += on the row of each id, in any order
//   sorted    block k, entry k of
//             ids   0  1  1  1  4        blocks 0, 1 and 4 begin a run of equal ids: each adds up
//             bags  2  0  0  2  2        the grads of its run's bags; blocks 2 and 3 do nothing
//
// Atomics lose nothing, but their order differs from run to run, and so do the last bits. If the ids
// are sorted, each row has one writer, and one order.
//
// Write three kernels and their launches, about 20 lines.
// 1. pool: forward.
// 2. scatter: backward with atomicAdd.
// 3. gather: backward over sorted ids, without atomics.
//
// Begin on paper: how does block 2 know that it has nothing to do?
// Afterwards look for the runs in aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu. Real life
// differs: PyTorch also splits long runs into parts, so that a popular id is not left to a single block.

#include <cuda_runtime.h>

constexpr int THREADS = 32;

// In all three, a block's threads share the columns. Each kernel must work with any number of threads
// (the tests also try others) and any width. Matrices are contiguous, with `width` columns.

// result[b] = the sum of table[ids[k]] over bag b, which holds the ids from offsets[b] up to the next
// offset; the last bag holds the rest of the n ids. Add in this order, beginning with 0. One block for
// each of the bags. An empty bag is 0; result is uninitialized.
__global__ void pool(int bags, int n, int width, const long long* ids, const long long* offsets, const float* table, float* result) {
    // TODO: the ends of the bag, a loop over columns, a sum
}

// Adds grad[b] to the row ids[k] of grad_table for each id of bag b, with one atomic for each id and
// column. One block for each of the bags. grad_table starts at 0.
__global__ void scatter(int bags, int n, int width, const long long* ids, const long long* offsets, const float* grad,
                        float* grad_table) {
    // TODO: the same loops, the other way
}

// The same sums without atomics. ids [n] are sorted, and entry k belongs to bag bags[k]. One block for each
// entry; only blocks that begin a run of equal ids write: the sum of grad[bags[k]] over the run, in
// this order, beginning with 0. grad_table starts at 0.
__global__ void gather(int n, int width, const long long* ids, const long long* bags, const float* grad, float* grad_table) {
    // TODO: return if the entry does not begin a run; a loop over columns, a sum over the run
}

// Each function launches its kernel on the stream, with THREADS threads in a block; bags and n may be 0. Return
// cudaGetLastError().
extern "C" cudaError_t kata_pool(int bags, int n, int width, const long long* ids, const long long* offsets, const float* table,
                                 float* result, cudaStream_t stream) {
    // TODO
    return cudaErrorNotYetImplemented;
}

extern "C" cudaError_t kata_scatter(int bags, int n, int width, size_t bytes, const long long* ids, const long long* offsets,
                                    const float* grad, float* grad_table, cudaStream_t stream) {
    cudaMemsetAsync(grad_table, 0, bytes, stream);
    // TODO
    return cudaErrorNotYetImplemented;
}

extern "C" cudaError_t kata_gather(int n, int width, size_t bytes, const long long* ids, const long long* bags, const float* grad,
                                   float* grad_table, cudaStream_t stream) {
    cudaMemsetAsync(grad_table, 0, bytes, stream);
    // TODO
    return cudaErrorNotYetImplemented;
}
