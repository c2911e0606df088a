// Matrices of a warp on the host: what tensor cores multiply, in the same types and sizes.
//
// Which element a lane holds is not said by CUDA, and is another here than on any GPU. Products are
// exact and added up in float, in the order of k, so results differ from a GPU's in the last bits.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace details {

template <class T>
struct Storage {
    using type = T;
};
template <>
struct Storage<precision::tf32> {
    using type = float;
};

template <class Use, int M, int N, int K>
struct Shape;
template <int M, int N, int K>
struct Shape<matrix_a, M, N, K> {
    static constexpr int rows = M, columns = K;
};
template <int M, int N, int K>
struct Shape<matrix_b, M, N, K> {
    static constexpr int rows = K, columns = N;
};
template <int M, int N, int K>
struct Shape<accumulator, M, N, K> {
    static constexpr int rows = M, columns = N;
};

// Half and bfloat16 operands are held twice, in two lanes.
template <class Use, class T>
constexpr int held(int count) {
    return sizeof(T) == 2 && !std::is_same_v<Use, accumulator> && count < 16 ? 16 : count;
}

template <class T, class V>
SIMT_PLAIN T converted(V value) {
    return static_cast<T>(value);
}

}  // namespace details

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  public:
    using Shape = details::Shape<Use, M, N, K>;
    using element_type = typename details::Storage<T>::type;
    using storage_element_type = element_type;
    static constexpr int own = Shape::rows * Shape::columns / 32;
    static constexpr int num_elements = details::held<Use, element_type>(own);
    static constexpr int num_storage_elements = num_elements;
    element_type x[num_elements];

    // Registers that nothing was loaded to have no value: no number, here.
    SIMT_PLAIN fragment() { __builtin_memset(static_cast<void*>(x), 0xff, sizeof x); }
    SIMT_PLAIN fragment(const fragment& other) { __builtin_memcpy(static_cast<void*>(x), other.x, sizeof x); }
    SIMT_PLAIN fragment& operator=(const fragment& other) {
        __builtin_memmove(static_cast<void*>(x), other.x, sizeof x);
        return *this;
    }
};

namespace details {

SIMT_PLAIN inline void together(const char* what, const void* here) { simt::warp_call(0xffffffffu, nullptr, nullptr, what, here); }

template <class T>
SIMT_PLAIN void check(const T* at, unsigned step, const char* what, const void* here) {
    if (reinterpret_cast<uintptr_t>(at) % 32 || step * sizeof(T) % 16) {
        simt::report("misaligned access", here, "calls %s: %s", what,
                     step * sizeof(T) % 16 ? "rows must lie a multiple of 16 bytes apart"
                                           : "the first element must lie at a multiple of 32 bytes");
    }
}

// Where the element with a number, by rows, of a matrix in memory is.
template <class Shape>
SIMT_PLAIN size_t offset(int number, unsigned step, bool by_rows) {
    const auto row = static_cast<size_t>(number / Shape::columns), column = static_cast<size_t>(number % Shape::columns);
    return by_rows ? row * step + column : column * step + row;
}

template <class Fragment, class T>
SIMT_PLAIN void load(Fragment& to, const T* from, unsigned step, bool by_rows, const void* here) {
    together("wmma::load_matrix_sync", here);
    check(from, step, "wmma::load_matrix_sync", here);
    const int first = static_cast<int>(simt::thread_rank() % 32) * Fragment::own;
    for (int i = 0; i < Fragment::own; ++i) {
        const T* at = from + offset<typename Fragment::Shape>(first + i, step, by_rows);
        simt::access(at, sizeof(T), simt::Kind::Read, here);
        __builtin_memcpy(static_cast<void*>(&to.x[i]), at, sizeof(T));
    }
    for (int i = Fragment::own; i < Fragment::num_elements; ++i) __builtin_memcpy(static_cast<void*>(&to.x[i]), &to.x[i % Fragment::own], sizeof(T));
}

template <class T>
SIMT_PLAIN double number(const T& value, bool tf32 = false) {
    if constexpr (std::is_same_v<T, __half>) return simt::half_value(value.x);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>) return simt::bfloat_value(value.x);
    else if constexpr (std::is_same_v<T, float>) return tf32 ? simt::from_bits<float>(simt::bits(value) & 0xffffe000u) : value;
    else return static_cast<double>(value);
}

template <class A, class B, class C, class D>
struct Given {
    const A* a;
    const B* b;
    const C* c;
    D* d;
};

template <int M, int N, int K, bool Tf32, class A, class B, class C, class D>
SIMT_PLAIN void multiply(void* const* lanes) {
    using Lane = Given<A, B, C, D>;
    static float a[M * K], b[K * N], d[M * N];
    const auto lane = [&](int i) { return static_cast<Lane*>(lanes[i]); };
    for (int i = 0; i < M * K; ++i) a[i] = static_cast<float>(number(lane(i / A::own)->a->x[i % A::own], Tf32));
    for (int i = 0; i < K * N; ++i) b[i] = static_cast<float>(number(lane(i / B::own)->b->x[i % B::own], Tf32));
    for (int i = 0; i < M * N; ++i) {
        auto sum = number(lane(i / C::own)->c->x[i % C::own]);
        float rounded = static_cast<float>(sum);
        if constexpr (std::is_integral_v<typename D::element_type>) {
            for (int k = 0; k < K; ++k) sum += static_cast<double>(a[i / N * K + k]) * b[k * N + i % N];
            lane(i / D::own)->d->x[i % D::own] = static_cast<typename D::element_type>(sum);
            continue;
        }
        for (int k = 0; k < K; ++k) rounded += a[i / N * K + k] * b[k * N + i % N];
        d[i] = rounded;
    }
    if constexpr (!std::is_integral_v<typename D::element_type>) {
        for (int i = 0; i < M * N; ++i) {
            const auto made = converted<typename D::element_type>(d[i]);
            __builtin_memcpy(static_cast<void*>(&lane(i / D::own)->d->x[i % D::own]), &made, sizeof made);
        }
    }
}

}  // namespace details

template <int M, int N, int K, class T, class Layout, class Use, class P>
SIMT_PLAIN void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& to, const P* from, unsigned step) {
    details::load(to, from, step, std::is_same_v<Layout, row_major>, SIMT_HERE);
}
template <int M, int N, int K, class T, class P>
SIMT_PLAIN void load_matrix_sync(fragment<accumulator, M, N, K, T>& to, const P* from, unsigned step, layout_t layout) {
    details::load(to, from, step, layout == mem_row_major, SIMT_HERE);
}
template <int M, int N, int K, class T, class P>
SIMT_PLAIN void store_matrix_sync(P* to, const fragment<accumulator, M, N, K, T>& from, unsigned step, layout_t layout) {
    using From = fragment<accumulator, M, N, K, T>;
    details::together("wmma::store_matrix_sync", SIMT_HERE);
    details::check(to, step, "wmma::store_matrix_sync", SIMT_HERE);
    const int first = static_cast<int>(simt::thread_rank() % 32) * From::own;
    for (int i = 0; i < From::own; ++i) {
        P* at = to + details::offset<typename From::Shape>(first + i, step, layout == mem_row_major);
        simt::access(at, sizeof(P), simt::Kind::Write, SIMT_HERE);
        __builtin_memcpy(static_cast<void*>(at), &from.x[i], sizeof(P));
    }
}
template <class Use, int M, int N, int K, class T, class Layout, class V>
SIMT_PLAIN void fill_fragment(fragment<Use, M, N, K, T, Layout>& to, const V& value) {
    using Element = typename fragment<Use, M, N, K, T, Layout>::element_type;
    const auto made = details::converted<Element>(value);
    for (auto& element : to.x) __builtin_memcpy(static_cast<void*>(&element), &made, sizeof made);
}
template <int M, int N, int K, class TA, class LA, class TB, class LB, class TC, class TD>
SIMT_PLAIN void mma_sync(fragment<accumulator, M, N, K, TD>& d, const fragment<matrix_a, M, N, K, TA, LA>& a,
                         const fragment<matrix_b, M, N, K, TB, LB>& b, const fragment<accumulator, M, N, K, TC>& c, bool = false) {
    using A = fragment<matrix_a, M, N, K, TA, LA>;
    using B = fragment<matrix_b, M, N, K, TB, LB>;
    using C = fragment<accumulator, M, N, K, TC>;
    using D = fragment<accumulator, M, N, K, TD>;
    details::Given<A, B, C, D> given{&a, &b, &c, &d};
    constexpr bool tf32 = std::is_same_v<TA, precision::tf32>;
    simt::warp_call(0xffffffffu, &given, &details::multiply<M, N, K, tf32, A, B, C, D>, "wmma::mma_sync", SIMT_HERE);
}
SIMT_PLAIN inline float __float_to_tf32(float value) {
    return static_cast<float>(simt::rounded_to(value, 0.0, 11, -136, 128));
}

}  // namespace wmma
}  // namespace nvcuda
