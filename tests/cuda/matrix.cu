// Matrices of a warp; a line that says WRONG is the one to be named.

#include <cuda_bf16.h>
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

// The first 64 elements of A B, for whole numbers of both, of which 4 x is the first.
template <int M, int N, int K, class T, class Kept, class Sum>
__device__ void multiply(const float* x, float* y) {
    __shared__ __align__(32) Kept a[M * K];
    __shared__ __align__(32) Kept b[K * N];
    __shared__ __align__(32) Sum c[M * N];
    for (int i = threadIdx.x; i < M * K; i += 32) a[i] = static_cast<Kept>(truncf(4.0f * x[i % 64]));
    for (int i = threadIdx.x; i < K * N; i += 32) b[i] = static_cast<Kept>(truncf(4.0f * x[63 - i % 64]));
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::fill_fragment(sum, Sum(0));
    wmma::load_matrix_sync(left, a, K);
    wmma::load_matrix_sync(right, b, N);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) y[i] = static_cast<float>(c[i]);
}
__global__ void matrix_wide(int n, const float* x, float* y) { multiply<32, 8, 16, half, half, float>(x, y); }
RUN(matrix_wide, 1, 32)
__global__ void matrix_high(int n, const float* x, float* y) { multiply<8, 32, 16, half, half, float>(x, y); }
RUN(matrix_high, 1, 32)
__global__ void matrix_bfloat(int n, const float* x, float* y) {
    multiply<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>(x, y);
}
RUN(matrix_bfloat, 1, 32)
__global__ void matrix_tf32(int n, const float* x, float* y) {
    multiply<16, 16, 8, wmma::precision::tf32, float, float>(x, y);
}
RUN(matrix_tf32, 1, 32)
__global__ void matrix_whole(int n, const float* x, float* y) {
    multiply<16, 16, 16, signed char, signed char, int>(x, y);
}
RUN(matrix_whole, 1, 32)

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
