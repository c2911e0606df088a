// Another way: one warp per row, -INFINITY and a guard, four rows to a block, no shared memory.

#include <cuda_runtime.h>

#include <cmath>

__device__ void add(float& m, float& s, float other_m, float other_s) {
    const float larger = m > other_m ? m : other_m;
    // exp(-inf - (-inf)) would be NaN: a part with maximum -inf counts for nothing. A NaN does.
    if (m != larger) s = m == -INFINITY ? (isnan(s) ? s : 0.0f) : s * __expf(m - larger);
    if (other_m != larger) {
        other_s = other_m == -INFINITY && !isnan(other_s) ? 0.0f : other_s * __expf(other_m - larger);
    }
    m = larger;
    s += other_s;
}

__global__ void softmax(int rows, int n, const float* x, float* out) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* in = x + (long long)row * n;
    float* to = out + (long long)row * n;
    float m = -INFINITY, s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) {
        const float v = __ldg(in + i);
        if (isnan(v) || v == INFINITY) {
            s = NAN;
        } else if (v > m) {
            s = (m == -INFINITY ? s : s * expf(m - v)) + 1.0f;
            m = v;
        } else if (v != -INFINITY) {
            s += expf(v - m);
        }
    }
    for (int d = 16; d; d >>= 1) {
        const float other_m = __shfl_down_sync(0xffffffffu, m, d), other_s = __shfl_down_sync(0xffffffffu, s, d);
        add(m, s, other_m, other_s);
    }
    m = __shfl_sync(0xffffffffu, m, 0);
    s = __shfl_sync(0xffffffffu, s, 0);
    const float scale = 1.0f / s;
    for (int i = threadIdx.x; i < n; i += 32) to[i] = m == -INFINITY ? NAN : __expf(in[i] - m) * scale;
}

extern "C" cudaError_t kata_softmax(int rows, int n, const float* x, float* out, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    softmax<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(rows, n, x, out);
    return cudaGetLastError();
}
