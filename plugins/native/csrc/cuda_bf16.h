// __nv_bfloat16 on the host: the upper half of a float, rounded to nearest even.
#pragma once
#include "simt.h"

struct __nv_bfloat16 {
    uint16_t x;
};

SIMT_PLAIN inline __nv_bfloat16 __float2bfloat16(float value) {
    const uint32_t bits = static_cast<uint32_t>(simt::bits(value));
    if (std::isnan(value)) return {0x7fff};
    return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

SIMT_PLAIN inline float __bfloat162float(__nv_bfloat16 value) {
    return simt::from_bits<float>(static_cast<uint64_t>(value.x) << 16);
}
