// What host code calls: errors, the properties of the device, memory and copies.
#pragma once

#include "launching.h"

cudaError_t cudaPeekAtLastError() { return machine.error; }
cudaError_t cudaGetLastError() { return std::exchange(machine.error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
        case cudaErrorNotYetImplemented: return "API call is not supported in the installed CUDA driver";
    }
    return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        case cudaErrorCooperativeLaunchTooLarge: return "cudaErrorCooperativeLaunchTooLarge";
        case cudaErrorNotYetImplemented: return "cudaErrorStubLibrary";
    }
    return "unrecognized error code";
}

// What is 0 the device has not: textures, surfaces, clusters, other devices. It has no speed, but clocks
// that make round numbers.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
    if (device != 0) return machine.error = cudaErrorInvalidDevice;
    *found = {};
    std::strcpy(found->name, "simulated");
    found->totalGlobalMem = size_t{1} << 33;
    found->sharedMemPerBlock = simt::MOST_SHARED;
    found->sharedMemPerBlockOptin = simt::MOST_DYNAMIC;
    found->reservedSharedMemPerBlock = 1 << 10;
    found->sharedMemPerMultiprocessor = simt::MOST_DYNAMIC + found->reservedSharedMemPerBlock;
    found->regsPerBlock = found->regsPerMultiprocessor = 64 << 10;
    found->warpSize = simt::LANES;
    found->memPitch = INT_MAX;
    found->textureAlignment = found->surfaceAlignment = 512;
    found->texturePitchAlignment = 32;
    found->maxThreadsPerBlock = found->maxThreadsDim[0] = found->maxThreadsDim[1] = static_cast<int>(machine.wanted.most_threads);
    found->maxThreadsDim[2] = simt::MOST_Z;
    found->maxGridSize[0] = INT_MAX;
    found->maxGridSize[1] = found->maxGridSize[2] = simt::MOST_GRID_YZ;
    found->totalConstMem = 64 << 10;
    found->major = __CUDA_ARCH__ / 100;
    found->minor = __CUDA_ARCH__ / 10 % 10;
    found->multiProcessorCount = machine.wanted.processors;
    found->maxThreadsPerMultiProcessor = simt::MOST_THREADS;
    found->maxBlocksPerMultiProcessor = simt::MOST_RESIDENT;
    found->concurrentKernels = found->asyncEngineCount = found->deviceOverlap = 1;
    found->unifiedAddressing = found->managedMemory = found->concurrentManagedAccess = 1;
    found->globalL1CacheSupported = found->localL1CacheSupported = 1;
    found->cooperativeLaunch = found->memoryPoolsSupported = found->hostRegisterSupported = 1;
    found->unifiedFunctionPointers = 1;
    found->memoryBusWidth = 256;
    found->l2CacheSize = 4 << 20;
    found->hostNumaId = -1;
    found->clockRate = found->memoryClockRate = 1000000;
    found->singleToDoublePrecisionPerfRatio = 2;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp all;
    if (cudaGetDeviceProperties(&all, device) != cudaSuccess) return machine.error;
    const auto found = [&](auto what) {
        *value = static_cast<int>(what);
        return cudaSuccess;
    };
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return found(all.maxThreadsPerBlock);
        case cudaDevAttrMaxBlockDimX: return found(all.maxThreadsDim[0]);
        case cudaDevAttrMaxBlockDimY: return found(all.maxThreadsDim[1]);
        case cudaDevAttrMaxBlockDimZ: return found(all.maxThreadsDim[2]);
        case cudaDevAttrMaxGridDimX: return found(all.maxGridSize[0]);
        case cudaDevAttrMaxGridDimY: return found(all.maxGridSize[1]);
        case cudaDevAttrMaxGridDimZ: return found(all.maxGridSize[2]);
        case cudaDevAttrMaxSharedMemoryPerBlock: return found(all.sharedMemPerBlock);
        case cudaDevAttrTotalConstantMemory: return found(all.totalConstMem);
        case cudaDevAttrWarpSize: return found(all.warpSize);
        case cudaDevAttrMaxPitch: return found(all.memPitch);
        case cudaDevAttrMaxRegistersPerBlock: return found(all.regsPerBlock);
        case cudaDevAttrClockRate: return found(all.clockRate);
        case cudaDevAttrTextureAlignment: return found(all.textureAlignment);
        case cudaDevAttrGpuOverlap: return found(all.deviceOverlap);
        case cudaDevAttrMultiProcessorCount: return found(all.multiProcessorCount);
        case cudaDevAttrSurfaceAlignment: return found(all.surfaceAlignment);
        case cudaDevAttrConcurrentKernels: return found(all.concurrentKernels);
        case cudaDevAttrMemoryClockRate: return found(all.memoryClockRate);
        case cudaDevAttrGlobalMemoryBusWidth: return found(all.memoryBusWidth);
        case cudaDevAttrL2CacheSize: return found(all.l2CacheSize);
        case cudaDevAttrMaxThreadsPerMultiProcessor: return found(all.maxThreadsPerMultiProcessor);
        case cudaDevAttrAsyncEngineCount: return found(all.asyncEngineCount);
        case cudaDevAttrUnifiedAddressing: return found(all.unifiedAddressing);
        case cudaDevAttrTexturePitchAlignment: return found(all.texturePitchAlignment);
        case cudaDevAttrComputeCapabilityMajor: return found(all.major);
        case cudaDevAttrComputeCapabilityMinor: return found(all.minor);
        case cudaDevAttrGlobalL1CacheSupported: return found(all.globalL1CacheSupported);
        case cudaDevAttrLocalL1CacheSupported: return found(all.localL1CacheSupported);
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return found(all.sharedMemPerMultiprocessor);
        case cudaDevAttrMaxRegistersPerMultiprocessor: return found(all.regsPerMultiprocessor);
        case cudaDevAttrManagedMemory: return found(all.managedMemory);
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: return found(all.singleToDoublePrecisionPerfRatio);
        case cudaDevAttrConcurrentManagedAccess: return found(all.concurrentManagedAccess);
        case cudaDevAttrCooperativeLaunch: return found(all.cooperativeLaunch);
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return found(all.sharedMemPerBlockOptin);
        case cudaDevAttrHostRegisterSupported: return found(all.hostRegisterSupported);
        case cudaDevAttrMaxBlocksPerMultiprocessor: return found(all.maxBlocksPerMultiProcessor);
        case cudaDevAttrReservedSharedMemoryPerBlock: return found(all.reservedSharedMemPerBlock);
        case cudaDevAttrMemoryPoolsSupported: return found(all.memoryPoolsSupported);
        case cudaDevAttrHostNumaId: return found(all.hostNumaId);
        default: break;
    }
    // The numbers go on to 147, with some left out.
    if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute > cudaDevAttrOnlyPartialHostNativeAtomicSupported) return machine.error = cudaErrorInvalidValue;
    return found(0);
}

cudaError_t simt_malloc(void** pointer, size_t bytes, bool managed) {
    *pointer = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!*pointer) return cudaErrorMemoryAllocation;
    simt::Region region;
    region.low = reinterpret_cast<uintptr_t>(*pointer);
    region.high = region.low + bytes;
    region.mode = simt::Mode::Scratch;
    region.name = "scratch";
    region.managed = managed;
    region.watch();
    simt::poisoned(machine.regions.add(std::move(region)));
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    cudaDeviceSynchronize();
    for (simt::Region* region : machine.regions.all) {
        if (region->low == reinterpret_cast<uintptr_t>(pointer) && region->mode == simt::Mode::Scratch) {
            machine.regions.remove(region);
            std::free(pointer);
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

static bool inside(const void* pointer, size_t bytes, bool write) {
    const auto low = reinterpret_cast<uintptr_t>(pointer);
    simt::Region* region = machine.regions.find(low);
    if (!region || low + bytes > region->high) return false;
    if (write && region->written) {
        for (uintptr_t at = low; at < low + bytes; at += uintptr_t{1} << region->shift) {
            region->written[(at - region->low) >> region->shift] = 1;
        }
    }
    return !write || region->mode != simt::Mode::In || region->variable;
}

// A copy is one access to each granule, by a thread of its own.
static void copied(const void* pointer, size_t bytes, bool write) {
    const auto low = reinterpret_cast<uintptr_t>(pointer);
    simt::Region* region = machine.regions.find(low);
    if (machine.order.works.empty() || !region || !region->cells || low + bytes > region->high) return;
    const simt::Work& now = machine.order.works.back();
    for (uintptr_t part = low; part < low + bytes; part += uintptr_t{1} << region->shift) {
        simt::Cell& cell = region->cells[(part - region->low) >> region->shift];
        for (const simt::Mark* mark : {&cell.write, &cell.atomic, &cell.read, &cell.other}) {
            const bool reads = mark == &cell.read || mark == &cell.other;
            const simt::Work* work = reads && !write ? nullptr : simt::still_running(*mark, now);
            if (!work) continue;
            simt::fault("race between streams: " + now.what + (write ? " writes " : " reads ") + region->element_at(part) + ", and " + work->what +
                        " on another stream " + (reads ? "reads" : "writes") + " it" + simt::STREAMS);
        }
        (write ? cell.write : cell.read) = {machine.next_thread, 0, ++machine.clock, 0};
    }
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    simt::need_stream("a cudaMemset", stream);
    simt::begin_work(stream, "cudaMemset");
    copied(pointer, bytes, true);
    machine.next_thread += 1;
    if (bytes && !inside(pointer, bytes, true)) return machine.error = cudaErrorInvalidValue;
    std::memset(pointer, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    simt::need_stream("a cudaMemcpy", stream);
    simt::begin_work(stream, "cudaMemcpy");
    copied(from, bytes, false);
    copied(to, bytes, true);
    machine.next_thread += 1;
    // By default the addresses say where the copy goes.
    if (kind == cudaMemcpyDefault) {
        const bool to_any = machine.regions.find(reinterpret_cast<uintptr_t>(to)), from_any = machine.regions.find(reinterpret_cast<uintptr_t>(from));
        kind = to_any ? (from_any ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                      : (from_any ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    }
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const simt::Region* read = machine.regions.find(reinterpret_cast<uintptr_t>(from));
    if (bytes && read && !machine.regions.find(reinterpret_cast<uintptr_t>(to)) && kind != cudaMemcpyDeviceToDevice) {
        simt::fault("copy to the host: a cudaMemcpy of " + read->name +
                    "\nThe host would wait for the device, and then do what kernels are for.");
    }
    if (bytes && to_device && !inside(to, bytes, true)) return machine.error = cudaErrorInvalidValue;
    if (bytes && from_device && !inside(from, bytes, false)) return machine.error = cudaErrorInvalidValue;
    std::memmove(to, from, bytes);
    return cudaSuccess;
}
