// Complex numbers of CUDA, which are pairs: the real part is x, the imaginary one y.
#pragma once
#include "simt.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

#define SIMT_COMPLEX(T, REAL, F)                                                                     \
    inline REAL cuCreal##F(T a) { return a.x; }                                                      \
    inline REAL cuCimag##F(T a) { return a.y; }                                                      \
    inline T cuConj##F(T a) { return T{a.x, -a.y}; }                                                 \
    inline T cuCadd##F(T a, T b) { return T{a.x + b.x, a.y + b.y}; }                                 \
    inline T cuCsub##F(T a, T b) { return T{a.x - b.x, a.y - b.y}; }                                 \
    inline T cuCmul##F(T a, T b) { return T{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }         \
    inline T cuCfma##F(T a, T b, T c) { return cuCadd##F(cuCmul##F(a, b), c); }                      \
    inline REAL cuCabs##F(T a) { return std::hypot(a.x, a.y); }                                      \
    inline T cuCdiv##F(T a, T b) {                                                                   \
        /* Scaled, so that the squares neither overflow nor vanish. */                               \
        const REAL scale = REAL(1) / (std::fabs(b.x) + std::fabs(b.y));                              \
        const T p{a.x * scale, a.y * scale}, q{b.x * scale, b.y * scale};                            \
        const REAL by = REAL(1) / (q.x * q.x + q.y * q.y);                                           \
        return T{(p.x * q.x + p.y * q.y) * by, (p.y * q.x - p.x * q.y) * by};                        \
    }
SIMT_COMPLEX(cuFloatComplex, float, f)
SIMT_COMPLEX(cuDoubleComplex, double, )
#undef SIMT_COMPLEX
inline cuFloatComplex make_cuFloatComplex(float x, float y) { return cuFloatComplex{x, y}; }
inline cuDoubleComplex make_cuDoubleComplex(double x, double y) { return cuDoubleComplex{x, y}; }
inline cuComplex make_cuComplex(float x, float y) { return cuComplex{x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return cuDoubleComplex{a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return cuFloatComplex{static_cast<float>(a.x), static_cast<float>(a.y)};
}
