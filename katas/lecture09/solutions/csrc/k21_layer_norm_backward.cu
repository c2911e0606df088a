// The gradients of layer norm: sums along rows, and sums down columns.

#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;

// Given: every thread gets the sum of all threads' arguments. All threads of the block must call it.
template <class T>
__device__ T sum_of_block(T mine) {
    __shared__ T parts[WARPS];
    for (int distance = WARP / 2; distance > 0; distance /= 2) mine += __shfl_down_sync(ALL, mine, distance);
    __syncthreads(); // every thread has read the previous sum
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = mine;
    __syncthreads();
    mine = 0;
    for (int warp = 0; warp < WARPS; ++warp) mine += parts[warp];
    return mine;
}

// Block r handles row r of n elements.
template <class T>
__global__ void input_gradient(int n, const T* grad, const T* x, const T* weight, const T* mean, const T* rstd, T* grad_x) {
    const size_t first = static_cast<size_t>(blockIdx.x) * n;
    const T m = mean[blockIdx.x], r = rstd[blockIdx.x];
    T one = 0, two = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const T g = grad[first + i] * weight[i];
        one += g;
        two += g * (x[first + i] - m) * r;
    }
    one = sum_of_block(one);
    two = sum_of_block(two);
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const T g = grad[first + i] * weight[i], normal = (x[first + i] - m) * r;
        grad_x[first + i] = r * (g - one / n - normal * two / n);
    }
}

// A block of WARP x WARPS threads handles 32 columns, and each of its warps its own rows.
template <class T>
__global__ void column_sums(int rows, int n, const T* grad, const T* x, const T* mean, const T* rstd, T* grad_weight, T* grad_bias) {
    __shared__ T weight_of[WARPS][WARP], bias_of[WARPS][WARP];
    const int column = blockIdx.x * WARP + threadIdx.x;
    T for_weight = 0, for_bias = 0;
    for (int row = threadIdx.y; row < rows && column < n; row += WARPS) {
        const size_t i = static_cast<size_t>(row) * n + column;
        for_weight += grad[i] * (x[i] - mean[row]) * rstd[row];
        for_bias += grad[i];
    }
    // Given: add up the sums of the warps.
    weight_of[threadIdx.y][threadIdx.x] = for_weight;
    bias_of[threadIdx.y][threadIdx.x] = for_bias;
    __syncthreads();
    if (threadIdx.y != 0 || column >= n) return;
    for (int warp = 1; warp < WARPS; ++warp) {
        for_weight += weight_of[warp][threadIdx.x];
        for_bias += bias_of[warp][threadIdx.x];
    }
    grad_weight[column] = for_weight;
    grad_bias[column] = for_bias;
}

// ---- given: do not change: a block for each row, a block for 32 columns ---------------------------

template <class T>
static cudaError_t backward(int rows, int n, const T* grad, const T* x, const T* weight, const T* mean,
                            const T* rstd, T* grad_x, T* grad_weight, T* grad_bias, cudaStream_t stream) {
    if (rows > 0) input_gradient<T><<<rows, THREADS, 0, stream>>>(n, grad, x, weight, mean, rstd, grad_x);
    // Without rows the sums are 0, and still have to be written.
    const dim3 block(WARP, WARPS);
    column_sums<T><<<(n + WARP - 1) / WARP, block, 0, stream>>>(rows, n, grad, x, mean, rstd, grad_weight, grad_bias);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_backward_float(int rows, int n, const float* grad, const float* x, const float* weight,
                                           const float* mean, const float* rstd, float* grad_x,
                                           float* grad_weight, float* grad_bias, cudaStream_t stream) {
    return backward(rows, n, grad, x, weight, mean, rstd, grad_x, grad_weight, grad_bias, stream);
}

extern "C" cudaError_t kata_backward_double(int rows, int n, const double* grad, const double* x, const double* weight,
                                            const double* mean, const double* rstd, double* grad_x,
                                            double* grad_weight, double* grad_bias, cudaStream_t stream) {
    return backward(rows, n, grad, x, weight, mean, rstd, grad_x, grad_weight, grad_bias, stream);
}
