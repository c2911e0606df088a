// Layer norm of rows, forward and backward.

#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;

// What is known of some of a row's elements.
template <class T>
struct Moments {
    T count = 0;
    T mean = 0;
    T squares = 0; // the sum of (x - mean)^2
};

// Of the elements of both. No elements at all have count 0, and nothing to divide by.
template <class T>
__device__ Moments<T> combined(Moments<T> a, Moments<T> b) {
    Moments<T> both;
    both.count = a.count + b.count;
    if (both.count > 0) {
        const T between = b.mean - a.mean, share = b.count / both.count;
        both.mean = a.mean + between * share;
        both.squares = a.squares + b.squares + between * between * a.count * share;
    }
    return both;
}

// Lane 0 gets what the warp knows.
template <class T>
__device__ Moments<T> of_warp(Moments<T> mine) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        Moments<T> other;
        other.count = __shfl_down_sync(ALL, mine.count, distance);
        other.mean = __shfl_down_sync(ALL, mine.mean, distance);
        other.squares = __shfl_down_sync(ALL, mine.squares, distance);
        mine = combined(mine, other);
    }
    return mine;
}

// Lane 0 gets the sum of the warp.
template <class T>
__device__ T sum_of_warp(T mine) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        mine += __shfl_down_sync(ALL, mine, distance);
    }
    return mine;
}

// A block per row: the moments in one pass, the results in another.
template <class T>
__global__ void normalise(int n, T eps, const T* x, const T* weight, const T* bias, T* out, T* mean, T* rstd) {
    const size_t first = static_cast<size_t>(blockIdx.x) * n;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    Moments<T> mine;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const T value = x[first + i], off = value - mine.mean;
        mine.count += 1;
        mine.mean += off / mine.count;
        mine.squares += off * (value - mine.mean);
    }

    __shared__ T count_of[WARPS], mean_of[WARPS], squares_of[WARPS];
    __shared__ T row_mean, row_rstd;
    mine = of_warp(mine);
    if (lane == 0) {
        count_of[warp] = mine.count;
        mean_of[warp] = mine.mean;
        squares_of[warp] = mine.squares;
    }
    __syncthreads();
    if (warp == 0) {
        Moments<T> row;
        if (lane < WARPS) {
            row.count = count_of[lane];
            row.mean = mean_of[lane];
            row.squares = squares_of[lane];
        }
        row = of_warp(row);
        if (lane == 0) {
            row_mean = mean[blockIdx.x] = row.mean;
            row_rstd = rstd[blockIdx.x] = 1 / sqrt(row.squares / n + eps);
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < n; i += THREADS) {
        out[first + i] = (x[first + i] - row_mean) * row_rstd * weight[i] + bias[i];
    }
}

// A block per row: two sums in one pass, the results in another.
template <class T>
__global__ void input_gradient(int n, const T* grad, const T* x, const T* weight, const T* mean, const T* rstd,
                               T* grad_x) {
    const size_t first = static_cast<size_t>(blockIdx.x) * n;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const T m = mean[blockIdx.x], r = rstd[blockIdx.x];
    T one = 0, two = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const T g = grad[first + i] * weight[i];
        one += g;
        two += g * (x[first + i] - m) * r;
    }

    __shared__ T one_of[WARPS], two_of[WARPS];
    one = sum_of_warp(one);
    two = sum_of_warp(two);
    if (lane == 0) {
        one_of[warp] = one;
        two_of[warp] = two;
    }
    __syncthreads();
    one = two = 0;
    for (int w = 0; w < WARPS; ++w) {
        one += one_of[w];
        two += two_of[w];
    }

    for (int i = threadIdx.x; i < n; i += THREADS) {
        const T g = grad[first + i] * weight[i], normal = (x[first + i] - m) * r;
        grad_x[first + i] = r * (g - one / n - normal * two / n);
    }
}

// A block per 32 columns, which its warps go down together, each in rows of its own.
template <class T>
__global__ void column_sums(int rows, int n, const T* grad, const T* x, const T* mean, const T* rstd,
                            T* grad_weight, T* grad_bias) {
    const int column = blockIdx.x * WARP + threadIdx.x;
    T for_weight = 0, for_bias = 0;
    for (int row = threadIdx.y; row < rows && column < n; row += WARPS) {
        const size_t i = static_cast<size_t>(row) * n + column;
        const T g = grad[i];
        for_weight += g * (x[i] - mean[row]) * rstd[row];
        for_bias += g;
    }

    __shared__ T weight_of[WARPS][WARP], bias_of[WARPS][WARP];
    weight_of[threadIdx.y][threadIdx.x] = for_weight;
    bias_of[threadIdx.y][threadIdx.x] = for_bias;
    __syncthreads();
    if (threadIdx.y == 0 && column < n) {
        for (int w = 1; w < WARPS; ++w) {
            for_weight += weight_of[w][threadIdx.x];
            for_bias += bias_of[w][threadIdx.x];
        }
        grad_weight[column] = for_weight;
        grad_bias[column] = for_bias;
    }
}

template <class T>
static cudaError_t forward(int rows, int n, T eps, const T* x, const T* weight, const T* bias,
                           T* out, T* mean, T* rstd, cudaStream_t stream) {
    if (rows > 0) normalise<T><<<rows, THREADS, 0, stream>>>(n, eps, x, weight, bias, out, mean, rstd);
    return cudaGetLastError();
}

template <class T>
static cudaError_t backward(int rows, int n, const T* grad, const T* x, const T* weight, const T* mean,
                            const T* rstd, T* grad_x, T* grad_weight, T* grad_bias, cudaStream_t stream) {
    if (rows > 0) input_gradient<T><<<rows, THREADS, 0, stream>>>(n, grad, x, weight, mean, rstd, grad_x);
    // Without rows the sums are 0, and have to be written all the same.
    const dim3 block(WARP, WARPS);
    column_sums<T><<<(n + WARP - 1) / WARP, block, 0, stream>>>(rows, n, grad, x, mean, rstd, grad_weight, grad_bias);
    return cudaGetLastError();
}

// ---- given: do not change: what the operators call ----------------------------------------------

extern "C" cudaError_t kata_forward_float(int rows, int n, float eps, const float* x, const float* weight,
                                          const float* bias, float* out, float* mean, float* rstd,
                                          cudaStream_t stream) {
    return forward(rows, n, eps, x, weight, bias, out, mean, rstd, stream);
}

extern "C" cudaError_t kata_forward_double(int rows, int n, double eps, const double* x, const double* weight,
                                           const double* bias, double* out, double* mean, double* rstd,
                                           cudaStream_t stream) {
    return forward(rows, n, eps, x, weight, bias, out, mean, rstd, stream);
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
