// What host code calls of the CUDA runtime; part of simt.h.
#pragma once

// ---- The host's side. Device memory is memory of this process, but kernels may touch only the
// buffers that were given to them or allocated here.

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t simt_malloc(void** pointer, size_t bytes, bool managed = false);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
inline cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
    return cudaMemsetAsync(pointer, value, bytes);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind);
    cudaStreamSynchronize(nullptr);
    return error;
}
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return simt_malloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
    simt::need_stream("cudaMallocAsync", stream);
    return simt_malloc(reinterpret_cast<void**>(pointer), bytes);
}
// A small device: eight multiprocessors, unless a test asks for others, each with room for eight
// blocks of 256 threads. simt_device.h has what can be asked about it.
inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
inline cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *free = *total = size_t{1} << 33;
    return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    simt::need_stream("cudaFreeAsync", stream);
    return cudaFree(pointer);
}

// ---- Streams and events. Work runs when it is given; what another stream may touch before it is
// waited for is a race. An event measures the time of the host. A stream of the source's own starts after what the default
// stream has been given, and before what it is given next, unless it is made not to block.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
inline cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);

// Work of the host in a stream runs where it stands, after what the stream was given before.
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
    call(stream, cudaSuccess, data);
    return cudaSuccess;
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*call)(void*), void* data) {
    call(data);
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return cudaEventRecord(event, stream);
}

// As in CUDA 12, before these names were taken away.
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

// ---- What is asked of the device, and has no effect here.

inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
inline cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}

// ---- Rows with room between them.

template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
    for (size_t row = 0; row < height; ++row) {
        const cudaError_t error = cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream = nullptr) {
    for (size_t row = 0; row < height; ++row) {
        const cudaError_t error = cudaMemsetAsync(static_cast<char*>(pointer) + row * pitch, value, width, stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(pointer, pitch, value, width, height);
}

// ---- Memory that the host may touch too.

template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
    return simt_malloc(reinterpret_cast<void**>(pointer), bytes, true);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
    *pointer = static_cast<T*>(std::malloc(bytes));
    return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
    return cudaMallocHost(pointer, bytes);
}
inline cudaError_t cudaFreeHost(void* pointer) {
    std::free(pointer);
    return cudaSuccess;
}
template <class... Where>
cudaError_t cudaMemPrefetchAsync(const void*, size_t, Where...) {
    return cudaSuccess;
}
template <class... Where>
cudaError_t cudaMemAdvise(const void*, size_t, Where...) {
    return cudaSuccess;
}

// ---- Variables of the source. The first argument names the variable itself.

template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
    return cudaMemcpyAsync(reinterpret_cast<char*>(const_cast<std::remove_cv_t<T>*>(&symbol)) + offset, from, bytes, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr) {
    return cudaMemcpyAsync(to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
    *pointer = const_cast<std::remove_cv_t<T>*>(&symbol);
    return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
    *bytes = sizeof(T);
    return cudaSuccess;
}

// ---- Launches by address, and what is asked about a kernel.

template <class... Args>
cudaError_t cudaLaunchKernel(simt::Named<void(Args...)> kernel, dim3 grid, dim3 block, void** args, size_t shared = 0,
                             cudaStream_t stream = nullptr) {
    simt::launch_pointers(kernel, simt::Config(grid, block, shared, stream), args, false, std::index_sequence_for<Args...>{});
    return cudaPeekAtLastError();
}
template <class... Args>
cudaError_t cudaLaunchCooperativeKernel(simt::Named<void(Args...)> kernel, dim3 grid, dim3 block, void** args,
                                        size_t shared = 0, cudaStream_t stream = nullptr) {
    simt::launch_pointers(kernel, simt::Config(grid, block, shared, stream), args, true, std::index_sequence_for<Args...>{});
    return cudaPeekAtLastError();
}
template <class Function>
cudaError_t cudaFuncSetAttribute(Function, cudaFuncAttribute attribute, int bytes) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) simt::allow_dynamic(static_cast<size_t>(bytes));
    return cudaSuccess;
}
template <class Function>
cudaError_t cudaFuncSetCacheConfig(Function, cudaFuncCache) {
    return cudaSuccess;
}
// As many blocks as their threads leave room for.
template <class Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int threads, size_t) {
    int room = 0;
    cudaDeviceGetAttribute(&room, cudaDevAttrMaxThreadsPerMultiProcessor, 0);
    *blocks = threads > 0 ? std::min(room / ((threads + 31) / 32 * 32), 32) : 0;
    return cudaSuccess;
}
template <class Function>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Function kernel, size_t shared = 0, int limit = 0) {
    int processors = 0, blocks = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    *block = limit > 0 && limit < 256 ? limit : 256;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, *block, shared);
    *grid = blocks * processors;
    return cudaSuccess;
}
