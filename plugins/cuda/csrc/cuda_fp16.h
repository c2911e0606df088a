// __half and __half2 on the host: 5 bits of exponent, 11 significant ones.
#pragma once
#include "simt_half.h"

SIMT_SIXTEEN(__half, __half_raw, half_bits, half_value)
SIMT_PAIR(__half, __half2)
SIMT_NAMED(__half, __half2, half)
SIMT_PLAIN inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
SIMT_PLAIN inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_ZERO_FP16 __ushort_as_half(0)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
