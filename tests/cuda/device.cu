// The names of CUDA's variables in host code and hidden in kernels, and what is asked of the device.
#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "call.cuh"

// ---- The commonest names of host code are also those of what a kernel is launched with

struct Shape {
    dim3 gridDim, blockDim;
    int warpSize;
    uint3 threadIdx, blockIdx;
    dim3 of(dim3 gridDim) const { return dim3(gridDim.x * blockDim.x); }
};
namespace sizes {
constexpr int warpSize = 16;
const dim3 gridDim(2), blockDim(sizes::warpSize * 2);
}  // namespace sizes

__global__ void indices(const float* x, float* y) {
    const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    y[i] = x[i] + i;
}
static void launched(const float* x, float* y, dim3 gridDim, const dim3& blockDim) { indices<<<gridDim, blockDim>>>(x, y); }

extern "C" cudaError_t kata_host_variables(int n, const float* x, float* y) {
    dim3 gridDim(2, 2), blockDim(n / 8, 2);
    indices<<<gridDim, blockDim>>>(x, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_host_parameters(int n, const float* x, float* y) {
    launched(x, y, 4, n / 4);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_host_members(int n, const float* x, float* y) {
    const Shape shape{dim3(2), dim3(n / 2), 32, {}, {}};
    indices<<<shape.gridDim, shape.blockDim>>>(x, y);
    return shape.of(2).x == static_cast<unsigned>(n) ? cudaGetLastError() : cudaErrorInvalidValue;
}
extern "C" cudaError_t kata_host_lambda(int n, const float* x, float* y) {
    const int threadIdx = n / 2, blockIdx = 2, warpSize = 1;
    const auto launch = [=](dim3 gridDim, int blockDim) { indices<<<gridDim, blockDim * warpSize>>>(x, y); };
    launch(blockIdx, threadIdx);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_host_namespace(int, const float* x, float* y) {
    indices<<<sizes::gridDim, sizes::blockDim>>>(x, y);
    return cudaGetLastError();
}
extern "C" cudaError_t kata_host_loops(int n, const float* x, float* y) {
    for (int blockDim = n; blockDim >= n; --blockDim) indices<<<1, blockDim>>>(x, y);
    if (const dim3 gridDim = 1; gridDim.x != 1) return cudaErrorInvalidValue;
    return cudaDeviceSynchronize();
}

// ---- What host code may have besides, which the sanitizer makes calls of

static int counted() {
    static std::atomic<int> calls{0};
    return ++calls;
}
extern "C" cudaError_t kata_host_objects(int n, const float* x, float* y) {
    static const int first = counted();
    static std::vector<dim3> sizes{dim3(first == 1 ? 2 : 3)};
    const auto threads = std::make_shared<const int>(n / 2);
    std::atomic<unsigned> blocks{1};
    blocks.fetch_add(1);
    unsigned expected = 2;
    if (!blocks.compare_exchange_strong(expected, sizes[0].x) || blocks.exchange(2) != 2) return cudaErrorInvalidValue;
    const auto shared = threads;
    indices<<<blocks.load(), *shared>>>(x, y);
    return cudaGetLastError();
}

extern "C" cudaError_t kata_host_older(int, const float* x, float* y) {
    indices<<<2, 32>>>(x, y);
    cudaThreadSynchronize();  // CUDA 12
    cudaThreadExit();  // CUDA 12
    enum cudaError error = cudaGetLastError();
    return error == cudaSuccess ? cudaSuccess : error;
}

// ---- In kernels a name that is hidden is what hides it, as to nvcc

__device__ int doubled(dim3 gridDim, int blockIdx) { return 2 * blockIdx + gridDim.y; }
template <int warpSize>
__device__ int lanes() {
    return warpSize;
}
__global__ void hidden(int blockDim, float* y) {
    const int i = threadIdx.x;
    // 64 by the launch, 7 by the argument.
    int sum = blockDim + doubled(dim3(1, 0), 3) + lanes<4>();
    {
        const int threadIdx = 100;
        sum += threadIdx;
    }
    const auto more = [](uint3 blockIdx) { return blockIdx.z; };
    sum += more({1, 2, 3}) + Shape{dim3(5), dim3(6), 8, {}, {}}.gridDim.x + sizes::warpSize;
    y[i] = sum + threadIdx.x + warpSize;
}
extern "C" cudaError_t kata_hidden(int n, const float*, float* y) {
    hidden<<<1, n>>>(7, y);
    return cudaGetLastError();
}

// ---- The variables themselves, which have types, can be copied and bound to

__device__ unsigned all_of(const uint3& index, const dim3& size) { return (index.z * size.y + index.y) * size.x + index.x; }
template <class T>
__device__ T same(T value) {
    return value;
}
__global__ void used(float* y) {
    auto index = threadIdx;
    const auto& block = blockIdx;
    index.z += 1;
    static_assert(std::is_same_v<decltype(index.x), unsigned> && std::is_same_v<decltype(blockDim), const dim3>);
    auto i = threadIdx.x;
    i += blockDim.x * same(threadIdx.y);
    y[max(all_of(threadIdx, blockDim), i)] = index.z + block.x + same(threadIdx).z + min(gridDim.x, 9u);
}
extern "C" cudaError_t kata_used(int n, const float*, float* y) {
    used<<<1, dim3(n / 4, 4)>>>(y);
    return cudaGetLastError();
}

// ---- What is asked of the device

extern "C" int kata_attribute(int number, int device) {
    int value = -2;
    const cudaError_t error = cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(number), device);
    return error == cudaSuccess ? value : -static_cast<int>(error);
}
extern "C" int kata_properties(int device, cudaDeviceProp* found) { return cudaGetDeviceProperties(found, device); }
extern "C" int kata_size_of_properties() { return sizeof(cudaDeviceProp); }
#define FIELD(NAME) \
    if (name == #NAME) return static_cast<long long>(found.NAME)
extern "C" long long kata_property(const char* wanted) {
    cudaDeviceProp found;
    if (cudaGetDeviceProperties(&found, 0) != cudaSuccess) return -1;
    const std::string name = wanted;
    FIELD(totalGlobalMem);
    FIELD(sharedMemPerBlock);
    FIELD(regsPerBlock);
    FIELD(warpSize);
    FIELD(memPitch);
    FIELD(maxThreadsPerBlock);
    FIELD(maxThreadsDim[0]);
    FIELD(maxThreadsDim[2]);
    FIELD(maxGridSize[0]);
    FIELD(maxGridSize[2]);
    FIELD(totalConstMem);
    FIELD(major);
    FIELD(minor);
    FIELD(textureAlignment);
    FIELD(multiProcessorCount);
    FIELD(integrated);
    FIELD(canMapHostMemory);
    FIELD(l2CacheSize);
    FIELD(maxThreadsPerMultiProcessor);
    FIELD(maxBlocksPerMultiProcessor);
    FIELD(memoryBusWidth);
    FIELD(concurrentKernels);
    FIELD(ECCEnabled);
    FIELD(pciBusID);
    FIELD(unifiedAddressing);
    FIELD(managedMemory);
    FIELD(cooperativeLaunch);
    FIELD(sharedMemPerMultiprocessor);
    FIELD(sharedMemPerBlockOptin);
    FIELD(reservedSharedMemPerBlock);
    FIELD(regsPerMultiprocessor);
    FIELD(clockRate);
    FIELD(memoryClockRate);
    FIELD(deviceOverlap);
    FIELD(asyncEngineCount);
    FIELD(computeMode);
    FIELD(kernelExecTimeoutEnabled);
    return -1;
}
