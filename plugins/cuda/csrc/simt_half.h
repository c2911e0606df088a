// What __half and __nv_bfloat16 have in common: 16 bits of memory, and arithmetic whose exact
// result is rounded once, to nearest even. Part of cuda_fp16.h and cuda_bf16.h.
#pragma once
#include "simt.h"

namespace simt {

// Rounds to a format with `digits` significant bits whose smallest step is 2^least and whose
// largest number is below 2^most; the value may carry an `error` too small for a double.
inline double rounded_to(double value, double error, int digits, int least, int most) {
    if (value == 0.0 || !std::isfinite(value)) return value;
    // Rounded to odd, a double is as good as the exact value for a second rounding.
    if (error != 0.0) {
        uint64_t bits = simt::bits(value);
        if (!(bits & 1u)) bits = (error > 0) == (value > 0) ? bits | 1u : bits - 1;
        value = simt::from_bits<double>(bits);
    }
    int exponent = 0;
    std::frexp(value, &exponent);
    const int step = std::max(exponent - digits, least);
    const double found = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
    return std::fabs(found) >= std::ldexp(1.0, most) ? std::copysign(INFINITY, found) : found;
}

// a * b + c with the part that a double cannot hold: the product is exact, and so are both parts.
inline double fused(double a, double b, double c, double* error) {
    const double product = a * b, sum = product + c, kept = sum - product;
    *error = std::isfinite(sum) ? (product - (sum - kept)) + (c - kept) : 0.0;
    return sum;
}

SIMT_PLAIN inline uint16_t half_bits(double value, double error = 0.0) {
    if (std::isnan(value)) return 0x7fff;
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::fabs(rounded_to(value, error, 11, -24, 16));
    if (size == 0.0) return sign;
    if (std::isinf(size)) return sign | 0x7c00;
    if (size < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<unsigned>(size * 0x1p24));
    int exponent = 0;
    const double fraction = std::frexp(size, &exponent);
    return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | (static_cast<unsigned>(fraction * 2048.0) & 1023u));
}

SIMT_PLAIN inline float half_value(uint16_t x) {
    const int exponent = x >> 10 & 31, fraction = x & 1023;
    if (exponent == 0) {
        const float size = static_cast<float>(fraction) * 0x1p-24f;
        return x & 0x8000 ? -size : size;
    }
    const uint32_t sign = static_cast<uint32_t>(x & 0x8000) << 16;
    const uint32_t upper = exponent == 31 ? 255u : static_cast<uint32_t>(exponent + 112);
    return from_bits<float>(sign | upper << 23 | static_cast<uint32_t>(fraction) << 13);
}

SIMT_PLAIN inline uint16_t bfloat_bits(double value, double error = 0.0) {
    if (std::isnan(value)) return 0x7fff;
    const float found = static_cast<float>(rounded_to(value, error, 8, -133, 128));
    return static_cast<uint16_t>(bits(found) >> 16);
}

SIMT_PLAIN inline float bfloat_value(uint16_t x) { return from_bits<float>(static_cast<uint64_t>(x) << 16); }

}  // namespace simt

// A read or a change of a value through a reference is an access of the caller's line.
#define SIMT_ASSIGN(NAME, OP)                                                                   \
    SIMT_PLAIN inline NAME& operator OP##=(NAME& a, NAME b) {                                   \
        simt::access(&a, sizeof a, simt::Kind::Read, SIMT_HERE);                                \
        NAME before;                                                                            \
        __builtin_memcpy(static_cast<void*>(&before), &a, sizeof a);                                 \
        const NAME found = before OP b;                                                         \
        simt::access(&a, sizeof a, simt::Kind::Write, SIMT_HERE);                               \
        __builtin_memcpy(static_cast<void*>(&a), &found, sizeof a);                                  \
        return a;                                                                               \
    }
#define SIMT_STEP(NAME, OP, ONE)                                                                \
    SIMT_PLAIN inline NAME& operator OP##OP(NAME& a) {                                          \
        simt::access(&a, sizeof a, simt::Kind::Read, SIMT_HERE);                                \
        NAME before;                                                                            \
        __builtin_memcpy(static_cast<void*>(&before), &a, sizeof a);                                 \
        const NAME found = before OP ONE;                                                       \
        simt::access(&a, sizeof a, simt::Kind::Write, SIMT_HERE);                               \
        __builtin_memcpy(static_cast<void*>(&a), &found, sizeof a);                                  \
        return a;                                                                               \
    }

// One number. Conversions from other types are rounded once; those to others are exact, or cut off.
#define SIMT_SIXTEEN(NAME, RAW, BITS, VALUE)                                                    \
    struct RAW {                                                                                \
        unsigned short x;                                                                       \
    };                                                                                          \
    struct NAME {                                                                               \
        unsigned short x;                                                                       \
        NAME() = default;                                                                       \
        SIMT_PLAIN NAME(const NAME& other) : x(other.bits_at(SIMT_HERE)) {}                     \
        SIMT_PLAIN NAME& operator=(const NAME& other) {                                         \
            const unsigned short bits = other.bits_at(SIMT_HERE);                               \
            simt::access(this, sizeof *this, simt::Kind::Write, SIMT_HERE);                     \
            x = bits;                                                                           \
            return *this;                                                                       \
        }                                                                                       \
        SIMT_PLAIN constexpr NAME(RAW raw) : x(raw.x) {}                                        \
        SIMT_PLAIN NAME(float v) : x(simt::BITS(v)) {}                                          \
        SIMT_PLAIN NAME(double v) : x(simt::BITS(v)) {}                                         \
        SIMT_PLAIN NAME(int v) : x(simt::BITS(v)) {}                                            \
        SIMT_PLAIN NAME(unsigned v) : x(simt::BITS(v)) {}                                       \
        SIMT_PLAIN NAME(long v) : x(simt::BITS(static_cast<double>(v))) {}                      \
        SIMT_PLAIN NAME(unsigned long v) : x(simt::BITS(static_cast<double>(v))) {}             \
        SIMT_PLAIN NAME(long long v) : x(simt::BITS(static_cast<double>(v))) {}                 \
        SIMT_PLAIN NAME(unsigned long long v) : x(simt::BITS(static_cast<double>(v))) {}        \
        SIMT_PLAIN NAME(short v) : x(simt::BITS(v)) {}                                          \
        SIMT_PLAIN NAME(unsigned short v) : x(simt::BITS(v)) {}                                 \
        SIMT_PLAIN operator float() const { return value(SIMT_HERE); }                          \
        operator RAW() const { return {x}; }                                                    \
        SIMT_PLAIN explicit operator bool() const { return value(SIMT_HERE) != 0.0f; }          \
        SIMT_PLAIN explicit operator double() const { return value(SIMT_HERE); }                \
        SIMT_PLAIN explicit operator int() const { return simt::whole<int>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator unsigned() const { return simt::whole<unsigned>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator short() const { return simt::whole<short>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator unsigned short() const { return simt::whole<unsigned short>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator long() const { return simt::whole<long>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator unsigned long() const { return simt::whole<unsigned long>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator long long() const { return simt::whole<long long>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator unsigned long long() const { return simt::whole<unsigned long long>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator char() const { return simt::whole<char>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator signed char() const { return simt::whole<signed char>(value(SIMT_HERE), simt::Round::Zero); }\
        SIMT_PLAIN explicit operator unsigned char() const { return simt::whole<unsigned char>(value(SIMT_HERE), simt::Round::Zero); }\
                                                                                                \
      private:                                                                                  \
        SIMT_PLAIN unsigned short bits_at(const void* here) const {                             \
            simt::access(this, sizeof *this, simt::Kind::Read, here);                           \
            return x;                                                                           \
        }                                                                                       \
        SIMT_PLAIN float value(const void* here) const {                                        \
            return simt::VALUE(bits_at(here));                                                  \
        }                                                                                       \
    };                                                                                          \
    namespace simt {                                                                            \
    inline double wide(NAME a) { return VALUE(a.x); }                                           \
    inline NAME narrow(NAME*, double value, double error = 0.0) {                               \
        NAME found;                                                                             \
        found.x = BITS(value, error);                                                           \
        return found;                                                                           \
    }                                                                                           \
    inline NAME with_bits(NAME*, unsigned short bits) {                                         \
        NAME found;                                                                             \
        found.x = bits;                                                                         \
        return found;                                                                           \
    }                                                                                           \
    }                                                                                           \
    SIMT_ARITHMETIC(NAME)

#define SIMT_BINARY(NAME, FUNCTION, EXPRESSION)                                                 \
    SIMT_PLAIN inline NAME FUNCTION(NAME left, NAME right) {                                    \
        const double a = simt::wide(left), b = simt::wide(right);                               \
        return simt::narrow(static_cast<NAME*>(nullptr), EXPRESSION);                           \
    }
#define SIMT_COMPARISON(NAME, FUNCTION, OP, EXPRESSION)                                         \
    SIMT_PLAIN inline bool operator OP(NAME left, NAME right) {                                 \
        const double a = simt::wide(left), b = simt::wide(right);                               \
        return a OP b;                                                                          \
    }                                                                                           \
    SIMT_PLAIN inline bool __h##FUNCTION(NAME left, NAME right) {                               \
        const double a = simt::wide(left), b = simt::wide(right);                               \
        return EXPRESSION;                                                                      \
    }                                                                                           \
    SIMT_PLAIN inline bool __h##FUNCTION##u(NAME left, NAME right) {                            \
        const double a = simt::wide(left), b = simt::wide(right);                               \
        return std::isnan(a) || std::isnan(b) || (EXPRESSION);                                  \
    }
#define SIMT_UNARY(NAME, FUNCTION, EXPRESSION)                                                  \
    SIMT_PLAIN inline NAME FUNCTION(NAME value) {                                               \
        const double a = simt::wide(value);                                                     \
        return simt::narrow(static_cast<NAME*>(nullptr), EXPRESSION);                           \
    }
#define SIMT_ARITHMETIC(NAME)                                                                   \
    SIMT_BINARY(NAME, operator+, a + b)                                                         \
    SIMT_BINARY(NAME, operator-, a - b)                                                         \
    SIMT_BINARY(NAME, operator*, a * b)                                                         \
    SIMT_BINARY(NAME, operator/, a / b)                                                         \
    SIMT_BINARY(NAME, __hadd, a + b)                                                            \
    SIMT_BINARY(NAME, __hadd_rn, a + b)                                                         \
    SIMT_BINARY(NAME, __hsub, a - b)                                                            \
    SIMT_BINARY(NAME, __hsub_rn, a - b)                                                         \
    SIMT_BINARY(NAME, __hmul, a * b)                                                            \
    SIMT_BINARY(NAME, __hmul_rn, a * b)                                                         \
    SIMT_BINARY(NAME, __hdiv, a / b)                                                            \
    SIMT_BINARY(NAME, __hadd_sat, std::fmin(std::fmax(a + b, 0.0), 1.0))                        \
    SIMT_BINARY(NAME, __hsub_sat, std::fmin(std::fmax(a - b, 0.0), 1.0))                        \
    SIMT_BINARY(NAME, __hmul_sat, std::fmin(std::fmax(a * b, 0.0), 1.0))                        \
    SIMT_BINARY(NAME, __hmax, std::fmax(a, b))                                                  \
    SIMT_BINARY(NAME, __hmin, std::fmin(a, b))                                                  \
    SIMT_BINARY(NAME, __hmax_nan, std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b))      \
    SIMT_BINARY(NAME, __hmin_nan, std::isnan(a) ? a : std::isnan(b) ? b : std::fmin(a, b))      \
    SIMT_COMPARISON(NAME, eq, ==, a == b)                                                       \
    SIMT_COMPARISON(NAME, ne, !=, a != b && !std::isnan(a) && !std::isnan(b))                   \
    SIMT_COMPARISON(NAME, lt, <, a < b)                                                         \
    SIMT_COMPARISON(NAME, le, <=, a <= b)                                                       \
    SIMT_COMPARISON(NAME, gt, >, a > b)                                                         \
    SIMT_COMPARISON(NAME, ge, >=, a >= b)                                                       \
    SIMT_PLAIN inline NAME operator+(NAME value) { return value; }                              \
    SIMT_PLAIN inline NAME operator-(NAME value) {                                              \
        return simt::with_bits(static_cast<NAME*>(nullptr), value.x ^ 0x8000);                  \
    }                                                                                           \
    SIMT_PLAIN inline NAME __hneg(NAME value) { return -value; }                                \
    SIMT_PLAIN inline NAME __habs(NAME value) {                                                 \
        return simt::with_bits(static_cast<NAME*>(nullptr), value.x & 0x7fff);                  \
    }                                                                                           \
    SIMT_ASSIGN(NAME, +) SIMT_ASSIGN(NAME, -) SIMT_ASSIGN(NAME, *) SIMT_ASSIGN(NAME, /)         \
    SIMT_STEP(NAME, +, NAME(1.0f)) SIMT_STEP(NAME, -, NAME(1.0f))                               \
    SIMT_PLAIN inline NAME __hfma(NAME a, NAME b, NAME c) {                                     \
        double error = 0.0;                                                                     \
        const double sum = simt::fused(simt::wide(a), simt::wide(b), simt::wide(c), &error);    \
        return simt::narrow(static_cast<NAME*>(nullptr), sum, error);                           \
    }                                                                                           \
    SIMT_PLAIN inline NAME __hfma_relu(NAME a, NAME b, NAME c) {                                \
        return __hmax(__hfma(a, b, c), NAME(0.0f));                                             \
    }                                                                                           \
    SIMT_PLAIN inline NAME __hfma_sat(NAME a, NAME b, NAME c) {                                 \
        return __hmin(__hmax(__hfma(a, b, c), NAME(0.0f)), NAME(1.0f));                         \
    }                                                                                           \
    SIMT_PLAIN inline bool __hisnan(NAME a) { return std::isnan(simt::wide(a)); }               \
    SIMT_PLAIN inline int __hisinf(NAME a) {                                                    \
        return std::isinf(simt::wide(a)) ? (a.x & 0x8000 ? -1 : 1) : 0;                         \
    }                                                                                           \
    SIMT_UNARY(NAME, hexp, std::exp(a))                                                         \
    SIMT_UNARY(NAME, hexp2, std::exp2(a))                                                       \
    SIMT_UNARY(NAME, hexp10, std::pow(10.0, a))                                                 \
    SIMT_UNARY(NAME, hlog, std::log(a))                                                         \
    SIMT_UNARY(NAME, hlog2, std::log2(a))                                                       \
    SIMT_UNARY(NAME, hlog10, std::log10(a))                                                     \
    SIMT_UNARY(NAME, hsin, std::sin(a))                                                         \
    SIMT_UNARY(NAME, hcos, std::cos(a))                                                         \
    SIMT_UNARY(NAME, htanh, std::tanh(a))                                                       \
    SIMT_UNARY(NAME, htanh_approx, std::tanh(a))                                                \
    SIMT_UNARY(NAME, hsqrt, std::sqrt(a))                                                       \
    SIMT_UNARY(NAME, hrsqrt, 1.0 / std::sqrt(a))                                                \
    SIMT_UNARY(NAME, hrcp, 1.0 / a)                                                             \
    SIMT_UNARY(NAME, hceil, std::ceil(a))                                                       \
    SIMT_UNARY(NAME, hfloor, std::floor(a))                                                     \
    SIMT_UNARY(NAME, hrint, std::nearbyint(a))                                                  \
    SIMT_UNARY(NAME, htrunc, std::trunc(a))

// Two numbers, which one load or store of 4 bytes moves.
#define SIMT_BOTH(ONE, PAIR, FUNCTION, EACH)                                                    \
    SIMT_PLAIN inline PAIR FUNCTION(PAIR a, PAIR b) { return PAIR(EACH(a.x, b.x), EACH(a.y, b.y)); }
#define SIMT_BOTH_OF(ONE, PAIR, FUNCTION, EACH)                                                 \
    SIMT_PLAIN inline PAIR FUNCTION(PAIR a) { return PAIR(EACH(a.x), EACH(a.y)); }
#define SIMT_BOTH_COMPARED(ONE, PAIR, NAME)                                                     \
    SIMT_PLAIN inline PAIR __h##NAME##2(PAIR a, PAIR b) {                                       \
        return PAIR(ONE(__h##NAME(a.x, b.x) ? 1.0f : 0.0f), ONE(__h##NAME(a.y, b.y) ? 1.0f : 0.0f)); \
    }                                                                                           \
    SIMT_PLAIN inline bool __hb##NAME##2(PAIR a, PAIR b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); } \
    SIMT_PLAIN inline unsigned __h##NAME##2_mask(PAIR a, PAIR b) {                              \
        return (__h##NAME(a.x, b.x) ? 0xffffu : 0u) | (__h##NAME(a.y, b.y) ? 0xffff0000u : 0u); \
    }
#define SIMT_PAIR(ONE, PAIR)                                                                    \
    struct alignas(4) PAIR {                                                                    \
        ONE x, y;                                                                               \
        PAIR() = default;                                                                       \
        SIMT_PLAIN PAIR(ONE first, ONE second) {                                                \
            x.x = first.x;                                                                      \
            y.x = second.x;                                                                     \
        }                                                                                       \
        SIMT_PLAIN PAIR(const PAIR& other) {                                                    \
            simt::access(&other, 4, simt::Kind::Read, SIMT_HERE);                               \
            simt::access(this, 4, simt::Kind::Write, SIMT_HERE);                                \
            __builtin_memcpy(static_cast<void*>(this), &other, 4);                                   \
        }                                                                                       \
        SIMT_PLAIN PAIR& operator=(const PAIR& other) {                                         \
            simt::access(&other, 4, simt::Kind::Read, SIMT_HERE);                               \
            simt::access(this, 4, simt::Kind::Write, SIMT_HERE);                                \
            __builtin_memmove(static_cast<void*>(this), &other, 4);                                  \
            return *this;                                                                       \
        }                                                                                       \
    };                                                                                          \
    SIMT_BOTH(ONE, PAIR, operator+, __hadd)                                                     \
    SIMT_BOTH(ONE, PAIR, operator-, __hsub)                                                     \
    SIMT_BOTH(ONE, PAIR, operator*, __hmul)                                                     \
    SIMT_BOTH(ONE, PAIR, operator/, __hdiv)                                                     \
    SIMT_BOTH(ONE, PAIR, __hadd2, __hadd)                                                       \
    SIMT_BOTH(ONE, PAIR, __hadd2_rn, __hadd)                                                    \
    SIMT_BOTH(ONE, PAIR, __hsub2, __hsub)                                                       \
    SIMT_BOTH(ONE, PAIR, __hmul2, __hmul)                                                       \
    SIMT_BOTH(ONE, PAIR, __hmul2_rn, __hmul)                                                    \
    SIMT_BOTH(ONE, PAIR, __h2div, __hdiv)                                                       \
    SIMT_BOTH(ONE, PAIR, __hsub2_rn, __hsub)                                                    \
    SIMT_BOTH(ONE, PAIR, __hadd2_sat, __hadd_sat)                                               \
    SIMT_BOTH(ONE, PAIR, __hsub2_sat, __hsub_sat)                                               \
    SIMT_BOTH(ONE, PAIR, __hmul2_sat, __hmul_sat)                                               \
    SIMT_BOTH(ONE, PAIR, __hmax2_nan, __hmax_nan)                                               \
    SIMT_BOTH(ONE, PAIR, __hmin2_nan, __hmin_nan)                                               \
    SIMT_BOTH(ONE, PAIR, __hmax2, __hmax)                                                       \
    SIMT_BOTH(ONE, PAIR, __hmin2, __hmin)                                                       \
    SIMT_BOTH_OF(ONE, PAIR, operator-, __hneg)                                                  \
    SIMT_BOTH_OF(ONE, PAIR, __hneg2, __hneg)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, __habs2, __habs)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2exp, hexp)                                                        \
    SIMT_BOTH_OF(ONE, PAIR, h2exp2, hexp2)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2exp10, hexp10)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2log10, hlog10)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2tanh_approx, htanh_approx)                                        \
    SIMT_BOTH_OF(ONE, PAIR, h2ceil, hceil)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2floor, hfloor)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2rint, hrint)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2trunc, htrunc)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2log, hlog)                                                        \
    SIMT_BOTH_OF(ONE, PAIR, h2log2, hlog2)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2sin, hsin)                                                        \
    SIMT_BOTH_OF(ONE, PAIR, h2cos, hcos)                                                        \
    SIMT_BOTH_OF(ONE, PAIR, h2tanh, htanh)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2sqrt, hsqrt)                                                      \
    SIMT_BOTH_OF(ONE, PAIR, h2rsqrt, hrsqrt)                                                    \
    SIMT_BOTH_OF(ONE, PAIR, h2rcp, hrcp)                                                        \
    SIMT_ASSIGN(PAIR, +) SIMT_ASSIGN(PAIR, -) SIMT_ASSIGN(PAIR, *) SIMT_ASSIGN(PAIR, /)         \
    SIMT_BOTH_COMPARED(ONE, PAIR, eq)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, ne)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, lt)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, le)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, gt)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, ge)                                                           \
    SIMT_BOTH_COMPARED(ONE, PAIR, equ)                                                          \
    SIMT_BOTH_COMPARED(ONE, PAIR, neu)                                                          \
    SIMT_BOTH_COMPARED(ONE, PAIR, ltu)                                                          \
    SIMT_BOTH_COMPARED(ONE, PAIR, leu)                                                          \
    SIMT_BOTH_COMPARED(ONE, PAIR, gtu)                                                          \
    SIMT_BOTH_COMPARED(ONE, PAIR, geu)                                                          \
    SIMT_PLAIN inline bool operator==(PAIR a, PAIR b) { return __hbeq2(a, b); }                 \
    SIMT_PLAIN inline bool operator!=(PAIR a, PAIR b) { return !__hbeq2(a, b); }                \
    SIMT_PLAIN inline PAIR __hfma2(PAIR a, PAIR b, PAIR c) {                                    \
        return PAIR(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                              \
    }                                                                                           \
    SIMT_PLAIN inline PAIR __hfma2_sat(PAIR a, PAIR b, PAIR c) {                                \
        return PAIR(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));                      \
    }                                                                                           \
    SIMT_PLAIN inline PAIR __hisnan2(PAIR a) {                                                  \
        return PAIR(ONE(__hisnan(a.x) ? 1.0f : 0.0f), ONE(__hisnan(a.y) ? 1.0f : 0.0f));        \
    }                                                                                           \
    SIMT_PLAIN inline PAIR __hfma2_relu(PAIR a, PAIR b, PAIR c) {                               \
        return PAIR(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                    \
    }                                                                                           \
    SIMT_PLAIN inline float2 simt_both(PAIR a) { return float2(float(a.x), float(a.y)); }       \
    SIMT_PLAIN inline PAIR __lows2half2(PAIR a, PAIR b) { return PAIR(a.x, b.x); }              \
    SIMT_PLAIN inline PAIR __highs2half2(PAIR a, PAIR b) { return PAIR(a.y, b.y); }             \
    SIMT_PLAIN inline PAIR __lowhigh2highlow(PAIR a) { return PAIR(a.y, a.x); }                 \
    SIMT_PLAIN inline PAIR __low2half2(PAIR a) { return PAIR(a.x, a.x); }                       \
    SIMT_PLAIN inline PAIR __high2half2(PAIR a) { return PAIR(a.y, a.y); }                      \
    SIMT_PLAIN inline float __low2float(PAIR a) { return a.x; }                                 \
    SIMT_PLAIN inline float __high2float(PAIR a) { return a.y; }

// Conversions that say how they round. Beside what is nearest lies what is next to it.
namespace simt {
inline unsigned short towards(unsigned short near, double found, double value, Round way) {
    if (found == value || std::isnan(found)) return near;
    const bool up = way == Round::Up || (way == Round::Zero && value < 0);
    if ((found > value) == up) return near;
    // The bits of numbers of one sign rise with their size; zero has two of them.
    if ((near & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
    const bool larger = near & 0x8000 ? !up : up;
    return static_cast<unsigned short>(larger ? near + 1 : near - 1);
}
}  // namespace simt
#define SIMT_TO_WHOLE(ONE, KIND, SUFFIX, WAY)                                                   \
    SIMT_PLAIN inline int __##KIND##2int_##SUFFIX(ONE v) { return simt::whole<int>(simt::wide(v), WAY); } \
    SIMT_PLAIN inline unsigned __##KIND##2uint_##SUFFIX(ONE v) { return simt::whole<unsigned>(simt::wide(v), WAY); } \
    SIMT_PLAIN inline short __##KIND##2short_##SUFFIX(ONE v) { return simt::whole<short>(simt::wide(v), WAY); } \
    SIMT_PLAIN inline unsigned short __##KIND##2ushort_##SUFFIX(ONE v) { return simt::whole<unsigned short>(simt::wide(v), WAY); } \
    SIMT_PLAIN inline long long __##KIND##2ll_##SUFFIX(ONE v) { return simt::whole<long long>(simt::wide(v), WAY); } \
    SIMT_PLAIN inline unsigned long long __##KIND##2ull_##SUFFIX(ONE v) { return simt::whole<unsigned long long>(simt::wide(v), WAY); }
#define SIMT_NEXT(ONE, VALUE, WAY)                                                              \
    simt::with_bits(static_cast<ONE*>(nullptr), simt::towards(ONE(VALUE).x, simt::wide(ONE(VALUE)), VALUE, WAY))
#define SIMT_TOWARDS(ONE, KIND, SUFFIX, WAY)                                                    \
    SIMT_PLAIN inline ONE __float2##KIND##_##SUFFIX(float v) { return SIMT_NEXT(ONE, v, WAY); } \
    SIMT_PLAIN inline ONE __int2##KIND##_##SUFFIX(int v) { return SIMT_NEXT(ONE, v, WAY); } \
    SIMT_PLAIN inline ONE __uint2##KIND##_##SUFFIX(unsigned v) { return SIMT_NEXT(ONE, v, WAY); } \
    SIMT_PLAIN inline ONE __short2##KIND##_##SUFFIX(short v) { return SIMT_NEXT(ONE, v, WAY); } \
    SIMT_PLAIN inline ONE __ushort2##KIND##_##SUFFIX(unsigned short v) { return SIMT_NEXT(ONE, v, WAY); }

// The conversions whose names say the type, here KIND.
#define SIMT_NAMED(ONE, PAIR, KIND)                                                             \
    SIMT_PLAIN inline ONE __float2##KIND(float v) { return ONE(v); }                            \
    SIMT_PLAIN inline ONE __float2##KIND##_rn(float v) { return ONE(v); }                       \
    SIMT_PLAIN inline ONE __double2##KIND(double v) { return ONE(v); }                          \
    SIMT_PLAIN inline float __##KIND##2float(ONE v) { return v; }                               \
    SIMT_PLAIN inline ONE __int2##KIND##_rn(int v) { return ONE(v); }                           \
    SIMT_PLAIN inline ONE __uint2##KIND##_rn(unsigned v) { return ONE(v); }                     \
    SIMT_PLAIN inline ONE __short2##KIND##_rn(short v) { return ONE(v); }                       \
    SIMT_PLAIN inline ONE __ll2##KIND##_rn(long long v) { return ONE(v); }                      \
    SIMT_TO_WHOLE(ONE, KIND, rn, simt::Round::Nearest)                                          \
    SIMT_TO_WHOLE(ONE, KIND, rz, simt::Round::Zero)                                             \
    SIMT_TO_WHOLE(ONE, KIND, ru, simt::Round::Up)                                               \
    SIMT_TO_WHOLE(ONE, KIND, rd, simt::Round::Down)                                             \
    SIMT_TOWARDS(ONE, KIND, rz, simt::Round::Zero)                                              \
    SIMT_TOWARDS(ONE, KIND, ru, simt::Round::Up)                                                \
    SIMT_TOWARDS(ONE, KIND, rd, simt::Round::Down)                                              \
    SIMT_PLAIN inline signed char __##KIND##2char_rz(ONE v) { return simt::whole<signed char>(simt::wide(v), simt::Round::Zero); } \
    SIMT_PLAIN inline unsigned char __##KIND##2uchar_rz(ONE v) { return simt::whole<unsigned char>(simt::wide(v), simt::Round::Zero); } \
    SIMT_PLAIN inline ONE __ushort2##KIND##_rn(unsigned short v) { return ONE(v); }             \
    SIMT_PLAIN inline ONE __ull2##KIND##_rn(unsigned long long v) { return ONE(v); }            \
    SIMT_PLAIN inline short __##KIND##_as_short(ONE v) { return static_cast<short>(v.x); }      \
    SIMT_PLAIN inline unsigned short __##KIND##_as_ushort(ONE v) { return v.x; }                \
    SIMT_PLAIN inline ONE __short_as_##KIND(short v) {                                          \
        return simt::with_bits(static_cast<ONE*>(nullptr), static_cast<unsigned short>(v));     \
    }                                                                                           \
    SIMT_PLAIN inline ONE __ushort_as_##KIND(unsigned short v) {                                \
        return simt::with_bits(static_cast<ONE*>(nullptr), v);                                  \
    }                                                                                           \
    SIMT_PLAIN inline PAIR __##KIND##2##KIND##2(ONE v) { return PAIR(v, v); }                   \
    SIMT_PLAIN inline PAIR __float2##KIND##2_rn(float v) { return PAIR(ONE(v), ONE(v)); }       \
    SIMT_PLAIN inline PAIR __floats2##KIND##2_rn(float a, float b) { return PAIR(ONE(a), ONE(b)); } \
    SIMT_PLAIN inline PAIR __float22##KIND##2_rn(float2 v) { return PAIR(ONE(v.x), ONE(v.y)); } \
    SIMT_PLAIN inline float2 __##KIND##22float2(PAIR v) { return simt_both(v); }                \
    SIMT_PLAIN inline ONE __low2##KIND(PAIR v) { return simt::with_bits(static_cast<ONE*>(nullptr), v.x.x); } \
    SIMT_PLAIN inline ONE __high2##KIND(PAIR v) { return simt::with_bits(static_cast<ONE*>(nullptr), v.y.x); }
