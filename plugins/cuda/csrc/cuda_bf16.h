// __nv_bfloat16 and __nv_bfloat162 on the host: the exponent of a float, 8 significant bits.
#pragma once
#include "simt_half.h"

SIMT_SIXTEEN(__nv_bfloat16, __nv_bfloat16_raw, bfloat_bits, bfloat_value)
SIMT_PAIR(__nv_bfloat16, __nv_bfloat162)
SIMT_NAMED(__nv_bfloat16, __nv_bfloat162, bfloat16)
SIMT_PLAIN inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
SIMT_PLAIN inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
SIMT_PLAIN inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
SIMT_PLAIN inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
SIMT_PLAIN inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
SIMT_PLAIN inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
