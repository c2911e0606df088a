// EmbeddingBag on a GPU: a block for each bag, and two ways back.
#include <cuda_runtime.h>

constexpr int THREADS = 32;

// In all three, a block's threads share the columns. Each kernel must work with any number of threads
// (the tests also try others) and any width. Matrices are contiguous, with `width` columns.

// result[b] = the sum of table[ids[k]] over bag b, which holds the ids from offsets[b] up to the next
// offset; the last bag holds the rest of the n ids. Add in this order, beginning with 0. One block for
// each of the bags. An empty bag is 0; result is uninitialized.
__global__ void pool(int bags, int n, int width, const long long* ids, const long long* offsets, const float* table, float* result) {
    const int b = blockIdx.x;
    const long long first = offsets[b], last = b + 1 < bags ? offsets[b + 1] : n;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = 0;
        for (long long k = first; k < last; ++k) sum += table[ids[k] * width + c];
        result[b * width + c] = sum;
    }
}

// Adds grad[b] to the row ids[k] of grad_table for each id of bag b, with one atomic for each id and
// column. One block for each of the bags. grad_table starts at 0.
__global__ void scatter(int bags, int n, int width, const long long* ids, const long long* offsets, const float* grad,
                        float* grad_table) {
    const int b = blockIdx.x;
    const long long first = offsets[b], last = b + 1 < bags ? offsets[b + 1] : n;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        for (long long k = first; k < last; ++k) atomicAdd(&grad_table[ids[k] * width + c], grad[b * width + c]);
    }
}

// The same sums without atomics. ids [n] are sorted, and entry k belongs to bag bags[k]. One block for each
// entry; only blocks that begin a run of equal ids write: the sum of grad[bags[k]] over the run, in
// this order, beginning with 0. grad_table starts at 0.
__global__ void gather(int n, int width, const long long* ids, const long long* bags, const float* grad, float* grad_table) {
    const int first = blockIdx.x;
    if (first > 0 && ids[first] == ids[first - 1]) return;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = 0;
        for (int k = first; k < n && ids[k] == ids[first]; ++k) sum += grad[bags[k] * width + c];
        grad_table[ids[first] * width + c] = sum;
    }
}

// Each function launches its kernel on the stream, with THREADS threads in a block; bags and n may be 0. Return
// cudaGetLastError().
extern "C" cudaError_t kata_pool(int bags, int n, int width, const long long* ids, const long long* offsets, const float* table,
                                 float* result, cudaStream_t stream) {
    if (bags > 0) pool<<<bags, THREADS, 0, stream>>>(bags, n, width, ids, offsets, table, result);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_scatter(int bags, int n, int width, size_t bytes, const long long* ids, const long long* offsets,
                                    const float* grad, float* grad_table, cudaStream_t stream) {
    cudaMemsetAsync(grad_table, 0, bytes, stream);
    if (bags > 0) scatter<<<bags, THREADS, 0, stream>>>(bags, n, width, ids, offsets, grad, grad_table);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_gather(int n, int width, size_t bytes, const long long* ids, const long long* bags, const float* grad,
                                   float* grad_table, cudaStream_t stream) {
    cudaMemsetAsync(grad_table, 0, bytes, stream);
    if (n > 0) gather<<<n, THREADS, 0, stream>>>(n, width, ids, bags, grad, grad_table);
    return cudaGetLastError();
}
