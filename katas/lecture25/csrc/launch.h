// Given, the same for all CUDA katas: how an operator in C++ reaches the kernels of the .cu file.
//
// The kernels are a library of their own: for the CPU built by the host compiler and run block
// by block, for CUDA built by nvcc. The tests say where it is (`kata_bind`); an operator calls
//
//     Launch("kata_axpy", x).in(x, "x").out(y, "y")(n, a, pointer(x), pointer(y));
//
// and with it the function  extern "C" cudaError_t kata_axpy(..., cudaStream_t stream)  of the
// .cu file, with the stream as its last argument. On the CPU kernels may touch only the tensors
// that are named: read what is `in`, write what is `out` (every element of it), both for `inout`.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace kata {

struct Library {
    void* handle = nullptr;
    std::string addr2line;
    uint64_t runs = 0;
};

inline std::map<c10::DeviceType, Library>& libraries() {
    static std::map<c10::DeviceType, Library> all;
    return all;
}

template <class T>
T* pointer(const at::Tensor& tensor) {
    return static_cast<T*>(tensor.data_ptr());
}

// What kata_simt_run calls: a function of the .cu file with all its arguments.
template <class... Args>
struct Call {
    int (*function)(Args..., void*);
    std::tuple<Args...> args;
    void* stream;

    static int run(void* self) {
        auto& call = *static_cast<Call*>(self);
        return std::apply([&](Args... args) { return call.function(args..., call.stream); }, call.args);
    }
};

class Launch {
  public:
    Launch(const char* function, const at::Tensor& like) : function_(function), device_(like.device()) {
        TORCH_CHECK_NOT_IMPLEMENTED(libraries().count(device_.type()), function_, " is not built for ", device_);
    }
    Launch& in(const at::Tensor& tensor, const char* name) { return add(tensor, 0, name); }
    Launch& out(const at::Tensor& tensor, const char* name) { return add(tensor, 1, name); }
    Launch& inout(const at::Tensor& tensor, const char* name) { return add(tensor, 2, name); }

    template <class... Args>
    void operator()(Args... args) {
        Library& library = libraries().at(device_.type());
        auto* function = reinterpret_cast<int (*)(Args..., void*)>(find(library, function_));
        if (device_.is_cpu()) {
            const auto stream = reinterpret_cast<void* (*)()>(find(library, "kata_simt_stream"));
            Call<Args...> call{function, {args...}, stream()};
            simulate(library, &Call<Args...>::run, &call);
            return;
        }
        const c10::DeviceGuard guard(device_);
        const c10::impl::VirtualGuardImpl device(device_.type());
        judge(library, function(args..., device.getStream(device_).native_handle()));
    }

  private:
    struct Buffer {
        const void* data;
        size_t bytes;
        unsigned element;
        int mode;
        const char* name;
    };
    const char* function_;
    c10::Device device_;
    std::vector<Buffer> buffers_;

    // From the first element of the tensor to its last, whatever lies between them.
    Launch& add(const at::Tensor& tensor, int mode, const char* name) {
        size_t elements = tensor.numel() != 0;
        for (int64_t dim = 0; elements && dim < tensor.dim(); ++dim) {
            elements += static_cast<size_t>((tensor.size(dim) - 1) * tensor.stride(dim));
        }
        const size_t element = tensor.element_size();
        buffers_.push_back({tensor.data_ptr(), elements * element, static_cast<unsigned>(element), mode, name});
        return *this;
    }

    static void* find(const Library& library, const char* name) {
        void* found = dlsym(library.handle, name);
        TORCH_CHECK(found, "CUDA kernel: the .cu file defines no extern \"C\" function ", name);
        return found;
    }

    void simulate(Library& library, int (*run)(void*), void* call) {
        const auto begin = reinterpret_cast<void (*)(uint64_t, double, const char*)>(find(library, "kata_simt_begin"));
        const auto give = reinterpret_cast<void (*)(const void*, size_t, unsigned, int, const char*)>(find(library, "kata_simt_buffer"));
        const auto start = reinterpret_cast<const char* (*)(int (*)(void*), void*, int*)>(find(library, "kata_simt_run"));
        const auto end = reinterpret_cast<void (*)()>(find(library, "kata_simt_end"));
        // The order of blocks and threads is different at every call.
        begin(library.runs++, 5.0, library.addr2line.c_str());
        for (const Buffer& buffer : buffers_) give(buffer.data, buffer.bytes, buffer.element, buffer.mode, buffer.name);
        int status = 0;
        const std::string problem = start(run, call, &status);
        end();
        TORCH_CHECK(problem.empty(), "CUDA kernel: ", problem);
        judge(library, status);
    }

    void judge(const Library& library, int status) {
        // cudaErrorNotYetImplemented, which no release of CUDA returns: the stubs do.
        TORCH_CHECK_NOT_IMPLEMENTED(status != 31, function_, " is yet to be written");
        TORCH_CHECK(status == 0, "CUDA kernel: ", function_, " returned the cudaError_t ", status);
    }
};

}  // namespace kata

using kata::Launch;
using kata::pointer;

// Says where the kernels for a type of device are; called by the tests' fixture.
extern "C" void kata_bind(const char* device, const char* path, const char* addr2line, uint64_t seed) {
    auto& library = kata::libraries()[c10::Device(device).type()];
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    library.addr2line = addr2line;
    library.runs = seed;
}
