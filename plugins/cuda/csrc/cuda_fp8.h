// Numbers of 8 bits on the host, as they are stored: e4m3 without infinities, and e5m2.
#pragma once
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };

namespace simt {

inline float fp8_value(unsigned char bits, __nv_fp8_interpretation_t kind) {
    if (kind == __NV_E5M2) return half_value(static_cast<uint16_t>(bits << 8));
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    if (exponent == 15 && fraction == 7) return NAN;
    const float size = exponent ? std::ldexp(static_cast<float>(fraction + 8), exponent - 10) : std::ldexp(static_cast<float>(fraction), -9);
    return bits & 0x80 ? -size : size;
}

// What is too large becomes the largest number if it is to saturate, and no number or infinity else.
inline unsigned char fp8_bits(float value, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
    const bool four = kind == __NV_E4M3;
    if (std::isnan(value)) return 0x7f;
    const unsigned char sign = std::signbit(value) ? 0x80 : 0;
    double size = std::fabs(rounded_to(value, 0.0, four ? 4 : 3, four ? -9 : -16, 200));
    const double most = four ? 448.0 : 57344.0;
    if (size > most) {
        if (saturates == __NV_NOSAT) return sign | (four ? 0x7f : 0x7c);
        size = most;
    }
    if (!four) return sign | static_cast<unsigned char>(half_bits(size) >> 8);
    if (size < 0x1p-6) return sign | static_cast<unsigned char>(size * 512);
    int exponent = 0;
    const double fraction = std::frexp(size, &exponent);
    return static_cast<unsigned char>(sign | (exponent + 6) << 3 | (static_cast<unsigned>(fraction * 16.0) & 7u));
}

template <__nv_fp8_interpretation_t Numbers>
struct Fp8 {
    __nv_fp8_storage_t __x;
    Fp8() = default;
    SIMT_PLAIN explicit Fp8(float value) : __x(fp8_bits(value, __NV_SATFINITE, Numbers)) {}
    SIMT_PLAIN explicit Fp8(__half value) : __x(fp8_bits(value, __NV_SATFINITE, Numbers)) {}
    SIMT_PLAIN explicit operator float() const { return value(SIMT_HERE); }
    SIMT_PLAIN explicit operator __half() const { return __half(value(SIMT_HERE)); }

  private:
    SIMT_PLAIN float value(const void* here) const {
        simt::access(this, sizeof *this, Kind::Read, here);
        return fp8_value(__x, Numbers);
    }
};

}  // namespace simt

using __nv_fp8_e4m3 = simt::Fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = simt::Fp8<__NV_E5M2>;
SIMT_PLAIN inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
    return simt::fp8_bits(value, saturates, kind);
}
SIMT_PLAIN inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t value, __nv_fp8_interpretation_t kind) {
    return __half(simt::fp8_value(value, kind));
}
