// Cooperative groups; a line that says WRONG is the one to be named.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include "run.cuh"

namespace cg = cooperative_groups;

__global__ void group_sum(int n, const float* x, float* y) {
    __shared__ float of_tile[2];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float sum = x[block.thread_rank()];
    for (unsigned step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = sum;
    block.sync();
    y[block.thread_rank()] = of_tile[0] + of_tile[1];
}
RUN(group_sum, 1, 64)

__global__ void group_reduce(int n, const float* x, float* y) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    const int i = block.thread_rank();
    const float sum = cg::reduce(tile, x[i], cg::plus<float>());
    const float most = cg::reduce(tile, x[i], cg::greater<float>());
    y[i] = sum + most;
}
RUN(group_reduce, 1, 64)

__global__ void group_scan(int n, const float* x, float* y) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = threadIdx.x;
    y[i] = cg::inclusive_scan(tile, x[i]) - cg::exclusive_scan(tile, x[i], cg::plus<float>());
}
RUN(group_scan, 1, 64)

// Each tile of 4 turns its part around in shared memory; tiles do not wait for each other.
__global__ void tile_sync(int n, const float* x, float* y) {
    __shared__ float part[64];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    const int first = threadIdx.x / 4 * 4;
    part[threadIdx.x] = x[threadIdx.x];
    tile.sync();
    y[threadIdx.x] = part[first + 3 - tile.thread_rank()];
}
RUN(tile_sync, 1, 64)

__global__ void any_group(int n, const float* x, float* y) {
    __shared__ float part[64];
    cg::thread_group pair = cg::tiled_partition(cg::this_thread_block(), 2);
    part[threadIdx.x] = x[threadIdx.x];
    cg::sync(pair);
    y[threadIdx.x] = part[threadIdx.x ^ 1];
}
RUN(any_group, 1, 64)

// The threads of a branch agree on one of them to add for all.
__global__ void coalesced(int n, const float* x, float* y) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0.0f) {
        cg::coalesced_group group = cg::coalesced_threads();
        int first = 0;
        if (group.thread_rank() == 0) first = atomicAdd(&count, static_cast<int>(group.size()));
        first = group.shfl(first, 0);
        if (first < 0) y[0] = first;
    }
    __syncthreads();
    y[threadIdx.x] = static_cast<float>(count);
}
RUN(coalesced, 1, 64)

// Every other thread takes the branch, and reads what the next of them has left.
__global__ void coalesced_exchange(int n, const float* x, float* y) {
    __shared__ float all[64];
    y[threadIdx.x] = 0.0f;
    if (threadIdx.x % 2 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        all[threadIdx.x] = x[threadIdx.x];
        group.sync();
        y[threadIdx.x] = all[threadIdx.x ^ 2];
    }
}
RUN(coalesced_exchange, 1, 64)

__global__ void no_coalesced_sync(int n, const float* x, float* y) {
    __shared__ float all[64];
    if (threadIdx.x % 2 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        all[threadIdx.x] = x[threadIdx.x];
        y[threadIdx.x] = all[threadIdx.x ^ 2] * group.size();  // WRONG
    }
}
RUN(no_coalesced_sync, 1, 64)

__global__ void binary_groups(int n, const float* x, float* y) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::binary_partition(tile, x[threadIdx.x] > 0.0f);
    y[threadIdx.x] = cg::reduce(same, 1, cg::plus<int>());
}
RUN(binary_groups, 1, 64)

// Two kernels in one: all blocks have written before any reads.
__global__ void across_the_grid(int n, const float* x, float* y, float* between) {
    cg::grid_group grid = cg::this_grid();
    const int i = static_cast<int>(grid.thread_rank());
    between[i] = 2.0f * x[i];
    grid.sync();
    y[i] = between[n - 1 - i] + between[i];
}
extern "C" cudaError_t kata_across_the_grid(int n, const float* x, float* y) {
    float* between;
    cudaMalloc(&between, n * sizeof(float));
    void* args[] = {&n, &x, &y, &between};
    cudaLaunchCooperativeKernel((void*)across_the_grid, dim3(4), dim3(16), args, 0, nullptr);
    cudaFree(between);
    return cudaGetLastError();
}

__global__ void no_tile_sync(int n, const float* x, float* y) {
    __shared__ float part[64];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    part[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = part[threadIdx.x / 4 * 4 + 3 - tile.thread_rank()];  // WRONG
}
RUN(no_tile_sync, 1, 64)

// A tile of 16 waits for itself, and not for its neighbour.
__global__ void tile_too_small(int n, const float* x, float* y) {
    __shared__ float part[64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    part[threadIdx.x] = x[threadIdx.x];
    tile.sync();
    y[threadIdx.x] = part[threadIdx.x ^ 16];  // WRONG
}
RUN(tile_too_small, 1, 64)

__global__ void reduce_is_no_barrier(int n, const float* x, float* y) {
    __shared__ float part[32];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    part[threadIdx.x] = x[threadIdx.x];
    const float sum = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());
    y[threadIdx.x] = sum + part[threadIdx.x ^ 1];  // WRONG
}
RUN(reduce_is_no_barrier, 1, 32)

__global__ void tile_in_branch(int n, const float* x, float* y) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) {
        v = tile.shfl(v, 0);  // WRONG
    } else {
        __syncthreads();
    }
    y[threadIdx.x] = v;
}
RUN(tile_in_branch, 1, 32)

__global__ void block_sync_in_branch(int n, const float* x, float* y) {
    auto block = cg::this_thread_block();
    if (threadIdx.x < 32) {
        block.sync();  // WRONG
    } else {
        cg::sync(block);
    }
    y[threadIdx.x] = x[threadIdx.x];
}
RUN(block_sync_in_branch, 1, 64)

__global__ void no_grid_sync(int n, const float* x, float* y, float* between) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    between[i] = 2.0f * x[i];
    __syncthreads();
    y[i] = between[n - 1 - i];  // WRONG
}
extern "C" cudaError_t kata_no_grid_sync(int n, const float* x, float* y) {
    float* between;
    cudaMalloc(&between, n * sizeof(float));
    void* args[] = {&n, &x, &y, &between};
    cudaLaunchCooperativeKernel((void*)no_grid_sync, dim3(4), dim3(16), args, 0, nullptr);
    cudaFree(between);
    return cudaGetLastError();
}

__global__ void not_cooperative(int n, const float* x, float* y) {
    cg::this_grid().sync();  // WRONG
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}
RUN(not_cooperative, 4, 16)

__global__ void grid_sync_in_branch(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
    if (blockIdx.x > 0) cg::this_grid().sync();  // WRONG
}
extern "C" cudaError_t kata_grid_sync_in_branch(int n, const float* x, float* y) {
    void* args[] = {&n, &x, &y};
    cudaLaunchCooperativeKernel((void*)grid_sync_in_branch, dim3(4), dim3(16), args, 0, nullptr);
    return cudaGetLastError();
}

__global__ void too_large_together(int n, const float* x, float* y) {
    cg::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x < n) y[blockIdx.x] = x[blockIdx.x];
}
extern "C" cudaError_t kata_too_large_together(int n, const float* x, float* y) {
    void* args[] = {&n, &x, &y};
    cudaLaunchCooperativeKernel((void*)too_large_together, dim3(100), dim3(1024), args, 0, nullptr);
    return cudaSuccess;
}

// A tile of two warps, whose values meet in memory that the kernel gives.
__global__ void wide_tile(int n, const float* x, float* y) {
    __shared__ cg::block_tile_memory<128> memory;
    const auto block = cg::this_thread_block(memory);
    const auto tile = cg::tiled_partition<64>(block);
    const float sum = cg::reduce(tile, x[tile.thread_rank()], cg::plus<float>());
    if (tile.meta_group_rank() == 1) y[tile.thread_rank()] = sum;
}
RUN(wide_tile, 1, 128)

__global__ void wide_tile_is_no_barrier(int n, const float* x, float* y) {
    __shared__ float part[64];
    const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    const int i = tile.thread_rank();
    part[i] = x[i];
    const float sum = cg::reduce(tile, x[i], cg::plus<float>());
    y[i] = part[63 - i] + sum;  // WRONG
}
RUN(wide_tile_is_no_barrier, 1, 64)
