// __nv_bfloat16 and __nv_bfloat162 on the host: the exponent of a float, 8 significant bits.
#pragma once
#include "simt_half.h"

SIMT_SIXTEEN(__nv_bfloat16, __nv_bfloat16_raw, bfloat_bits, bfloat_value)
SIMT_PAIR(__nv_bfloat16, __nv_bfloat162)
SIMT_NAMED(__nv_bfloat16, __nv_bfloat162, bfloat16)
SIMT_PLAIN inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
SIMT_PLAIN inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
