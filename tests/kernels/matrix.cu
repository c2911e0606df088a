// Matrices of a warp; a line that says WRONG is the one to be named.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "run.cuh"

using namespace nvcuda;

// y = the first 64 elements of A A^T, whose rows are the values of x, 16 at a time.
template <class T>
__device__ void square(const float* x, float* y) {
    __shared__ __align__(32) half a[256];
    __shared__ __align__(32) T c[256];
    for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float2half(x[i % 64]);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, T> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, a, 16);
    wmma::mma_sync(sum, left, right, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * static_cast<T>(2.0f);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) y[i] = static_cast<float>(c[i]);
}
__global__ void matrix_in_float(int n, const float* x, float* y) { square<float>(x, y); }
RUN(matrix_in_float, 1, 32)
__global__ void matrix_in_half(int n, const float* x, float* y) { square<half>(x, y); }
RUN(matrix_in_half, 1, 32)

__global__ void matrix_no_barrier(int n, const float* x, float* y) {
    __shared__ __align__(32) half a[256];
    for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float2half(x[i % 64]);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::load_matrix_sync(left, a, 16);  // WRONG
    y[threadIdx.x] = static_cast<float>(left.x[0]);
}
RUN(matrix_no_barrier, 1, 32)

__global__ void matrix_in_branch(int n, const float* x, float* y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    if (threadIdx.x < 16) wmma::store_matrix_sync(y, sum, 4, wmma::mem_row_major);  // WRONG
    else __syncthreads();
}
RUN(matrix_in_branch, 1, 32)

__global__ void matrix_misaligned(int n, const float* x, float* y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, x + 1, 16, wmma::mem_row_major);  // WRONG
    y[threadIdx.x] = sum.x[0];
}
RUN(matrix_misaligned, 1, 32)

__global__ void matrix_past_the_end(int n, const float* x, float* y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);  // WRONG
}
RUN(matrix_past_the_end, 1, 32)
