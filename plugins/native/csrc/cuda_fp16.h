// __half on the host: 16 bits of memory, arithmetic in float, rounded to nearest even.
#pragma once
#include "simt.h"

struct __half {
    uint16_t x;
};

SIMT_PLAIN inline __half __float2half(float value) {
    const uint32_t bits = static_cast<uint32_t>(simt::bits(value));
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
    const float size = std::fabs(value);
    if (std::isnan(value)) return {0x7fff};
    if (size >= 65520.0f) return {static_cast<uint16_t>(sign | 0x7c00u)};
    // Below 2^-14 the step is 2^-24; above, 11 significant bits are left. nearbyint rounds
    // halfway cases to even.
    int exponent = 0;
    std::frexp(size, &exponent);
    const int step = exponent - 11 < -24 ? -24 : exponent - 11;
    const float rounded = std::ldexp(std::nearbyint(std::ldexp(size, -step)), step);
    if (rounded < std::ldexp(1.0f, -14)) {
        return {static_cast<uint16_t>(sign | static_cast<unsigned>(std::ldexp(rounded, 24)))};
    }
    const uint32_t normal = static_cast<uint32_t>(simt::bits(rounded));
    return {static_cast<uint16_t>(sign | ((normal >> 13) - (112u << 10)))};
}

SIMT_PLAIN inline float __half2float(__half value) {
    const int exponent = value.x >> 10 & 31, fraction = value.x & 1023;
    const float sign = value.x & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}
