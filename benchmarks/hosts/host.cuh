// What the host programs of benchmarks/sanitizer.py share: numbers on the GPU, and a hash of results.
// nvcc gets the kernels of an answer by -include.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace host {

// Memory that holds whatever was there, as that of torch.empty.
template <class T>
T* room(int n) {
    T* device = nullptr;
    cudaMalloc(&device, n * sizeof(T));
    return device;
}

template <class T>
T* upload(const std::vector<T>& values) {
    T* device = room<T>(static_cast<int>(values.size()));
    cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

// Whole numbers from -8 to 8, the same for each n: a sum of floats is exact in any order.
template <class T>
T* numbers(int n) {
    std::mt19937 generator(n);
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(static_cast<int>(generator() % 17) - 8);
    return upload(values);
}

// End with status 3 if the launch or the kernel has failed.
inline void finish(cudaError_t launched) {
    const cudaError_t ended = cudaDeviceSynchronize();
    const cudaError_t error = launched ? launched : ended;
    if (error == cudaSuccess) return;
    std::printf("error %s\n", cudaGetErrorName(error));
    std::exit(3);
}

// Print a hash of the results (FNV-1a).
template <class T>
void show(const T* device, int n) {
    std::vector<T> values(n);
    cudaMemcpy(values.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
    uint64_t hash = 14695981039346656037u;
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t i = 0; i < n * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}

}  // namespace host
