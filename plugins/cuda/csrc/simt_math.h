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

inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
inline double rhypot(double x, double y) { return 1.0 / std::hypot(x, y); }
inline float rhypotf(float x, float y) { return 1.0f / std::hypot(x, y); }
inline double norm3d(double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); }
inline double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
inline double norm4d(double x, double y, double z, double w) { return std::sqrt(x * x + y * y + z * z + w * w); }
inline float norm4df(float x, float y, float z, float w) { return std::sqrt(x * x + y * y + z * z + w * w); }
inline double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
inline float rnorm4df(float x, float y, float z, float w) { return 1.0f / norm4df(x, y, z, w); }
// By Newton's method, whose first guess is Winitzki's; both tails are exact enough for a float.
inline double erfinv(double x) {
    if (!(std::fabs(x) < 1.0)) return std::fabs(x) == 1.0 ? std::copysign(INFINITY, x) : NAN;
    const double a = 0.147, log = std::log1p(-x * x), half = 2.0 / (3.14159265358979323846 * a) + log / 2.0;
    double found = std::copysign(std::sqrt(std::sqrt(half * half - log / a) - half), x);
    for (int i = 0; i < 4; ++i) found -= (std::erf(found) - x) * 0.88622692545275801365 * std::exp(found * found);
    return found;
}
inline float erfinvf(float x) { return static_cast<float>(erfinv(x)); }
inline double erfcinv(double x) { return erfinv(1.0 - x); }
inline float erfcinvf(float x) { return static_cast<float>(erfcinv(x)); }
inline double normcdfinv(double x) { return 1.41421356237309504880 * erfinv(2.0 * x - 1.0); }
inline float normcdfinvf(float x) { return static_cast<float>(normcdfinv(x)); }
inline long long llmin(long long a, long long b) { return b < a ? b : a; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
inline double fdivide(double a, double b) { return a / b; }
inline void sincospi(double x, double* sine, double* cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}

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
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}
inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long found = 0;
    for (int i = 0; i < 64; ++i) found |= (x >> i & 1u) << (63 - i);
    return found;
}
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1); }

// Two or four numbers in one of 32 bits. PART is one of them, EXPRESSION what becomes of a and b.
namespace simt {
template <class Part, class Function>
inline unsigned in_parts(unsigned a, unsigned b, Function each) {
    constexpr unsigned width = 8 * sizeof(Part), mask = (1u << width) - 1;
    unsigned found = 0;
    for (unsigned at = 0; at < 32; at += width) {
        const int left = static_cast<Part>(a >> at & mask), right = static_cast<Part>(b >> at & mask);
        found |= (static_cast<unsigned>(each(left, right)) & mask) << at;
    }
    return found;
}
template <class Part>
inline int within(int value) {
    return std::min<int>(std::max<int>(value, std::numeric_limits<Part>::min()), std::numeric_limits<Part>::max());
}
}  // namespace simt
#define SIMT_PARTS(NAME, TWO, FOUR, EXPRESSION)                                                             \
    inline unsigned NAME##2(unsigned left, unsigned right) {                                                \
        using Part = TWO;                                                                                   \
        return simt::in_parts<Part>(left, right, [](int a, int b) -> int { return (void)a, (void)b, EXPRESSION; }); \
    }                                                                                                       \
    inline unsigned NAME##4(unsigned left, unsigned right) {                                                \
        using Part = FOUR;                                                                                  \
        return simt::in_parts<Part>(left, right, [](int a, int b) -> int { return (void)a, (void)b, EXPRESSION; }); \
    }
#define SIMT_SIGNED_PARTS(NAME, EXPRESSION) SIMT_PARTS(NAME, short, signed char, EXPRESSION)
#define SIMT_UNSIGNED_PARTS(NAME, EXPRESSION) SIMT_PARTS(NAME, unsigned short, unsigned char, EXPRESSION)
#define SIMT_COMPARED_PARTS(NAME, OP)                                                                       \
    SIMT_SIGNED_PARTS(__vcmp##NAME##s, a OP b ? -1 : 0) SIMT_UNSIGNED_PARTS(__vcmp##NAME##u, a OP b ? -1 : 0) \
    SIMT_SIGNED_PARTS(__vset##NAME##s, a OP b ? 1 : 0) SIMT_UNSIGNED_PARTS(__vset##NAME##u, a OP b ? 1 : 0)
SIMT_UNSIGNED_PARTS(__vadd, a + b)
SIMT_UNSIGNED_PARTS(__vsub, a - b)
SIMT_SIGNED_PARTS(__vaddss, simt::within<Part>(a + b))
SIMT_UNSIGNED_PARTS(__vaddus, simt::within<Part>(a + b))
SIMT_SIGNED_PARTS(__vsubss, simt::within<Part>(a - b))
SIMT_UNSIGNED_PARTS(__vsubus, simt::within<Part>(a - b))
SIMT_SIGNED_PARTS(__vmaxs, std::max(a, b))
SIMT_UNSIGNED_PARTS(__vmaxu, std::max(a, b))
SIMT_SIGNED_PARTS(__vmins, std::min(a, b))
SIMT_UNSIGNED_PARTS(__vminu, std::min(a, b))
SIMT_SIGNED_PARTS(__vabsdiffs, std::abs(a - b))
SIMT_UNSIGNED_PARTS(__vabsdiffu, std::abs(a - b))
SIMT_SIGNED_PARTS(__vavgs, (a + b + (a + b >= 0)) >> 1)
SIMT_UNSIGNED_PARTS(__vavgu, (a + b + 1) / 2)
SIMT_UNSIGNED_PARTS(__vhaddu, (a + b) / 2)
SIMT_UNSIGNED_PARTS(__vcmpeq, a == b ? -1 : 0)
SIMT_UNSIGNED_PARTS(__vcmpne, a != b ? -1 : 0)
SIMT_UNSIGNED_PARTS(__vseteq, a == b ? 1 : 0)
SIMT_UNSIGNED_PARTS(__vsetne, a != b ? 1 : 0)
SIMT_COMPARED_PARTS(ge, >=)
SIMT_COMPARED_PARTS(gt, >)
SIMT_COMPARED_PARTS(le, <=)
SIMT_COMPARED_PARTS(lt, <)
#undef SIMT_PARTS
#undef SIMT_SIGNED_PARTS
#undef SIMT_UNSIGNED_PARTS
#undef SIMT_COMPARED_PARTS
#define SIMT_OF_ONE(NAME, PART, EXPRESSION)                                                                 \
    inline unsigned NAME(unsigned value) {                                                                  \
        using Part = PART;                                                                                  \
        return simt::in_parts<Part>(value, 0, [](int a, int) -> int { return EXPRESSION; });                \
    }
SIMT_OF_ONE(__vabs2, short, std::abs(a))
SIMT_OF_ONE(__vabs4, signed char, std::abs(a))
SIMT_OF_ONE(__vabsss2, short, simt::within<Part>(std::abs(a)))
SIMT_OF_ONE(__vabsss4, signed char, simt::within<Part>(std::abs(a)))
SIMT_OF_ONE(__vneg2, short, -a)
SIMT_OF_ONE(__vneg4, signed char, -a)
SIMT_OF_ONE(__vnegss2, short, simt::within<Part>(-a))
SIMT_OF_ONE(__vnegss4, signed char, simt::within<Part>(-a))
#undef SIMT_OF_ONE
inline unsigned __vsadu4(unsigned a, unsigned b) {
    const unsigned parts = __vabsdiffu4(a, b);
    return (parts & 255u) + (parts >> 8 & 255u) + (parts >> 16 & 255u) + (parts >> 24);
}
inline unsigned __vsads4(unsigned a, unsigned b) {
    const unsigned parts = __vabsdiffs4(a, b);
    return (parts & 255u) + (parts >> 8 & 255u) + (parts >> 16 & 255u) + (parts >> 24);
}
inline unsigned __vsadu2(unsigned a, unsigned b) {
    const unsigned parts = __vabsdiffu2(a, b);
    return (parts & 65535u) + (parts >> 16);
}
inline unsigned __vsads2(unsigned a, unsigned b) {
    const unsigned parts = __vabsdiffs2(a, b);
    return (parts & 65535u) + (parts >> 16);
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
