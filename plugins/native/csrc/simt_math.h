// Arithmetic of CUDA that C++ lacks; part of simt.h.
#pragma once

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(a) < T(b) ? T(b) : T(a);
}
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return 1.0f / std::sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float sinpif(float x) { return static_cast<float>(std::sin(x * 3.14159265358979323846)); }
inline float cospif(float x) { return static_cast<float>(std::cos(x * 3.14159265358979323846)); }
inline double sinpi(double x) { return std::sin(x * 3.14159265358979323846); }
inline double cospi(double x) { return std::cos(x * 3.14159265358979323846); }
inline float normcdff(float x) { return 0.5f * std::erfc(-x * 0.70710678118654752440f); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline float norm3df(float x, float y, float z) { return std::sqrt(x * x + y * y + z * z); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }

// The suffix says how the result is rounded. The host rounds to nearest; the other directions are
// the neighbour of that result, where it is inexact.
namespace simt {
enum class Round : uint8_t { Nearest, Zero, Up, Down };
// `value` is the exact result, or one that is rounded to odd.
inline float rounded(double value, Round way) {
    const float near = static_cast<float>(value);
    if (way == Round::Nearest || static_cast<double>(near) == value || !std::isfinite(near)) return near;
    const bool above = static_cast<double>(near) > value;
    const bool want_above = way == Round::Up || (way == Round::Zero && value < 0);
    if (above == want_above) return near;
    return std::nextafter(near, want_above ? INFINITY : -INFINITY);
}
template <class T>
inline T whole(double value, Round way) {
    if (std::isnan(value)) return T(0);
    const double found = way == Round::Nearest ? std::nearbyint(value)
                         : way == Round::Zero  ? std::trunc(value)
                         : way == Round::Up    ? std::ceil(value)
                                               : std::floor(value);
    // Out of range is the nearest that there is, as on a GPU.
    if (found <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (found >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(found);
}
}  // namespace simt
#define SIMT_ROUNDED(SUFFIX, WAY)                                                                      \
    inline float __fadd_##SUFFIX(float a, float b) { return simt::rounded(double(a) + b, WAY); }       \
    inline float __fsub_##SUFFIX(float a, float b) { return simt::rounded(double(a) - b, WAY); }       \
    inline float __fmul_##SUFFIX(float a, float b) { return simt::rounded(double(a) * b, WAY); }       \
    inline float __fdiv_##SUFFIX(float a, float b) { return simt::rounded(double(a) / b, WAY); }       \
    inline float __frcp_##SUFFIX(float a) { return simt::rounded(1.0 / a, WAY); }                      \
    inline float __fsqrt_##SUFFIX(float a) { return simt::rounded(std::sqrt(double(a)), WAY); }        \
    inline float __double2float_##SUFFIX(double a) { return simt::rounded(a, WAY); }                   \
    inline float __int2float_##SUFFIX(int a) { return simt::rounded(a, WAY); }                         \
    inline float __uint2float_##SUFFIX(unsigned a) { return simt::rounded(a, WAY); }                   \
    inline int __float2int_##SUFFIX(float a) { return simt::whole<int>(a, WAY); }                      \
    inline unsigned __float2uint_##SUFFIX(float a) { return simt::whole<unsigned>(a, WAY); }           \
    inline long long __float2ll_##SUFFIX(float a) { return simt::whole<long long>(a, WAY); }           \
    inline unsigned long long __float2ull_##SUFFIX(float a) { return simt::whole<unsigned long long>(a, WAY); } \
    inline int __double2int_##SUFFIX(double a) { return simt::whole<int>(a, WAY); }                    \
    inline unsigned __double2uint_##SUFFIX(double a) { return simt::whole<unsigned>(a, WAY); }         \
    inline long long __double2ll_##SUFFIX(double a) { return simt::whole<long long>(a, WAY); }
SIMT_ROUNDED(rn, simt::Round::Nearest)
SIMT_ROUNDED(rz, simt::Round::Zero)
SIMT_ROUNDED(ru, simt::Round::Up)
SIMT_ROUNDED(rd, simt::Round::Down)
#undef SIMT_ROUNDED
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / std::sqrt(double(x))); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float __ll2float_rn(long long a) { return static_cast<float>(a); }
inline float __ull2float_rn(unsigned long long a) { return static_cast<float>(a); }
inline double __int2double_rn(int a) { return a; }
inline double __uint2double_rn(unsigned a) { return a; }
inline double __ll2double_rn(long long a) { return static_cast<double>(a); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __fns(unsigned mask, unsigned base, int offset) {
    const int step = offset < 0 ? -1 : 1;
    int left = offset < 0 ? -offset : offset;
    if (left == 0) return mask >> base & 1u ? static_cast<int>(base) : -1;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        if ((mask >> at & 1u) && --left == 0) return at;
    }
    return -1;
}
inline int __mul24(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(a << 8 >> 8) * static_cast<unsigned>(b << 8 >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) { return (a < b ? unsigned(b) - unsigned(a) : unsigned(a) - unsigned(b)) + c; }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned pick = selector >> (4 * i) & 15u;
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (pick & 7u)) & 255u);
        if (pick & 8u) byte = byte & 128u ? 255u : 0u;
        found |= byte << (8 * i);
    }
    return found;
}
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 255u) * (b >> (8 * i) & 255u);
    return c;
}
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
    unsigned found = 0;
    for (int i = 0; i < 32; ++i) found |= (x >> i & 1u) << (31 - i);
    return found;
}
inline int __float_as_int(float x) { return simt::from_bits<int>(simt::bits(x)); }
inline float __int_as_float(int x) { return simt::from_bits<float>(simt::bits(x)); }
inline unsigned __float_as_uint(float x) { return simt::from_bits<unsigned>(simt::bits(x)); }
inline float __uint_as_float(unsigned x) { return simt::from_bits<float>(simt::bits(x)); }
inline long long __double_as_longlong(double x) { return simt::from_bits<long long>(simt::bits(x)); }
inline double __longlong_as_double(long long x) { return simt::from_bits<double>(simt::bits(x)); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}
// Macros, since the C library declares functions of these names.
#define __expf(x) std::exp(static_cast<float>(x))
#define __logf(x) std::log(static_cast<float>(x))
#define __powf(x, y) std::pow(static_cast<float>(x), static_cast<float>(y))
#define __sinf(x) std::sin(static_cast<float>(x))
#define __cosf(x) std::cos(static_cast<float>(x))
#define __tanf(x) std::tan(static_cast<float>(x))
#define __log2f(x) std::log2(static_cast<float>(x))
#define __log10f(x) std::log10(static_cast<float>(x))
#define __exp10f(x) std::pow(10.0f, static_cast<float>(x))
#define __exp2f(x) std::exp2(static_cast<float>(x))
inline void simt_sincosf(float x, float* sine, float* cosine) {
    *sine = std::sin(x);
    *cosine = std::cos(x);
}
#define __sincosf(x, sine, cosine) simt_sincosf(x, sine, cosine)

// ---- Time. A clock counts what the simulator has seen, which has no unit: it only rises.

namespace simt {
long long ticks();
}
inline long long clock64() { return simt::ticks(); }
inline void __nanosleep(unsigned) { simt::ticks(); }
