// Vectors of CUDA C++; part of simt.h.
#pragma once

// ---- Vector types: one access of all their bytes, which must be aligned to them.

#define SIMT_VECTOR(NAME, T, COUNT, FIELDS, PARAMETERS, INITIAL)                            \
    struct alignas(sizeof(T) * COUNT < 16 ? sizeof(T) * COUNT : 16) NAME {                  \
        T FIELDS;                                                                           \
        NAME() = default;                                                                   \
        SIMT_PLAIN NAME PARAMETERS : INITIAL {}                                             \
        SIMT_PLAIN NAME(const NAME& other) {                                                \
            simt::access_vector(&other, sizeof other, simt::Kind::Read, SIMT_HERE);                \
            simt::access_vector(this, sizeof other, simt::Kind::Write, SIMT_HERE);                 \
            std::memcpy(static_cast<void*>(this), &other, sizeof other);                    \
        }                                                                                   \
        SIMT_PLAIN NAME& operator=(const NAME& other) {                                     \
            simt::access_vector(&other, sizeof other, simt::Kind::Read, SIMT_HERE);                \
            simt::access_vector(this, sizeof other, simt::Kind::Write, SIMT_HERE);                 \
            std::memmove(static_cast<void*>(this), &other, sizeof other);                   \
            return *this;                                                                   \
        }                                                                                   \
    };
#define SIMT_LIST(...) __VA_ARGS__
// Three of them lie at their elements' alignment: three accesses, as nvcc makes of them. They copy
// on their own: what a function takes or returns g++ moves without a call of the sanitizer.
#define SIMT_APART(NAME, T, FIELDS, PARAMETERS, INITIAL)                                    \
    struct NAME {                                                                           \
        T FIELDS;                                                                           \
        NAME() = default;                                                                   \
        SIMT_PLAIN NAME PARAMETERS : INITIAL {}                                             \
        SIMT_PLAIN NAME(const NAME& other) { copy(other, SIMT_HERE); }                      \
        SIMT_PLAIN NAME& operator=(const NAME& other) {                                     \
            copy(other, SIMT_HERE);                                                         \
            return *this;                                                                   \
        }                                                                                   \
                                                                                            \
      private:                                                                              \
        SIMT_PLAIN void copy(const NAME& other, const void* here) {                         \
            for (size_t at = 0; at < sizeof other; at += sizeof(T)) {                       \
                simt::access(reinterpret_cast<const char*>(&other) + at, sizeof(T), simt::Kind::Read, here); \
                simt::access(reinterpret_cast<char*>(this) + at, sizeof(T), simt::Kind::Write, here);        \
            }                                                                               \
            std::memmove(static_cast<void*>(this), &other, sizeof other);                   \
        }                                                                                   \
    };
#define SIMT_VECTOR1(NAME, T)                                                               \
    SIMT_APART(NAME, T, x, (T x), x(x))                                                     \
    SIMT_PLAIN inline NAME make_##NAME(T x) { return {x}; }
#define SIMT_VECTOR3(NAME, T)                                                               \
    SIMT_APART(NAME, T, SIMT_LIST(x, y, z), (T x, T y = {}, T z = {}),                    \
               SIMT_LIST(x(x), y(y), z(z)))                                                 \
    SIMT_PLAIN inline NAME make_##NAME(T x, T y, T z) { return {x, y, z}; }
#define SIMT_VECTOR2(NAME, T)                                                               \
    SIMT_VECTOR(NAME, T, 2, SIMT_LIST(x, y), (T x, T y = {}), SIMT_LIST(x(x), y(y)))             \
    SIMT_PLAIN inline NAME make_##NAME(T x, T y) { return {x, y}; }
#define SIMT_VECTOR4(NAME, T)                                                               \
    SIMT_VECTOR(NAME, T, 4, SIMT_LIST(x, y, z, w), (T x, T y = {}, T z = {}, T w = {}),  \
                SIMT_LIST(x(x), y(y), z(z), w(w)))                                          \
    SIMT_PLAIN inline NAME make_##NAME(T x, T y, T z, T w) { return {x, y, z, w}; }
#define SIMT_VECTORS(NAME, T)                                                               \
    SIMT_VECTOR1(NAME##1, T) SIMT_VECTOR2(NAME##2, T) SIMT_VECTOR3(NAME##3, T) SIMT_VECTOR4(NAME##4, T)
SIMT_VECTORS(char, signed char)
SIMT_VECTORS(uchar, unsigned char)
SIMT_VECTORS(short, short)
SIMT_VECTORS(ushort, unsigned short)
SIMT_VECTORS(int, int)
SIMT_VECTOR1(uint1, unsigned)
SIMT_VECTOR2(uint2, unsigned)
SIMT_VECTOR4(uint4, unsigned)
SIMT_PLAIN inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
SIMT_VECTORS(long, long)
SIMT_VECTORS(ulong, unsigned long)
SIMT_VECTORS(longlong, long long)
SIMT_VECTORS(ulonglong, unsigned long long)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS
#undef SIMT_VECTOR1
#undef SIMT_APART
#undef SIMT_VECTOR3
#undef SIMT_VECTOR2
#undef SIMT_VECTOR4
#undef SIMT_VECTOR
