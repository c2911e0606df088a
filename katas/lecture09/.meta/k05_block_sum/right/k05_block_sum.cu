// Four elements per load, the upper threads add to the lower ones until one warp is left, which
// goes on without barriers for the block; the second launch has a kernel of its own.

#include <cuda_runtime.h>

constexpr unsigned THREADS = 256, LAST = 32;

__device__ float block_total(float own) {
    extern __shared__ float sums[];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (unsigned left = blockDim.x / 2; left >= LAST; left >>= 1) {
        if (threadIdx.x < left) {
            own += sums[threadIdx.x + left];
            sums[threadIdx.x] = own;
        }
        __syncthreads();
    }
    if (threadIdx.x < LAST) {
        for (unsigned left = LAST / 2; left; left >>= 1) {
            own += __shfl_down_sync(0xffffffffu, own, left);
        }
    }
    return own;
}

__global__ void block_sum(int n, const float* x, float* out) {
    const int threads = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
    const int quads = n / 4;
    const float4* four = reinterpret_cast<const float4*>(x);
    float own = 0.0f;
    for (int i = me; i < quads; i += threads) {
        const float4 v = four[i];
        own += (v.x + v.y) + (v.z + v.w);
    }
    if (me < n - 4 * quads) own += x[4 * quads + me];
    own = block_total(own);
    if (threadIdx.x == 0) out[blockIdx.x] = own;
}

__global__ void last_sum(int n, const float* partial, float* out) {
    const float own = block_total(threadIdx.x < n ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *out = own;
}

extern "C" cudaError_t kata_block_sum(int n, int blocks, const float* x, float* partial, float* out, cudaStream_t stream) {
    const size_t bytes = THREADS * sizeof(float);
    block_sum<<<blocks, THREADS, bytes, stream>>>(n, x, partial);
    last_sum<<<1, THREADS, bytes, stream>>>(blocks, partial, out);
    return cudaGetLastError();
}
