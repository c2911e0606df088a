// Layer norm, forward and backward: rows one way, columns the other.
//
// Layer norm gives each row of a matrix (rows * n elements, contiguous) the mean 0 and the variance
// 1, and then scales and shifts each column. For a row x[0], ..., x[n - 1], and with a weight and a
// bias for each column,
//
//   mean      = (the sum of all x[i]) / n
//   variance  = (the sum of all (x[i] - mean)^2) / n        n, not n - 1
//   rstd      = 1 / sqrt(variance + eps)
//   normal[i] = (x[i] - mean) * rstd
//   out[i]    = normal[i] * weight[i] + bias[i]
//
// `forward` stores out, and for each row its mean and its rstd, which backward takes as they are.
// grad is the gradient of out. With g[i] = grad[i] * weight[i], `backward` stores for each row
//
//   one       = (the sum of all g[i]) / n
//   two       = (the sum of all g[i] * normal[i]) / n
//   grad_x[i] = rstd * (g[i] - one - normal[i] * two)
//
// and for each column, with sums that go down the column, over all rows r,
//
//   grad_weight[i] = the sum of all grad[r][i] * normal[r][i]
//   grad_bias[i]   = the sum of all grad[r][i]
//
// Write kernels, which are __global__ function templates, and the function templates `forward` and
// `backward`, which launch them on `stream` and return cudaGetLastError(). T is float or double,
// and everything is computed in T: gradients are compared with finite differences in float64, and
// double is slow on most GPUs, so it is no help for float. n is 1 or more. rows may be 0: a launch
// of no blocks is refused, but grad_weight and grad_bias are written then too, with 0.
//
// The variance wants care. The mean of the squares less the square of the mean takes one pass over
// the row, but where the mean is large it is the small difference of two large numbers. To find the
// mean first and then the variance is right and takes two. Welford's rule takes one: of the
// elements so far keep their count, their mean, and the sum `squares` of (x - mean)^2. With one
// element x more these are
//
//   count' = count + 1
//   mean' = mean + (x - mean) / count'
//   squares' = squares + (x - mean) * (x - mean')
//
// and of two parts a and b of a row, where d = b.mean - a.mean,
//
//   count' = a.count + b.count
//   mean' = a.mean + d * b.count / count'
//   squares' = a.squares + b.squares + d * d * a.count * b.count / count'
//
// So threads share a row and combine what they know by shuffles and shared memory. Not all parts
// are of one size, and those of threads without an element are empty. (Other ways in one pass are
// as good if they are as exact.)
//
// What it may cost, for float, with n >= 512 and a multiple of 32, and 64 rows or more. Sectors are
// the 32-byte pieces of global memory that warps touch, 8 elements each. What the source loads
// twice is counted twice, since nothing is optimised here.
// * forward: one launch, of at least 32 threads for each row. It reads at most 4.5 sectors for each
//   8 elements: 2 of x, 1 of weight, 1 of bias. It writes at most 1, and 2 for each row.
// * backward: at most 3 launches. One that loads as many numbers as there are elements, or more,
//   has at least 32 threads for each row, or 8 for each column. Together they read at most 10
//   sectors for each 8 elements, for which grad and x may be read 3 times and weight twice; they
//   write at most 1.5. No atomic operation is needed; at most one for each 16 elements is allowed.
// A thread that neither loads nor stores global memory does not count.
// Memory from one launch to another, if you want any: cudaMallocAsync and cudaFreeAsync.
//
// A row may be longer than shared memory. There are less than 2^31 - 1 elements in all, and that
// many blocks a grid may have along x. A row that holds an infinity or NaN is NaN as a whole in out,
// and no other row is; NaN in grad or x stays in its row of grad_x and its column of the others.
// An error, compared with float64, may be 1e-4 times the largest element of the result, or 1e-4 if
// that is more (1e-9 for double). In forward it may be 1e-3 (1e-6) where the mean of a row is 1000
// (1e8) times the root of its variance; and in a row of equal elements rstd is 1 / sqrt(eps), give
// or take 1 %.
//
// Where nvcc is installed, a test reads what it makes of the kernels: no kernel has instructions
// about float32 and instructions about float64. Another test reads your text, above what is given,
// for a double, or a literal without an f that meets a T.
//
// Out of scope: no weight or no bias, other dtypes, second derivatives. The .cpp file beside this
// one makes operators of the four functions at the end, and joins them for autograd. About 120
// lines. Without a GPU the kernels run on the CPU, thread after thread, in an order that is another
// one at each call.
//
// In PyTorch: aten/src/ATen/native/cuda/layer_norm_kernel.cu, with cuWelfordOnlineSum and
// cuWelfordCombine for the two rules above, compute_gI for grad_x, and
// GammaBetaBackwardCUDAKernelTemplate for the columns.

#include <cuda_runtime.h>

// TODO: kernels: the rows of forward, the rows of backward, the columns of backward

template <class T>
static cudaError_t forward(int rows, int n, T eps, const T* x, const T* weight, const T* bias,
                           T* out, T* mean, T* rstd, cudaStream_t stream) {
    // TODO: launch a kernel
    return cudaErrorNotYetImplemented;
}

template <class T>
static cudaError_t backward(int rows, int n, const T* grad, const T* x, const T* weight, const T* mean,
                            const T* rstd, T* grad_x, T* grad_weight, T* grad_bias, cudaStream_t stream) {
    // TODO: launch kernels
    return cudaErrorNotYetImplemented;
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
