// Other ways: a warp per row, which keeps what it can in registers; moments of four elements at a
// time; columns in two stages, of 32 rows each and then of all, through memory between the two.

#include <cuda_runtime.h>

constexpr unsigned ALL = 0xffffffffu;
constexpr int PER_BLOCK = 4;  // warps
constexpr int DEEP = 32;      // rows

template <class T>
__device__ void join(T& count, T& mean, T& squares, T other_count, T other_mean, T other_squares) {
    const T all = count + other_count, distance = mean - other_mean;
    if (all == T(0)) return;
    squares += other_squares + distance * distance * (count / all) * other_count;
    mean = (count / all) * mean + (other_count / all) * other_mean;
    count = all;
}

template <class T>
__global__ void rows_forward(int rows, int n, T eps, const T* x, const T* weight, const T* bias, T* out, T* means, T* rstds) {
    const int lane = threadIdx.x, row = blockIdx.x * PER_BLOCK + threadIdx.y;
    if (row >= rows) return;  // a whole warp
    x += size_t(row) * n;
    out += size_t(row) * n;
    T count = 0, mean = 0, squares = 0;
    for (int begin = 0; begin < n; begin += 4 * 32) {
        T values[4], sum = 0, off = 0;
        int found = 0;
        for (int k = 0; k < 4; ++k) {
            const int i = begin + 32 * k + lane;
            if (i < n) sum += values[found++] = x[i];
        }
        if (!found) break;
        sum /= found;
        for (int k = 0; k < found; ++k) off += (values[k] - sum) * (values[k] - sum);
        join(count, mean, squares, T(found), sum, off);
    }
    for (int mask = 1; mask < 32; mask *= 2) {
        const T a = __shfl_xor_sync(ALL, count, mask), b = __shfl_xor_sync(ALL, mean, mask);
        join(count, mean, squares, a, b, __shfl_xor_sync(ALL, squares, mask));
    }
    const T scale = T(1) / sqrt(squares / count + eps);
    for (int i = lane; i < n; i += 32) out[i] = weight[i] * ((x[i] - mean) * scale) + bias[i];
    if (lane == 31) means[row] = mean;
    if (lane == 30) rstds[row] = scale;
}

template <class T>
__global__ void rows_backward(int rows, int n, const T* grad, const T* x, const T* weight, const T* mean, const T* rstd, T* grad_x) {
    const int lane = threadIdx.x, row = blockIdx.x * PER_BLOCK + threadIdx.y;
    if (row >= rows) return;
    grad += size_t(row) * n;
    x += size_t(row) * n;
    grad_x += size_t(row) * n;
    const T middle = mean[row], scale = rstd[row];
    T plain = 0, moment = 0;
    for (int i = lane; i < n; i += 32) {
        const T g = weight[i] * grad[i];
        plain += g;
        moment += g * (x[i] - middle);
    }
    for (int mask = 1; mask < 32; mask *= 2) {
        plain += __shfl_xor_sync(ALL, plain, mask);
        moment += __shfl_xor_sync(ALL, moment, mask);
    }
    plain /= n;
    moment *= scale * scale / n;
    for (int i = lane; i < n; i += 32) grad_x[i] = (weight[i] * grad[i] - plain - (x[i] - middle) * moment) * scale;
}

// parts[chunk][0 for weight, 1 for bias][column]
template <class T>
__global__ void columns_of_some_rows(int rows, int n, const T* grad, const T* x, const T* mean, const T* rstd, T* parts) {
    extern __shared__ double shared[];
    T* sums = reinterpret_cast<T*>(shared);
    const int lane = threadIdx.x, warp = threadIdx.y, column = blockIdx.x * 32 + lane, chunk = blockIdx.y;
    T for_weight = 0, for_bias = 0;
    if (column < n) {
        for (int row = chunk * DEEP + warp; row < min(rows, (chunk + 1) * DEEP); row += PER_BLOCK) {
            const T g = grad[size_t(row) * n + column];
            for_weight += (x[size_t(row) * n + column] - mean[row]) * (rstd[row] * g);
            for_bias += g;
        }
    }
    sums[(2 * warp) * 32 + lane] = for_weight;
    sums[(2 * warp + 1) * 32 + lane] = for_bias;
    __syncthreads();
    if (warp >= 2 || column >= n) return;
    T sum = 0;
    for (int w = 0; w < PER_BLOCK; ++w) sum += sums[(2 * w + warp) * 32 + lane];
    parts[(size_t(chunk) * 2 + warp) * n + column] = sum;
}

template <class T>
__global__ void columns(int chunks, int n, const T* parts, T* grad_weight, T* grad_bias) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    T for_weight = 0, for_bias = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        for_weight += parts[size_t(chunk) * 2 * n + column];
        for_bias += parts[(size_t(chunk) * 2 + 1) * n + column];
    }
    grad_weight[column] = for_weight;
    grad_bias[column] = for_bias;
}

static dim3 warps() { return dim3(32, PER_BLOCK); }

template <class T>
static cudaError_t forward(int rows, int n, T eps, const T* x, const T* weight, const T* bias,
                           T* out, T* mean, T* rstd, cudaStream_t stream) {
    if (!rows) return cudaGetLastError();
    rows_forward<T><<<(rows + PER_BLOCK - 1) / PER_BLOCK, warps(), 0, stream>>>(rows, n, eps, x, weight, bias, out, mean, rstd);
    return cudaGetLastError();
}

template <class T>
static cudaError_t backward(int rows, int n, const T* grad, const T* x, const T* weight, const T* mean,
                            const T* rstd, T* grad_x, T* grad_weight, T* grad_bias, cudaStream_t stream) {
    if (!rows) {
        cudaMemsetAsync(grad_weight, 0, n * sizeof(T), stream);
        cudaMemsetAsync(grad_bias, 0, n * sizeof(T), stream);
        return cudaGetLastError();
    }
    const int chunks = (rows + DEEP - 1) / DEEP;
    T* parts = nullptr;
    if (const cudaError_t error = cudaMallocAsync(&parts, size_t(chunks) * 2 * n * sizeof(T), stream)) return error;
    rows_backward<T><<<(rows + PER_BLOCK - 1) / PER_BLOCK, warps(), 0, stream>>>(rows, n, grad, x, weight, mean, rstd, grad_x);
    const dim3 grid((n + 31) / 32, chunks);
    columns_of_some_rows<T><<<grid, warps(), 2 * PER_BLOCK * 32 * sizeof(T), stream>>>(rows, n, grad, x, mean, rstd, parts);
    columns<T><<<(n + 127) / 128, 128, 0, stream>>>(chunks, n, parts, grad_weight, grad_bias);
    cudaFreeAsync(parts, stream);
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
